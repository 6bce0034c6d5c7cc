"""Draws the pictures, or makes the recordings anew:

make screenshots [ARGS="contention quota"]           from the recordings: needs neither root nor a kernel with BPF
make screenshots [ARGS="--png build/png"]            also as PNG, to look at, with chromium or chrome
sudo make screenshots [ARGS="first-look"]            the live ones as well: performs their loads on this machine
sudo make record-scenes [ARGS="contention"]          makes the recordings anew
python -m tests.scenes tell                          the verdicts of docs/rules.md, from the recordings
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from schedtop.model.source import SourceError
from tests.scenes.draw import RECORDINGS, REPORT, browser, svg_of, write_png, write_report
from tests.scenes.loads import SCENES
from tests.scenes.performance import LIVE, perform
from tests.scenes.record import record, record_made_up, record_rules
from tests.scenes.rules import AFTER, BEFORE, RULES_SCENES, RulesScene, told, verdict_on
from tests.scenes.shots import SHOTS

PICTURES = Path("screenshots")
MADE_UP = "synthetic-256-cpus"


def main() -> None:
    """Does what the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m tests.scenes", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("what", choices=("draw", "record", "tell"))
    parser.add_argument("names", nargs="*", help="only these")
    parser.add_argument("--tries", type=int, default=3, help="how often a scene is performed that something disturbed")
    parser.add_argument("--png", type=Path, metavar="DIR", help="also draw them as PNG there, to look at")
    options = parser.parse_args()
    known = {
        "draw": {*(shot.name for shot in SHOTS), REPORT, *LIVE},
        "record": {*(scene.name for scene in (*SCENES, *RULES_SCENES)), MADE_UP},
        "tell": {scene.name for scene in RULES_SCENES},
    }[options.what]
    if unknown := sorted(set(options.names) - known):
        parser.error(f"there is no {unknown[0]!r}: choose from {', '.join(sorted(known))}")
    names = set(options.names) or known
    # What is running ends with us.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    if options.what == "draw":
        status = _draw(names) or _draw_live(names, options.tries)
        sys.exit(status or (_photograph(names, options.png) if options.png else 0))
    if options.what == "tell":
        sys.exit(_tell(names))
    sys.exit(_record(names, options.tries))


def _draw(names: set[str]) -> int:
    for shot in SHOTS:
        if shot.name not in names:
            continue
        if shot.recording == MADE_UP and not (recording := RECORDINGS / f"{MADE_UP}.rec.gz").exists():
            record_made_up(recording)  # it is large, and comes from a seed
        svg = PICTURES / f"{shot.name}.svg"
        try:
            svg.write_text(svg_of(shot))
        except (SourceError, OSError) as error:
            print(f"{shot.name}: {error}", file=sys.stderr)
            return 1
        print(svg)
    if REPORT in names:
        if program := browser():
            write_report(PICTURES / f"{REPORT}.png", program)
            print(PICTURES / f"{REPORT}.png")
        else:
            print(f"{REPORT}: there is no chromium or chrome here, the picture stays as it is", file=sys.stderr)
    return 0


def _photograph(names: set[str], to: Path) -> int:
    """Makes PNGs of pictures that are there."""
    program = browser()
    if program is None:
        print("there is no chromium or chrome here: no PNG", file=sys.stderr)
        return 1
    to.mkdir(parents=True, exist_ok=True)
    for svg in sorted(PICTURES.glob("*.svg")):
        if svg.stem in names:
            write_png(svg, to / f"{svg.stem}.png", program)
            print(to / f"{svg.stem}.png")
    return 0


def _draw_live(names: set[str], tries: int) -> int:
    """Draws the live pictures; a performance that something disturbed leaves its pictures as they are."""
    wanted = {LIVE[name] for name in names if name in LIVE}
    if wanted and os.geteuid():
        print(f"{', '.join(sorted(wanted))}: live pictures need root, and stay as they are", file=sys.stderr)
        return 0
    status = 0
    for first in sorted(wanted):
        for _ in range(tries):
            # A process for each: it takes another host name, and names itself.
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                try:
                    pictures = pool.submit(perform, first).result()
                except (SourceError, OSError, RuntimeError, subprocess.SubprocessError) as error:
                    print(f"{first}: {error}", file=sys.stderr)
                    continue
            for name, svg in pictures.items():
                (PICTURES / f"{name}.svg").write_text(svg)
                print(PICTURES / f"{name}.svg")
            break
        else:
            status = 1
            print(f"{first}: its pictures stay as they are", file=sys.stderr)
    return status


def _tell(names: set[str]) -> int:
    for scene in RULES_SCENES:
        if scene.name in names:
            for span in (BEFORE, AFTER):
                verdict = verdict_on(RECORDINGS / f"{scene.name}.rec.gz", scene, span)
                print(f"{scene.name}, {span[0]} to {span[1]} s ({verdict.rule})\n\n{told(verdict)}\n")
    return 0


def _record(names: set[str], tries: int) -> int:
    status = 0
    if MADE_UP in names:
        record_made_up(RECORDINGS / f"{MADE_UP}.rec.gz")
    for scene in (*SCENES, *RULES_SCENES):
        if scene.name not in names:
            continue
        if os.geteuid():
            print(f"{scene.name}: recording needs root", file=sys.stderr)
            return 1
        for _ in range(tries):
            to = RECORDINGS / f"{scene.name}.rec.gz"
            fault = record_rules(scene, to) if isinstance(scene, RulesScene) else record(scene, to)
            print(f"{scene.name}: {fault or 'recorded'}", file=sys.stderr)
            if not fault:
                break
        else:
            status = 1
            print(f"{scene.name}: the recording that there is stays", file=sys.stderr)
    return status


if __name__ == "__main__":
    main()
