"""A program of the user that is measured from its first instruction: started, held, let go, and waited for.

It runs as the user who called sudo, as commands of triggers do. Of ours it has the terminal, and neither descriptors
nor priority. It is in our process group: ctrl-c reaches it by itself.
"""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import threading
from contextlib import suppress
from typing import Any, Self

from schedtop.base.invoker import UnclearInvoker
from schedtop.base.session_nice import OWN
from schedtop.base.time_slice import DEFAULT, set_slice
from schedtop.outputs.files import reason
from schedtop.outputs.triggers.command_child import NOT_RUN, READY
from schedtop.outputs.triggers.runner import runner
from schedtop.run.priority import STARTED_NICE
from schedtop.run.signals import ENDING_SIGNALS, Interrupted, Signals

SETTLE_S = 1.0
"""How long a program that was asked to end has, before the report is made without its end."""

_LOOK_S = 0.1
_MOST_WORDS = 1 << 16


class CannotRun(Exception):
    """The program cannot be started; the text says why, `status` is ours then: 127 for one that is not there."""

    def __init__(self, why: str, status: int) -> None:
        super().__init__(why)
        self.status = status


class Program:
    """Started and held when it is entered; when it is left before `go` it has never begun. One that began goes on."""

    def __init__(self, words: tuple[str, ...]) -> None:
        """`words`: its name, which is looked for in PATH, and its arguments."""
        self.words = words
        self._ended = threading.Event()
        self._began = False
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Raises CannotRun."""
        self._gate, theirs = socket.socketpair()
        try:
            with theirs:
                self._start(theirs.fileno())
            if (answer := self._gate.recv(_MOST_WORDS)) != READY:
                raise self._failure(answer)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: Any) -> None:
        self._gate.close()
        if self._process and not self._began:
            self._process.wait()

    @property
    def pid(self) -> int:
        """Its number, before and after it began."""
        assert self._process
        return self._process.pid

    @property
    def name(self) -> str:
        """As it was typed, in one line."""
        return shlex.join(self.words)

    @property
    def ended(self) -> bool:
        """Whether it has. Until `wait` its number is nobody else's."""
        return self._ended.is_set()

    def go(self, stop: threading.Event) -> None:
        """Lets it begin; `stop` is set when it has ended. Raises CannotRun."""
        OWN.end()  # the priority of our session would be its own as well
        self._began = True
        self._gate.send(b"\n")
        if answer := self._gate.recv(_MOST_WORDS):  # its end is closed by the start
            raise self._failure(answer)
        threading.Thread(target=self._watch, args=(stop,), name="schedtop-program", daemon=True).start()

    def ask_to_end(self, number: int) -> None:
        """Passes a signal on that came to us, and gives it a moment. What the terminal has told it comes only once."""
        if number != signal.SIGINT or not _hears_terminal():
            # Its number is its own until it has been waited for; Popen would do that here.
            os.kill(self.pid, number)
        self._ended.wait(SETTLE_S)

    def wait(self, signals: Signals) -> int:
        """Its exit status, once it has ended: as a shell has it, 128 and the number of a signal that ended it.

        A signal to us is passed on. One more, or 2 s, and it is left alone: then Interrupted is raised.
        """
        asked = False
        while not self._ended.wait(_LOOK_S):
            if signals.status and not asked:
                asked = True
                self.ask_to_end(signals.status - 128)
            elif signals.overdue:
                raise Interrupted(signals.status)
        assert self._process
        status = self._process.wait()
        return status if status >= 0 else 128 - status

    def _start(self, gate: int) -> None:
        """Raises CannotRun."""
        failure: list[CannotRun] = []

        def start() -> None:
            # What it inherits are this thread's: no other one must lose them.
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), STARTED_NICE)
            set_slice(0, DEFAULT)
            signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)  # until the child has its own answers
            try:
                by = runner(gate=str(gate))
                self._process = subprocess.Popen([*by.before, *self.words], pass_fds=(gate,), env=by.environment)
            except (OSError, ValueError, UnclearInvoker) as error:
                failure.append(self._failure((str(error) if isinstance(error, ValueError) else reason(error)).encode()))

        thread = threading.Thread(target=start, name="schedtop-start")
        thread.start()
        thread.join()
        if failure:
            raise failure[0]

    def _failure(self, why: bytes) -> CannotRun:
        status = self._process.wait() if self._process else NOT_RUN
        return CannotRun(f"cannot run {self.words[0]}: {why.decode('utf-8', 'replace') or 'it was ended'}", status)

    def _watch(self, stop: threading.Event) -> None:
        # It stays a zombie: what there is to read of it can be read.
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        self._ended.set()
        stop.set()


def _hears_terminal() -> bool:
    """Whether our process group, which is the program's, is the one that the terminal's keys are for."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
