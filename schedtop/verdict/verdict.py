"""What a verdict is: one line on what keeps tasks waiting, its evidence, and what to do (docs/blame.md)."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, replace
from typing import Any

THRESHOLD_COMMAND = "sudo schedtop --threshold "
"""How a command begins that only asks for another threshold."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong (`headline`), why we say so (most important first), and one sentence on what to do.

    `level`: `ok`, `notice`, `alarm`, `unknown` (it cannot be told), or `measuring` (a live screen has too little data
    yet); `rule`: the id of the rule, see docs/blame.md; `command`: the part of `action` that can be typed, if any can.
    On a live screen, `relieved`: what a command has just helped, and `undo`: how to undo a command, both in words.
    """

    level: str
    rule: str
    headline: str
    evidence: tuple[str, ...] = ()
    action: str = ""
    command: str = ""
    relieved: str = ""
    undo: str = ""

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
        """Its fields, without what is told of a live screen alone."""
        return {name: value for name, value in asdict(self).items() if name not in ("relieved", "undo")}

    def with_keys(self) -> Verdict:
        """The same for a live screen, which has keys for the threshold."""
        if not self.command.startswith(THRESHOLD_COMMAND):
            return self
        key = "+" if self.rule == "incomplete" else "-"
        return replace(self, command="", action=self.action.replace(f": {self.command}", f" (key {key})"))

    def sentences(self) -> str:
        """All of it as prose."""
        evidence = f"Evidence: {'; '.join(self.evidence)}" if self.evidence else ""
        return " ".join(f"{part}." for part in (self.headline, evidence, self.action) if part)


MEASURING = Verdict("measuring", "measuring", "The first second is being measured, schedtop's own start in it")
"""While a screen that has just been opened has less than `limits.FIRST_VERDICT_NS` of data."""
