"""Commands that repair, as they are typed on this host."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
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


_SECURE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where sudo looks for a command, whatever PATH says (secure_path of distributions' sudoers)."""


def schedtop_as_root() -> str:
    """This program with `sudo`: by its path where sudo would not find its name, as after pipx or in a checkout."""
    if not shutil.which("schedtop", path=_SECURE_PATH):
        own = (Path(sys.argv[0]).absolute(), Path(sys.executable).with_name("schedtop"))
        for path in own:
            if path.name == "schedtop" and os.access(path, os.X_OK):
                return f"sudo {shlex.quote(str(path))}"
    return "sudo schedtop"


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
