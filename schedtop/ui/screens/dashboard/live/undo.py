"""What undoes a proposed command, by what it would change as that is now."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from schedtop.base.cpu_lists import cpus_text
from schedtop.verdict.advice import LOOK, typed

_AFFINITY = re.compile(r"taskset -(a?)cp (\S+) (\d+)")
_ORDINARY = re.compile(r"chrt -o -p 0 (\d+)")
_NICE = re.compile(r"renice -n -?\d+ -p (\d+(?: \d+)*)")
_FILE = re.compile(r"echo (\S+) > (\S+|'[^']+')")
_LOOP = re.compile(r"for p in (\d+(?: \d+)*); do ([^|&]+); done")
_PROCESSES = re.compile(r"(?:-p|for p in|args|/proc/) ?(\d+(?: \d+)*)")
_AUTOGROUP = re.compile(r"/autogroup-\d+ nice (-?\d+)")

_POLICIES = {os.SCHED_OTHER: "-o", os.SCHED_FIFO: "-f", os.SCHED_RR: "-r", os.SCHED_BATCH: "-b", os.SCHED_IDLE: "-i"}
"""The options of chrt; one for deadline tasks would need more than a priority."""

MOST_THREADS = 256
"""Of a process with more it is not asked on which CPUs each may run."""


def undo(command: str) -> str:
    """The command that sets what is set now; `command` itself: it would change nothing. Empty: that cannot be told."""
    try:
        return _as_it_is(command)
    except (OSError, ValueError, IndexError):
        return ""


def changes(command: str) -> bool:
    """Whether it changes something, and does not only look."""
    return command.startswith(("taskset ", "chrt ", "renice ", "echo ", "for "))


def is_about_the_same(one: str, other: str) -> bool:
    """Whether two commands are about the same processes, or write to the same file."""
    told, told_too = (processes_in(command) or command.partition(" > ")[2] for command in (one, other))
    return told == told_too != ""


def processes_in(command: str) -> str:
    """The numbers of the processes that a command is about, with blanks between; empty: there are none."""
    found = _PROCESSES.search(command)
    return found[1] if found else ""


def look_again(command: str) -> tuple[str, str]:
    """What to do where a command is in place and tasks wait all the same: an action, and the command in it."""
    if found := _LOOP.fullmatch(command):
        return typed(
            "See which they are, and start fewer (the command is in place)", f"{LOOK}-o pid,ppid,args {found[1]}"
        )
    found = _AFFINITY.fullmatch(command) or _ORDINARY.fullmatch(command) or _NICE.fullmatch(command)
    tid = found[found.re.groups].split()[0] if found else ""
    return typed("Look at the task (the command is in place)", f"schedtop task {tid}" if tid else "")


def _as_it_is(command: str) -> str:
    if found := _AFFINITY.fullmatch(command):
        of_all, _, tid = found.groups()
        tids = os.listdir(f"/proc/{tid}/task") if of_all else [tid]
        if len(tids) > MOST_THREADS:
            return ""
        masks = {cpus_text(sorted(os.sched_getaffinity(int(each)))) for each in tids}
        return f"taskset -{of_all}cp {masks.pop()} {tid}" if len(masks) == 1 else ""
    if found := _ORDINARY.fullmatch(command):
        tid = found[1]
        option = _POLICIES.get(os.sched_getscheduler(int(tid)) & ~os.SCHED_RESET_ON_FORK)
        return f"chrt {option} -p {os.sched_getparam(int(tid)).sched_priority} {tid}" if option else ""
    if found := _NICE.fullmatch(command):
        values = {os.getpriority(os.PRIO_PROCESS, int(tid)) for tid in found[1].split()}
        return f"renice -n {values.pop()} -p {found[1]}" if len(values) == 1 else ""
    if found := _LOOP.fullmatch(command):
        bodies = {_body_as_it_is(found[2], pid) for pid in found[1].split()}
        body = bodies.pop()
        return f"for p in {found[1]}; do {body}; done" if body and not bodies else ""
    if found := _FILE.fullmatch(command):
        text = Path(shlex.split(found[2])[0]).read_text()
        nice = _AUTOGROUP.match(text)
        return f"echo {nice[1] if nice else text.split()[0]} > {found[2]}"
    return ""


def _body_as_it_is(body: str, pid: str) -> str:
    """The same of what a loop does with one process; empty if one of its commands cannot be told."""
    commands = [_as_it_is(command.replace("$p", pid)) for command in body.split("; ")]
    each = [command.replace(f"-p {pid}", "-p $p").replace(f"/proc/{pid}/", "/proc/$p/") for command in commands]
    return "; ".join(each) if all(each) else ""
