"""Commands that repair, as they are typed on this host."""

from __future__ import annotations

import os
from pathlib import Path

_INSTALL = {
    "debian": "apt install {}",
    "ubuntu": "apt install {}",
    "fedora": "dnf install {}",
    "rhel": "dnf install {}",
    "suse": "zypper install {}",
    "opensuse": "zypper install {}",
    "arch": "pacman -S {}",
    "alpine": "apk add {}",
}
"""By ID and ID_LIKE of os-release(5)."""

BCC = {"debian": "python3-bpfcc", "ubuntu": "python3-bpfcc", "arch": "python-bcc", "alpine": "py3-bcc"}
"""What the bcc Python binding is called; python3-bcc elsewhere."""


def as_root(command: str) -> str:
    """With `sudo`, unless we are root: a container may have none."""
    return command if os.geteuid() == 0 else f"sudo {command}"


def install_bcc(release: Path = Path("/etc/os-release")) -> str:
    """The command that installs the bcc Python binding, empty on a distribution that is not known."""
    for name in distribution(release):
        if name in _INSTALL:
            return as_root(_INSTALL[name].format(BCC.get(name, "python3-bcc")))
    return ""


def distribution(release: Path = Path("/etc/os-release")) -> list[str]:
    """What the distribution calls itself, then what it is like; empty where that is not told."""
    try:
        lines = release.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    return " ".join(values.get(key, "").strip("\"'") for key in ("ID", "ID_LIKE")).split()
