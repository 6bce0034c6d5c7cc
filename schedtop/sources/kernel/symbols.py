"""Symbols of addresses, by a child process (symbol_opener.py), which has another one read what anybody has made."""

from __future__ import annotations

import json
import math
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from schedtop.base.stacks import Symbol

KERNEL = 0
"""The pid that stands for the kernel."""

ANSWER_S = 15.0
"""A large program's symbols take seconds; a child that takes longer is given up."""

MOST_CHILDREN = 4
"""After one that failed at a process comes another one, which leaves that process alone; so many in all."""

MOST_ANSWER_BYTES = 256 << 20
"""The child reads what anybody has made: what it says is not believed without end."""

HURRY_S = 1.2
"""How long answers may take once the end is waited for (`session.GRACE_S`)."""

_LOOK_S = 0.1

_PACKAGES = str(Path(__file__).resolve().parents[3])
_NICE = 10
_COMM = b"schedtop-symbol"
"""Who sees it in a list of what had a CPU knows whose it is."""

_CHILD = f"""
try:
    open("/proc/self/comm", "wb", buffering=0).write({_COMM!r})
except OSError:
    pass
import sys; sys.path.append({_PACKAGES!r}); from schedtop.sources.kernel.symbol_opener import main; main()
"""
"""Isolated: neither our environment nor the directory in which we were started names its modules."""

_KALLSYMS = Path("/proc/kallsyms")


class Symbols:
    """Asks the child, one question at a time. It ends with the thread that made this: by `close`, or with it.

    Of a process at which it fails, all is unknown from then on; so is everything when it fails too often, and then
    `failure` says why. `stop`: once it is set the end is waited for, and what takes longer stays unknown.
    """

    def __init__(self) -> None:
        self.failure = ""
        self.stop = threading.Event()
        self._deadline_s = math.inf
        self._children = 0
        self._refused: set[int] = set()
        self._start()

    def _start(self) -> None:
        self._children += 1
        self._child = subprocess.Popen(
            [sys.executable, "-IBc", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            # Ctrl-c is for us: we end it. Where sessions have nice values (autogroup), ours goes before others.
            start_new_session=True,
        )
        # What is measured comes first, also before its imports.
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self._child.pid, _NICE)
        self._selector = selectors.DefaultSelector()
        assert self._child.stdout
        self._selector.register(self._child.stdout, selectors.EVENT_READ)

    @property
    def trouble(self) -> str:
        """What the user must know, a sentence; empty: nothing."""
        if self.failure or not self._refused:
            return self.failure
        return f"symbols could not be read of processes {', '.join(map(str, sorted(self._refused)))}: it took too long"

    def close(self) -> None:
        """Ends the child, which has nothing to put in order."""
        self._child.kill()
        self._selector.close()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe:
                with suppress(OSError):
                    pipe.close()
        self._child.wait()

    def remember(self, pid: int) -> bool:
        """Has the child read what a process has mapped, for when it is gone; false: it is gone already."""
        return bool(self._ask(pid, ())["known"])

    def of(self, pid: int, addresses: Sequence[int]) -> list[Symbol]:
        """The symbols of addresses of a process (or KERNEL)."""
        answer = self._ask(pid, addresses)
        return [Symbol(name, module, offset, pid == KERNEL) for name, module, offset in answer["symbols"]]

    def _ask(self, pid: int, addresses: Sequence[int]) -> dict[str, Any]:
        if not self.failure and pid not in self._refused:
            try:
                return self._exchange({"pid": pid, "addresses": list(addresses)})
            except (OSError, ValueError) as error:
                self._give_up(pid, str(error))
        return {"symbols": [["", "", address] for address in addresses], "known": False}

    def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        """Raises OSError or ValueError."""
        assert self._child.stdin and self._child.stdout
        self._child.stdin.write(json.dumps(request).encode() + b"\n")
        self._child.stdin.flush()
        pieces, size = [b""], 0
        until_s = time.monotonic() + ANSWER_S
        while not pieces[-1].endswith(b"\n"):
            if self.stop.is_set():
                self._deadline_s = min(self._deadline_s, time.monotonic() + HURRY_S)
            rest_s = min(until_s, self._deadline_s) - time.monotonic()
            if not self._selector.select(max(0, min(_LOOK_S, rest_s))):
                if rest_s <= 0:
                    raise TimeoutError("it took too long")
                continue
            piece = os.read(self._child.stdout.fileno(), 1 << 16)
            if not piece:
                raise ValueError(f"it ended with {self._child.wait()}")
            pieces.append(piece)
            size += len(piece)
            if size > MOST_ANSWER_BYTES:
                raise ValueError("it says too much")
        answer: dict[str, Any] = json.loads(b"".join(pieces))
        return answer

    def _give_up(self, pid: int, why: str) -> None:
        self._child.kill()
        self._refused.add(pid)
        if pid == KERNEL or self._children >= MOST_CHILDREN or self.stop.is_set():
            self.failure = f"the process that reads symbols failed ({why}): what came after has none"
        else:
            self.close()
            self._start()


def kernel_symbols_hidden() -> bool:
    """Whether the kernel shows us no addresses of its functions (sysctl kernel.kptr_restrict)."""
    try:
        with _KALLSYMS.open("rb") as file:
            return not any(int(line.split()[0], 16) for line in (file.readline() for _ in range(10)) if line)
    except (OSError, ValueError, IndexError):
        return True
