"""Which source `auto` is: the kernel programs where they may be loaded, else what /proc tells without privileges."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Self

from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.model.source import NotPermitted, Source, SourceError
from schedtop.sources.kernel import early_compiler
from schedtop.sources.kernel.findings import privileges

WITHOUT = "without privileges: --source proc, which knows no single waits and no blockers; run `sudo schedtop`"
"""What is said once, where no screen says it."""

REFUSED = "the kernel refuses the programs"
"""The note of a host that had to do with /proc although privileges were there."""

INSTEAD = "; --source proc shows what /proc tells"


def may_load_programs() -> bool:
    """Whether the kernel lets this process load programs, as far as can be told beforehand."""
    return privileges.programs().state != "missing"


class AutoSource:
    """The first of two sources, or the second, made only then, where the first one is not permitted.

    `say` is told when it is the second. Any other failure of the first one is the user's to decide.
    """

    def __init__(self, first: Source, make_second: Callable[[], Source], say: Callable[[str], None]) -> None:
        self._first = self._chosen = first
        self._make_second = make_second
        self._say = say
        self._asked: dict[str, Any] = {}
        self.host: Host

    def __enter__(self) -> Self:
        why = WITHOUT
        notes: tuple[str, ...] = ()
        if may_load_programs():
            try:
                self._first.__enter__()
                self.host = self._first.host
                return self
            except NotPermitted as error:
                # A security module, lockdown, or a container's filter of system calls.
                why, notes = f"--source proc, because {error}", (REFUSED,)
            except SourceError as error:
                raise SourceError(f"{error}{INSTEAD}") from error
        early_compiler.end()
        self._chosen = self._make_second()
        for setter, value in self._asked.items():
            getattr(self._chosen, setter)(value)
        self._chosen.__enter__()
        self.host = replace(self._chosen.host, notes=(*notes, *self._chosen.host.notes))
        self._say(why)
        return self

    def __exit__(self, *exc: Any) -> None:
        self._chosen.__exit__(*exc)

    def frames(self, stop: threading.Event) -> Iterator[Frame]:
        """The Frames of the one that was chosen."""
        return self._chosen.frames(stop)

    def set_threshold(self, threshold_ns: int) -> None:
        """Asks the one that is chosen, or will be."""
        self._ask("set_threshold", threshold_ns)

    def set_grouping(self, kind: str) -> None:
        """Asks the one that is chosen, or will be."""
        self._ask("set_grouping", kind)

    def set_sampling(self, on: bool) -> None:
        """Asks the one that is chosen, or will be."""
        self._ask("set_sampling", on)

    def set_interrupts(self, on: bool) -> None:
        """Asks the one that is chosen, or will be."""
        self._ask("set_interrupts", on)

    def set_measuring(self, on: bool) -> None:
        """Asks the one that is chosen, or will be."""
        self._ask("set_measuring", on)

    def _ask(self, setter: str, value: Any) -> None:
        self._asked[setter] = value
        getattr(self._chosen, setter)(value)
