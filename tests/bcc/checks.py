"""What each bcc has to do: compile every program of schedtop's for the running kernel, which must load and count."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schedtop.run.priority import NICE
from schedtop.sources.kernel.cache_directory import DIRECTORY_VARIABLE
from schedtop.sources.kernel.compiler import Compiled
from schedtop.sources.kernel.early_compiler import bcc_command
from tests.bcc.program import CHECKOUT, command_in
from tests.bcc.releases import NotHere

FRONT_ENDS = ("btf", "tracepoint")
FEWEST = 20
"""Of whatever the load does, a second of it must have seen so many."""

ATOMIC_ADD = 0
"""What an atomic instruction does, by number: it adds. Others need kernel 5.12 (include/uapi/linux/bpf.h)."""

_ATOMIC = (0xC3, 0xDB)  # of four and of eight bytes
_LD_IMM64 = 0x18  # two instructions long
# It has the priority that schedtop gives itself: with an ordinary one it may never run in a second beside other loads.
_LOAD = f"""
import ctypes, os
os.setpriority(os.PRIO_PROCESS, 0, {NICE})
nap = ctypes.CDLL(None).usleep
print(flush=True)
while True:
    nap(1000)
"""
_TIMEOUT_S = 180


@dataclass(frozen=True, slots=True)
class Check:
    """A command of schedtop's that has programs of its own, and what it must have seen of the load (its pid)."""

    name: str
    arguments: Callable[[int], tuple[str, ...]]
    trouble: Callable[[Any, int], str]


@dataclass(slots=True)
class Outcome:
    """What became of one bcc: the failures by check and front end, and the programs by check and front end."""

    about: Mapping[str, Any]
    failures: dict[tuple[str, str], str] = field(default_factory=dict)
    compiled: dict[tuple[str, str], Compiled] = field(default_factory=dict)


def _snapshot(data: Any, load: int) -> str:
    slices = sum(task["timeslices"] for task in data["tasks"] if task["tid"] == load)
    waits = data["runqueue_latency"]["all"]["count"]
    return "" if slices >= FEWEST and waits >= FEWEST else f"{slices} timeslices of the load, {waits} waits"


def _capture(data: Any, load: int) -> str:
    seen = sum(event.get("tid") == load or event.get("args", {}).get("tid") == load for event in data["traceEvents"])
    return "" if seen >= FEWEST else f"{seen} events of the load"


def _offcpu(data: Any, load: int) -> str:
    blocked = [thread for thread in data["threads"] if thread["tid"] == load]
    named = "sleep" in json.dumps(data["stacks"])
    return "" if blocked and named else f"{len(blocked)} threads of the load, symbols {'known' if named else 'unknown'}"


def _task(data: Any, load: int) -> str:
    text = json.dumps(data)
    return "" if "clock_nanosleep" in text else "no system call of the load"


def _activity(data: Any, load: int) -> str:
    calls = sum(row["syscalls"] for row in data["rows"] if row["tgid"] == load)
    return "" if calls >= FEWEST else f"{calls} system calls of the load"


CHECKS = (
    Check("dashboard", lambda _: ("snapshot", "--format", "json"), _snapshot),
    Check("capture", lambda _: ("capture", "--format", "chrome", "--output"), _capture),
    Check("off-CPU", lambda load: ("offcpu", "--pid", str(load), "--format", "json"), _offcpu),
    Check("task", lambda load: ("task", str(load), "--no-slow-waits", "--format", "json"), _task),
    Check("activity", lambda _: ("activity", "--format", "json"), _activity),
)


def try_all(root: Path | None, report: Callable[[str], None]) -> Outcome:
    """Runs every command through every front end with the bcc of a tree, or with this machine's. Raises NotHere."""
    where = str(root) if root else ""
    command = command_in(where, "about") if root else bcc_command("about")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotHere(f"bcc does not start there: {' '.join(done.stderr.split())[-200:]}")
    outcome = Outcome(json.loads(done.stdout))
    with subprocess.Popen([sys.executable, "-c", _LOAD], stdout=subprocess.PIPE) as load:
        try:
            assert load.stdout and load.stdout.readline()
            for check in CHECKS:
                for front_end in FRONT_ENDS:
                    trouble = _try(check, front_end, where, load.pid, outcome)
                    report(f"  {check.name}, {front_end}: {trouble or 'ok'}")
                    if trouble:
                        outcome.failures[check.name, front_end] = trouble
        finally:
            load.kill()
    return outcome


def _try(check: Check, front_end: str, root: str, load: int, outcome: Outcome) -> str:
    """Why a check failed, empty if it did not."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        arguments = check.arguments(load)
        if arguments[-1] == "--output":
            arguments = (*arguments, str(directory / "out"))
        done = subprocess.run(
            [sys.executable, "-m", "tests.bcc.program", root, *arguments, "--duration", "1s", "--source", front_end],
            env=os.environ | {DIRECTORY_VARIABLE: str(directory / "cache")},
            cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S,
        )  # fmt: skip
        if done.returncode:
            return f"status {done.returncode}: {done.stderr.strip()}"
        (kept,) = (directory / "cache").glob("*.json")
        outcome.compiled[check.name, front_end] = Compiled.from_json(kept.read_bytes())
        files = sorted(directory.glob("out*"))
        return check.trouble(json.loads(files[0].read_text() if files else done.stdout), load)


def atomics(compiled: Compiled) -> set[int]:
    """What the atomic instructions of these programs do, by number."""
    found, code = set(), b"".join(compiled.programs.values())
    at = 0
    while at < len(code):
        if code[at] in _ATOMIC:
            found.add(int.from_bytes(code[at + 4 : at + 8], "little"))
        at += 16 if code[at] == _LD_IMM64 else 8
    return found


def differences(ours: Outcome, others: Outcome) -> list[str]:
    """Where maps, layouts or programs are others than those of this machine's bcc; padding has no meaning.

    And where instructions need a newer kernel.
    """
    found = []
    for place, compiled in others.compiled.items():
        if place not in ours.compiled:
            continue
        reference = ours.compiled[place]
        if atomics(compiled) - {ATOMIC_ADD}:
            found.append(f"{' '.join(place)}: atomic instructions that need kernel 5.12")
        if compiled.programs.keys() != reference.programs.keys():
            found.append(f"{' '.join(place)}: other programs")
        shapes, expected = ({name: _shape(spec) for name, spec in each.maps.items()} for each in (compiled, reference))
        found += [f"{' '.join(place)}: {name}" for name in sorted(expected.keys() | shapes.keys())
                  if shapes.get(name) != expected.get(name)]  # fmt: skip
    return found


def _shape(spec: Any) -> tuple[Any, ...]:
    layout = spec.layout
    named = zip(layout["names"], layout["formats"], layout["offsets"], strict=True)
    fields = sorted(each for each in named if not each[0].startswith("__pad"))
    return spec.kind, spec.key_bytes, spec.value_bytes, spec.entries, spec.flags, layout["itemsize"], fields
