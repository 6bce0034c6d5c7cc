"""The process in which one target is fuzzed: the only one that needs atheris."""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Callable
from pathlib import Path

import atheris  # type: ignore[import-not-found,unused-ignore]

with atheris.instrument_imports(include=["schedtop"]):
    from tests.fuzz.targets import SEEDS, TARGETS

from tests.fuzz.objects import mutated


def main() -> None:
    """`python -m tests.fuzz.loop TARGET PLACE [options of libFuzzer]`; an input that breaks it is left in PLACE."""
    target, place = TARGETS[sys.argv.pop(1)], Path(sys.argv.pop(1))

    def run(data: bytes) -> None:
        try:
            target.run_within(data)
        except BaseException:
            # By ourselves: libFuzzer does not always come to it.
            (place / f"crash-{hashlib.sha1(data).hexdigest()}").write_bytes(data)
            raise

    options = {"custom_mutator": _mutator([path.read_bytes() for path in sorted((SEEDS / target.name).iterdir())])}
    atheris.Setup(sys.argv, run, **(options if target.is_json else {}))
    atheris.Fuzz()


def _mutator(seeds: list[bytes]) -> Callable[[bytes, int, int], bytes]:
    """Changes bytes half of the time, else values within the JSON: nearly all changed bytes are no JSON any more."""

    def mutate(data: bytes, longest: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if chance.random() < 0.3:
            return bytes(atheris.Mutate(data, longest))
        if chance.random() < 0.05:
            data = chance.choice(seeds)
        return mutated(data, chance)[:longest]

    return mutate


if __name__ == "__main__":
    main()
