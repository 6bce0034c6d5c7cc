"""As which user commands of triggers and measured programs run: who called sudo, with no capability of ours."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from schedtop.base.invoker import Invoker, invoker
from schedtop.outputs.triggers.command_child import KEEP

_CHILD = str(Path(__file__).with_name("command_child.py"))
_PATH = "/usr/local/bin:/usr/bin:/bin"
_SHELL = "/bin/sh"
_KEPT = ("LANG", "LANGUAGE", "TZ", "TERM")
"""What of root's environment is a user's as well, beside LC_*."""


@dataclass(frozen=True, slots=True)
class Runner:
    """`before`: the words in front of a command's own. `environment`: its variables, but for what fired."""

    before: tuple[str, ...]
    environment: Mapping[str, str]


def runner(*, as_root: bool = False, gate: str = "") -> Runner:
    """Who runs commands now. `as_root`: root does, whoever called. `gate`: the number of a socket at which the command
    waits before it begins (command_child.py). Raises UnclearInvoker."""
    user = None if as_root else invoker()
    # Isolated: of the environment, which is that user's, nothing is read while there are rights to lose.
    before = (sys.executable or "/usr/bin/python3", "-ISB", _CHILD)
    if user is None and os.geteuid() == 0:
        return Runner((*before, KEEP, "", "", gate) if gate else (), dict(os.environ))
    if user is None:
        return Runner((*before, "", "", "", gate), dict(os.environ))
    groups = ",".join(map(str, user.groups))
    return Runner((*before, str(user.uid), str(user.gid), groups, gate), _environment(user))


def _environment(user: Invoker) -> dict[str, str]:
    """As a login would have it: of root's only the language, the time zone, the terminal, and where programs are."""
    kept = {name: text for name, text in os.environ.items() if name in _KEPT or name.startswith("LC_")}
    places = ":".join(place for place in os.environ.get("PATH", "").split(":") if os.path.isabs(place))
    return kept | {
        "PATH": places or _PATH,
        "HOME": user.home or "/",
        "SHELL": user.shell or _SHELL,
        "USER": user.name or str(user.uid),
        "LOGNAME": user.name or str(user.uid),
    }
