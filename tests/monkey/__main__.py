"""`make monkey [SECONDS=120]`: random keys, clicks and sizes over a recording and over a made-up live host.

    python -m tests.monkey [--seconds 120] [--seed N] [--place replay|live]

It says the seed of each round; the same seed does the same again, as far as the time between two keys does not matter.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import random
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

from tests.monkey.hands import Hands
from tests.monkey.places import PLACES

ROUND_S = 30.0


async def round_of(place: str, seed: int, seconds: float) -> int:
    """One app from its start to its end; how many actions it stood. Raises what went wrong, with what was done last."""
    chance = random.Random(seed)
    hands = None
    with tempfile.TemporaryDirectory(prefix="schedtop-monkey-") as directory:
        try:
            async with PLACES[place](Path(directory), chance) as pilot:
                hands = Hands(pilot, chance)
                await hands.play(seconds)
        except BaseException as error:
            last = " | ".join(hands.last) if hands else "nothing yet"
            error.add_note(f"seed {seed}, {place}; the last actions: {last}")
            raise
    return hands.actions


def main() -> int:
    """Rounds until the time is over; 1 if one has found something."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, help="one round with this seed")
    parser.add_argument("--place", choices=list(PLACES))
    options = parser.parse_args()
    places = [options.place] if options.place else list(PLACES)
    end = time.monotonic() + options.seconds
    found = number = 0
    while time.monotonic() < end:
        seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
        place = places[number % len(places)]
        seconds = min(ROUND_S, max(1.0, end - time.monotonic()))
        number += 1
        try:
            actions = asyncio.run(round_of(place, seed, seconds))
        except Exception:
            found += 1
            print(f"{place}, seed {seed}: FOUND", flush=True)
            traceback.print_exc()
        else:
            gc.collect()
            print(f"{place}, seed {seed}: {actions} actions, {threading.active_count()} threads left", flush=True)
    print(f"{number} rounds, {found} found something")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
