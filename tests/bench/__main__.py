"""Measures what schedtop costs, beside the tools it replaces: `make bench`, or

    sudo .venv/bin/python -m tests.bench [--quick] [--only switch,offcpu,self,task view,...] [--batches N]

Prints tables and goals (met or missed) and writes all batches to a JSON file. It exits with 0 whatever it finds.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

from tests.bench import tools
from tests.bench.noise import watched
from tests.bench.report import Options, Topic

SCHEMA = "schedtop.bench/1"
TOPICS = {
    "switch": "switch_cost",
    "offcpu": "offcpu_cost",
    "path": "path_cost",
    "self": "own_cost",
    "disturb": "disturbance",
    "start": "start_up",
    "keys": "key_latency",
    "alive": "alive",
    "draw": "draw_cost",
    "bytes": "bytes_sent",
    "growth": "growth",
    "reading": "reading_path",
    "task": "task_cost",
    "queue": "queue_cost",
    "interrupts": "interrupts_cost",
    "activity": "activity_cost",
    "proc": "proc_cost",
    "fleet": "fleet_scrape",
}
NEED_ROOT = (
    *("switch", "offcpu", "path", "self", "disturb", "start", "keys", "alive", "reading", "task", "queue"),
    "interrupts",
    "activity",
)


def main() -> None:
    """Runs the topics one after the other."""
    options = _arguments()
    rounds = options.batches or (1 if options.quick else 6)
    data: dict[str, Any] = {"schema": SCHEMA, "kernel": platform.release(), "cpus": os.cpu_count(), "topics": {}}
    data["others_programs"] = tools.others_programs()
    if data["others_programs"]:
        print("Somebody else's programs are attached, and cost time too: " + ", ".join(data["others_programs"]))
    goals = []
    with watched() as noise:
        for name in options.only:
            if name in NEED_ROOT and os.geteuid():
                print(f"\n{name}: needs root")
                continue
            topic, data["topics"][name] = _run(name, Options(rounds, options.quick))
            goals += topic.goals
            _write(options.output, data)  # a run that is broken off has not been for nothing
    _write(options.output, data | {"noise": noise.to_data(), "goals": [goal.to_data() for goal in goals]})
    print("\nGoals\n" + "\n".join(map(str, goals)) + f"\n\nThe machine meanwhile: {noise}")
    print(f"All batches are in {options.output}.")


def _run(name: str, options: Options) -> tuple[Topic, dict[str, Any]]:
    print(f"\nmeasuring: {name} ...", flush=True)
    with watched() as noise:
        topic: Topic = importlib.import_module(f"tests.bench.{TOPICS[name]}").measure(options)
    for table in topic.tables:
        print(table)
    print(f"  noise: {noise}", flush=True)
    figures = {"noise": noise.to_data(), "goals": [goal.to_data() for goal in topic.goals]}
    return topic, {"figures": topic.data, **figures}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="about a minute, for a first look: fewer batches")
    parser.add_argument("--only", type=_topics, default=list(TOPICS), metavar="A,B", help=f"of {', '.join(TOPICS)}")
    parser.add_argument("--batches", type=int, metavar="N", help="rounds for each figure (default 6; quick: 1)")
    parser.add_argument("--output", type=Path, default=Path("bench.json"), help="default %(default)s")
    return parser.parse_args()


def _topics(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(TOPICS):
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}")
    return names


def _write(path: Path, data: dict[str, Any]) -> None:
    written = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    path.write_text(json.dumps(data | {"written": written}, indent=1) + "\n")


if __name__ == "__main__":
    main()
