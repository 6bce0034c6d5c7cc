"""apt with lists of its own: what tests fetch of other releases comes from where this machine's packages come from."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from pathlib import Path

_MAIN = Path("/etc/apt/apt.conf")


class AptFailed(Exception):
    """It did not do what it was asked for; the text says why."""


class PrivateApt:
    """apt for `sources` (lines of a sources.list), which knows nothing of what is installed here and installs nothing.

    All that it keeps is below `place`. The rest of this machine's settings hold: how the network is reached, say.
    """

    def __init__(self, place: Path, sources: str) -> None:
        self._place = place
        for part in ("lists/partial", "cache/archives/partial"):
            (place / part).mkdir(parents=True, exist_ok=True)
        (place / "status").touch()
        listed = place / "sources.list"
        if not listed.exists() or listed.read_text() != sources:  # a new file makes apt read all lists anew
            listed.write_text(sources)
        settings = {
            "Dir::State": place,
            "Dir::State::status": place / "status",
            "Dir::State::lists": place / "lists",
            "Dir::Cache": place / "cache",
            "Dir::Etc::sourcelist": listed,
            "Dir::Etc::sourceparts": "-",
            "Dir::Etc::preferences": "-",
            "Dir::Etc::preferencesparts": "-",
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
            # A mirror that is behind serves lists that have run out; they are signed all the same.
            "Acquire::Check-Valid-Until": "false",
        }
        # In place of the main file, which comes last: the rest is as on this machine, but for what follows an update.
        main = place / "main.conf"
        own = f'#include "{_MAIN}";\n' if _MAIN.exists() else ""
        lines = "".join(f'{name} "{value}";\n' for name, value in settings.items())
        main.write_text(f"{own}#clear APT::Update;\n#clear DPkg;\n{lines}")
        self._configuration = place / "apt.conf"
        self._configuration.write_text(f'Dir::Etc::main "{main}";\n')

    @property
    def archives(self) -> Path:
        """Where packages are that were downloaded to be installed."""
        return self._place / "cache/archives"

    def __call__(self, *command: str, directory: Path | None = None) -> str:
        """What a command of apt says, run in `directory`. Raises AptFailed."""
        environment = os.environ | {"APT_CONFIG": str(self._configuration)}
        done = subprocess.run(command, env=environment, cwd=directory, capture_output=True, check=False)
        if done.returncode:
            words = " ".join(done.stderr.decode(errors="replace").split())
            raise AptFailed(f"{' '.join(command[:2])} failed: {words[-200:] or done.returncode}")
        return done.stdout.decode(errors="replace")


def mirrors() -> dict[str, str]:
    """The addresses by label, as apt names it (`Debian`, `Debian-Security`, `Ubuntu`); empty without apt."""
    if shutil.which("apt-get") is None:
        return {}
    command = ["apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages"]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    found = [line.split() for line in lines]
    # The first of a label: Ubuntu gives the same to its security updates, which have an archive of their own.
    return {words[0]: words[1] for words in reversed(found) if len(words) == 2 and not words[1].startswith("cdrom:")}


def mirror(text: str) -> tuple[str, str]:
    """The label and the address of LABEL=ADDRESS. Raises ArgumentTypeError."""
    label, _, address = text.partition("=")
    if not label or "://" not in address:
        raise argparse.ArgumentTypeError(f"{text!r} is not LABEL=ADDRESS")
    return label, address
