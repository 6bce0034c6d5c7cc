"""Tries every version of bcc that can be had with the running kernel, and writes the table in docs/bcc.md:

sudo make test-bcc [ARGS="--only trixie,sid --mirror Ubuntu=ADDRESS"]

Each is fetched once (some 60 MB) into build/bcc and unpacked there; nothing is installed. Exit status 1: one failed.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import time
from pathlib import Path

from tests.apt import mirror, mirrors
from tests.bcc.checks import differences, try_all
from tests.bcc.program import CHECKOUT
from tests.bcc.releases import RELEASES, NotHere, Release, unpacked
from tests.bcc.table import DOCUMENT, row, with_rows

HERE = "this machine"


def main() -> int:
    """Tries all; returns the exit status."""
    options = _arguments()
    # What is running ends with us.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    if os.geteuid():
        print("test-bcc needs root: the programs are loaded, and another bcc runs in a root directory of its own")
        return 1
    known = mirrors() | dict(options.mirror)
    print(HERE, flush=True)
    ours = try_all(None, print)
    rows, failed = {}, bool(ours.failures)
    for release in options.only:
        print(release.name, flush=True)
        try:
            outcome = try_all(unpacked(release, options.cache.resolve(), known), print)
        except NotHere as reason:
            print(f"  not tried: {reason}")
            continue
        different = differences(ours, outcome)
        print("".join(f"  {line}\n" for line in different), end="")
        rows[release.name] = row(release.name, outcome, different, time.strftime("%Y-%m-%d"))
        failed = failed or bool(outcome.failures or different)
        DOCUMENT.write_text(with_rows(DOCUMENT.read_text(), rows, platform.release()))
    return int(failed)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make test-bcc", description=__doc__.split("\n", 1)[0])
    suites = ", ".join(release.suite for release in RELEASES)
    parser.add_argument("--only", type=_releases, default=RELEASES, metavar="A,B", help=f"of {suites}")
    parser.add_argument("--mirror", type=mirror, action="append", default=[], metavar="VENDOR=ADDRESS",
                        help="where a distribution's packages are; by default what apt says here")  # fmt: skip
    parser.add_argument("--cache", type=Path, default=CHECKOUT / "build" / "bcc", help="default %(default)s")
    return parser.parse_args()


def _releases(text: str) -> list[Release]:
    by_suite = {release.suite: release for release in RELEASES}
    if unknown := [suite for suite in text.split(",") if suite not in by_suite]:
        raise argparse.ArgumentTypeError(f"there is no {unknown[0]!r}")
    return [by_suite[suite] for suite in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
