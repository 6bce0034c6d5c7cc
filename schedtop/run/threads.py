"""Work in a thread of its own, while the main thread hears signals."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import NoReturn, TypeVar

from schedtop.run.signals import Signals

Result = TypeVar("Result")


def in_thread(work: Callable[[], Result], signals: Signals, meanwhile: Callable[[], object] = lambda: None) -> Result:
    """What `work` gives or raises; it runs in a thread, so that signals are heard while a compiler works.

    `meanwhile` is done here while it works. Signals only ask it to end. If it does not in time, the process ends here
    and the kernel detaches the programs.
    """
    outcome: list[Result] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # raised again below, where it is handled
            failure.append(error)

    thread = threading.Thread(target=run, name="schedtop-work", daemon=True)
    thread.start()
    meanwhile()
    while thread.is_alive():
        thread.join(0.1)
        if signals.overdue and thread.is_alive():
            _abandon(signals.status)
    if failure:
        # Stopping early is no failure of the source.
        signals.check()
        raise failure[0]
    return outcome[0]


def _abandon(status: int) -> NoReturn:
    """Ends the process while a thread waits for the compiler. Programs and maps go with their descriptors."""
    os._exit(status)
