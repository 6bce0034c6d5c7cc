"""What a verdict is: one line on what keeps tasks waiting, its evidence, and what to do (docs/blame.md)."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, field, replace
from typing import Any

THRESHOLD_COMMAND = "sudo schedtop --threshold "
"""How a command begins that only asks for another threshold."""


@dataclass(frozen=True, slots=True)
class Live:
    """What a live screen says beside its verdict, in words; empty: nothing.

    `ended`: when the last alarm or notice ended; `left`: what is left of its slow waits; `kept`: how long ago the
    verdict was true, if another one is true by now; `relieved`: what a command has just helped; `undo`: how to undo it.
    """

    ended: str = ""
    left: str = ""
    kept: str = ""
    relieved: str = ""
    undo: str = ""

    @property
    def end(self) -> str:
        """When the last alarm or notice ended, and what is left of it."""
        return ": ".join(filter(None, (self.ended, self.left)))


@dataclass(frozen=True, slots=True)
class Late:
    """A task that is late, by its number (0: none), and the words on it (and another), a clause of the headline.

    `share`: for how much of the time it waits.
    """

    tid: int = 0
    words: str = ""
    share: float = field(default=1.0, compare=False)


NOT_LATE = Late()

ALSO = "; also, "
"""Before a second trouble at the end of a headline."""

_FOR_THE_SCREEN = ("late", "may_stay", "victim", "live")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong (`headline`), why we say so (most important first), and one sentence on what to do.

    `level`: `ok`, `notice`, `alarm`, `unknown` (it cannot be told), or `measuring` (a live screen has too little data
    yet); `rule`: the id of the rule, see docs/blame.md; `command`: the part of `action` that can be typed, if any can;
    `alternatives`: what else can be done, a sentence each; `late`: the task of which the headline says for
    how much of the time it waits; `may_stay`: the action is to leave it, and its command only looks closer;
    `victim`: the number of the task that is to be helped, 0 if it is not one.
    """

    level: str
    rule: str
    headline: str
    evidence: tuple[str, ...] = ()
    action: str = ""
    command: str = ""
    alternatives: tuple[str, ...] = ()
    late: Late = NOT_LATE
    may_stay: bool = False
    victim: int = 0
    live: Live = Live()

    @property
    def advice(self) -> str:
        """What to do without what only looks closer, if it may stay as it is."""
        return self.action.partition("; ")[0] if self.may_stay else ""

    def beside(self, **told: str) -> Verdict:
        """The same with what a live screen says beside it: the fields of Live that change."""
        return replace(self, live=replace(self.live, **told))

    def with_sudo(self) -> Verdict:
        """The same for one who came by sudo, and whose own shell may not do what the command does."""
        command = self.command
        if not command or command.startswith("sudo "):
            return self
        if command.startswith("echo ") and " > " in command:
            what, _, file = command.partition(" > ")
            command = f"{what} | sudo tee {file}"
        elif command.startswith("for "):
            command = f"sudo sh -c {shlex.quote(command)}"
        else:
            command = f"sudo {command}"
        return replace(self, command=command, action=self.action.replace(self.command, command))

    def as_json(self) -> dict[str, Any]:
        """Its fields, without those that only a live screen needs."""
        return {name: value for name, value in asdict(self).items() if name not in _FOR_THE_SCREEN}

    def with_keys(self) -> Verdict:
        """The same for a live screen, which has keys for the threshold."""
        if not self.command.startswith(THRESHOLD_COMMAND):
            return self
        key = "+" if self.rule == "incomplete" else "-"
        return replace(self, command="", action=self.action.replace(f": {self.command}", f" (key {key})"))

    def sentences(self) -> str:
        """All of it as prose."""
        evidence = f"Evidence: {'; '.join(self.evidence)}" if self.evidence else ""
        return " ".join(f"{part}." for part in (self.headline, evidence, self.action, *self.alternatives) if part)


MEASURING = Verdict("measuring", "measuring", "The first verdict follows after a second of data")
"""While a screen that has just been opened has less than `limits.FIRST_VERDICT_NS` of data."""
