"""Which qemu boots the guests, and how it emulates their processors.

qemu 7.2 translates code without a lock on its page: what another virtual CPU patches meanwhile can stay as it was, and
the kernel meets a breakpoint of its own there (docs/kernels-found.md). qemu 10 does not, nor does one thread for
all CPUs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.kernels.packages import Archive, Unavailable

QEMU = "qemu-system-x86_64"
SOUND = 10
"""The first release that was tried and patches code soundly; those between 7.2 and it were not tried."""

_PACKAGES = ("qemu-system-x86", "qemu-system-data")
_SHARED = (Path("/usr/share/seabios"), Path("/usr/share/qemu"))


@dataclass(frozen=True, slots=True)
class Emulator:
    """A qemu. `unpacked`: where it lies, if it is not installed; `accel`: its option of that name."""

    program: str
    version: str
    accel: str
    unpacked: Path | None = None

    def __str__(self) -> str:
        return f"{self.version}, one thread" if self.accel.endswith("single") else self.version

    @property
    def command(self) -> list[str]:
        """The start of its command line."""
        places = (self.unpacked / "usr/share/qemu", *_SHARED) if self.unpacked else ()
        return [self.program, *(word for place in places for word in ("-L", str(place))), "-accel", self.accel]


def find(archive: Archive, place: Path, accel: str = "", installed_only: bool = False) -> Emulator:
    """A sound qemu: the installed one, or that of backports, or the installed one with a single thread.

    `accel` takes the place of what is best for it. Raises Unavailable.
    """
    path = shutil.which(QEMU)
    if not path:
        raise Unavailable(f"{QEMU} is not installed: scripts/setup.sh packages kernels says what is needed")
    installed = _emulator(path, accel)
    if installed_only or _is_sound(installed.version):
        return installed
    try:
        return _backport(archive, place / "qemu", accel)
    except Unavailable as error:
        print(f"no qemu {SOUND} from backports ({error}): {installed}", flush=True)
        return installed


def _emulator(program: str, accel: str, unpacked: Path | None = None) -> Emulator:
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"\d+(\.\d+)+", told.stdout)
    if not found:
        lines = told.stderr.strip().splitlines()
        raise Unavailable(f"{program} does not start: {lines[-1] if lines else told.returncode}")
    threads = "multi" if _is_sound(found[0]) else "single"
    return Emulator(program, found[0], accel or f"tcg,thread={threads}", unpacked)


def _is_sound(version: str) -> bool:
    return int(version.split(".")[0]) >= SOUND


def _backport(archive: Archive, place: Path, accel: str) -> Emulator:
    """Unpacked, not installed: it runs with the libraries that the installed one needs as well."""
    version = backport(archive.ask("apt-cache", "madison", _PACKAGES[0]), _codename())
    unpacked = place / version.replace(":", "_")
    if not unpacked.is_dir():
        archive.unpack([f"{name}={version}" for name in _PACKAGES], unpacked)
    return _emulator(str(unpacked / "usr/bin" / QEMU), accel, unpacked)


def backport(madison: str, codename: str) -> str:
    """The newest version that backports of a release have, by what `apt-cache madison` says. Raises Unavailable."""
    rows = [[word.strip() for word in line.split("|")] for line in madison.splitlines()]
    versions = [row[1] for row in rows if len(row) > 2 and f" {codename}-backports/" in row[2]]
    if not versions:
        raise Unavailable(f"{codename}-backports has none")
    return versions[0]


def _codename() -> str:
    for line in Path("/etc/os-release").read_text().splitlines():
        if line.startswith("VERSION_CODENAME="):
            return line.partition("=")[2].strip('"')
    return "unknown"
