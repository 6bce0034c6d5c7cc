"""Draws the pictures from the recordings, or makes the recordings anew:

make screenshots [ARGS="contention quota"]           needs neither root nor a kernel with BPF
sudo make record-scenes [ARGS="contention"]          performs the loads on this machine
sudo python -m tests.scenes live                     the path, activity: on the screen, while its load runs
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

from schedtop.model.source import SourceError
from tests.scenes.activity import ACTIVITY_SHOT, activity_picture
from tests.scenes.draw import RECORDINGS, browser, svg_of, write_png
from tests.scenes.live import PATH_SHOT, path_picture
from tests.scenes.loads import SCENES
from tests.scenes.record import record, record_made_up
from tests.scenes.shots import SHOTS

PICTURES = Path("screenshots")
MADE_UP = "synthetic-256-cpus"

LIVE = {PATH_SHOT.name: path_picture, ACTIVITY_SHOT.name: activity_picture}
"""What no recording holds."""


def main() -> None:
    """Does what the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m tests.scenes", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("what", choices=("draw", "record", "live"))
    parser.add_argument("names", nargs="*", help="only these")
    parser.add_argument("--tries", type=int, default=3, help="how often a scene is performed that something disturbed")
    options = parser.parse_args()
    known = {
        "draw": {shot.name for shot in SHOTS},
        "record": {*(scene.name for scene in SCENES), MADE_UP},
        "live": {*LIVE},
    }[options.what]
    if unknown := sorted(set(options.names) - known):
        parser.error(f"there is no {unknown[0]!r}: choose from {', '.join(sorted(known))}")
    names = set(options.names) or known
    # What is running ends with us.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    if options.what == "live":
        sys.exit(max(_draw_live(name) for name in LIVE if name in names))
    sys.exit(_draw(names) if options.what == "draw" else _record(names, options.tries))


def _draw(names: set[str]) -> int:
    program = browser()
    if program is None:
        print("there is no chromium or chrome here: SVG only, the PNG files stay as they are", file=sys.stderr)
    for shot in SHOTS:
        if shot.name not in names:
            continue
        if shot.recording == MADE_UP and not (recording := RECORDINGS / f"{MADE_UP}.rec.gz").exists():
            record_made_up(recording)  # it is large, and comes from a seed
        svg = PICTURES / f"{shot.name}.svg"
        try:
            svg.write_text(svg_of(shot))
            if program:
                write_png(svg, svg.with_suffix(".png"), program)
        except (SourceError, OSError, subprocess.SubprocessError) as error:
            print(f"{shot.name}: {error}", file=sys.stderr)
            return 1
        print(svg)
    return 0


def _draw_live(name: str) -> int:
    program, svg = browser(), PICTURES / f"{name}.svg"
    try:
        svg.write_text(LIVE[name]())
        if program:
            write_png(svg, svg.with_suffix(".png"), program)
    except (SourceError, OSError, subprocess.SubprocessError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    print(svg)
    return 0


def _record(names: set[str], tries: int) -> int:
    status = 0
    if MADE_UP in names:
        record_made_up(RECORDINGS / f"{MADE_UP}.rec.gz")
    for scene in SCENES:
        if scene.name not in names:
            continue
        if os.geteuid():
            print(f"{scene.name}: recording needs root", file=sys.stderr)
            return 1
        for _ in range(tries):
            fault = record(scene, RECORDINGS / f"{scene.name}.rec.gz")
            print(f"{scene.name}: {fault or 'recorded'}", file=sys.stderr)
            if not fault:
                break
        else:
            status = 1
            print(f"{scene.name}: the recording that there is stays", file=sys.stderr)
    return status


if __name__ == "__main__":
    main()
