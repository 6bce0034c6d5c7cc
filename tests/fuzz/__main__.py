"""`make fuzz [SECONDS=300] [ARGS="--target btf"]`: a fuzzer over every parser, the time shared between the targets.

    python -m tests.fuzz [--seconds 300] [--target NAME ...] [--replay FILE]

It begins with the seeds in tests/fuzz/seeds/TARGET. What it finds is left in build/fuzz/TARGET, and said with the
command that does it again; once mended, the file becomes another seed, which tests/unit/fuzz/test_seeds.py plays.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

from tests.fuzz.targets import SEEDS, TARGETS

ROOT = Path(__file__).parents[2]
FOUND = ROOT / "build" / "fuzz"
MOST_MEMORY_MB = 2048
"""Of the fuzzer with all it keeps. What a single input may take is the target's: `Target.most_bytes`."""

_STATISTICS = re.compile(r"#(\d+)\s+(?:DONE|pulse|NEW|REDUCE|RELOAD|INITED).*?cov: (\d+)")


def main() -> int:
    """Each target in turn; 1 if one has found something."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300, help="for all targets together")
    parser.add_argument("--target", action="append", choices=sorted(TARGETS), help="only this one (repeatable)")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="one input, without the fuzzer")
    options = parser.parse_args()
    names = options.target or list(TARGETS)
    if options.replay:
        for name in names if options.target else [options.replay.parent.name]:
            TARGETS[name].run_within(options.replay.read_bytes())
        return 0
    found = [name for name in names if not fuzz(name, max(5, round(options.seconds / len(names))))]
    print(f"{len(names)} targets, {len(found)} found something{': ' * bool(found)}{', '.join(found)}")
    return 1 if found else 0


def fuzz(name: str, seconds: int) -> bool:
    """Whether a target stood the time."""
    place = FOUND / name
    corpus = place / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    target = TARGETS[name]
    words = [
        *(sys.executable, "-m", "tests.fuzz.loop", name, str(place), str(corpus), str(SEEDS / name)),
        *(f"-max_total_time={seconds}", f"-timeout={target.longest_s}", f"-rss_limit_mb={MOST_MEMORY_MB}"),
        *(
            f"-artifact_prefix={place}/",
            f"-max_len={target.longest}",
            "-print_final_stats=1",
            "-verbosity=1",
            "-reduce_inputs=0",
        ),
    ]
    start = time.monotonic()
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, errors="replace", env=os.environ)
    figures = _STATISTICS.findall(done.stderr)
    runs, coverage = figures[-1] if figures else ("0", "0")
    print(f"{name}: {runs} inputs in {time.monotonic() - start:.0f} s, coverage {coverage}", flush=True)
    if not done.returncode:
        return True
    print(done.stdout[-3000:], done.stderr[-1500:])
    for path in sorted(path for path in place.iterdir() if path.is_file()):
        print(f"{name}: FOUND {path}; again: {shlex.join([sys.executable, '-m', 'tests.fuzz'])} --target {name} "
              f"--replay {path}", flush=True)  # fmt: skip
    return False


if __name__ == "__main__":
    sys.exit(main())
