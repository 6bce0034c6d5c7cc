"""Stock kernels as Debian's packages: found by apt with lists of its own, and unpacked; nothing is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

NEWEST = "newest"

_SUITES = (
    ("Debian", "bullseye"),
    ("Debian-Security", "bullseye-security"),
    ("Debian", "bookworm"),
    ("Debian", "bookworm-backports"),
    ("Debian", "trixie"),
    ("Debian", "trixie-backports"),
    ("Debian", "sid"),
)
"""By the label of their archive."""

_FRESH_S = 86400.0
"""For so long a list of packages is not asked for again."""
_KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_NAME = re.compile(r"linux-image-(\d+\.\d+\D\S*?)-cloud-amd64")


class Unavailable(Exception):
    """Something cannot be had on this machine; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """An unpacked kernel. `release` is what uname says, `package` the version of Debian's package."""

    release: str
    package: str
    place: Path

    @property
    def image(self) -> Path:
        """What a machine boots."""
        return next(path for path in sorted(self.place.rglob("vmlinuz*")) if path.is_file())

    @property
    def modules(self) -> Path:
        """The directory that has lib/modules."""
        return next(path for path in (self.place / "usr", self.place) if (path / "lib/modules" / self.release).is_dir())


class Archive:
    """Debian's archive; all that it keeps is below `place`. `known_mirrors`: addresses by label (tests/mirrors.py)."""

    def __init__(self, place: Path, known_mirrors: Mapping[str, str]) -> None:
        self._place = place
        self._mirrors = known_mirrors
        self._releases: list[str] = []

    def kernel(self, series: str) -> Kernel:
        """The newest kernel of a series (5.10), or of all (newest), unpacked. Raises Unavailable."""
        release = choose(series, self._all_releases())
        description = self._apt("apt-cache", "show", "--no-all-versions", f"linux-image-{release}-cloud-amd64")
        version = next(line.split()[1] for line in description.splitlines() if line.startswith("Version:"))
        kernel = Kernel(f"{release}-cloud-amd64", version, self._place / "kernels" / f"{release}_{version}")
        if not kernel.place.is_dir():
            self._unpack(packages(description), kernel.place)
        return kernel

    def _all_releases(self) -> list[str]:
        if not self._releases:
            if shutil.which("apt-get") is None or not _KEYS.is_file():
                raise Unavailable("stock kernels come by apt: install debian-archive-keyring (Debian, Ubuntu)")
            if "Debian" not in self._mirrors:
                raise Unavailable("this machine's apt knows no mirror of Debian: say --mirror Debian=ADDRESS")
            self._update()
            names = self._apt("apt-cache", "pkgnames", "linux-image-").split()
            self._releases = [match[1] for name in names if (match := _NAME.fullmatch(name))]
        return self._releases

    def _update(self) -> None:
        updated, asked = self._place / "updated", "\n".join(sorted(self._mirrors.values()))
        if updated.exists() and updated.read_text() == asked and time.time() - updated.stat().st_mtime < _FRESH_S:
            return
        self._apt("apt-get", "update")
        updated.write_text(asked)

    def _unpack(self, names: Iterable[str], place: Path) -> None:
        downloads, fresh = place.with_suffix(".debs"), place.with_suffix(".new")
        for directory in (downloads, fresh):
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir(parents=True)
        self._apt("apt-get", "download", *names, directory=downloads)
        for package in downloads.glob("*.deb"):
            _run("dpkg", "-x", package, fresh)
        shutil.rmtree(downloads)
        fresh.rename(place)

    def _apt(self, *command: str, directory: Path | None = None) -> str:
        return _run(*command, environment={"APT_CONFIG": str(self._configuration())}, directory=directory)

    def _configuration(self) -> Path:
        """A configuration that knows neither this machine's packages nor its sources."""
        apt = self._place / "apt"
        for part in ("etc/apt.conf.d", "none", "lists/partial", "cache/archives/partial"):
            (apt / part).mkdir(parents=True, exist_ok=True)
        known = ((self._mirrors[label], suite) for label, suite in _SUITES if label in self._mirrors)
        lines = "".join(f"deb [signed-by={_KEYS}] {mirror} {suite} main\n" for mirror, suite in known)
        sources = apt / "sources.list"
        if not sources.exists() or sources.read_text() != lines:  # a new file makes apt read all lists anew
            sources.write_text(lines)
        directories = {
            "Dir::Etc": "etc",
            "Dir::Etc::sourcelist": "sources.list",
            "Dir::Etc::sourceparts": "none",
            "Dir::Etc::preferencesparts": "none",
            "Dir::State": "",
            "Dir::State::lists": "lists",
            "Dir::Cache": "cache",
        }
        settings = {key: str(apt / path) for key, path in directories.items()} | {
            "Dir::State::status": "/dev/null",
            "APT::Architecture": "amd64",
            "APT::Sandbox::User": "root",
            "APT::Update::Post-Invoke-Success": "",
            "Acquire::Languages": "none",
            # A mirror that is behind serves lists that have run out; they are signed all the same.
            "Acquire::Check-Valid-Until": "false",
        }
        path = apt / "apt.conf"
        path.write_text("".join(f'{key} "{value}";\n' for key, value in settings.items()))
        return path


def choose(series: str, releases: Iterable[str]) -> str:
    """The newest release of a series, or of all. Raises Unavailable, which names those that there are."""
    ordered = sorted(releases, key=_order)
    fitting = [release for release in ordered if series == NEWEST or _order(release)[:2] == _order(series)]
    if not fitting:
        there = dict.fromkeys(".".join(map(str, _order(release)[:2])) for release in ordered)
        raise Unavailable(f"Debian has no kernel {series} for clouds now; it has {', '.join(there) or 'none'}")
    return fitting[-1]


def packages(description: str) -> list[str]:
    """The packages that hold a kernel, from what apt says of its image: newer ones come in several parts."""
    fields = dict(line.split(": ", 1) for line in description.splitlines() if ": " in line and line[0] != " ")
    name = fields["Package"]
    parts = (f"linux-{part}-{name.removeprefix('linux-image-')}" for part in ("binary", "modules"))
    needed = {word.split()[0] for word in re.split(r"[,|]", fields.get("Depends", "")) if word.strip()}
    return [name, *(part for part in parts if part in needed)]


def _order(release: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", release)))


def _run(*command: str | Path, environment: dict[str, str] | None = None, directory: Path | None = None) -> str:
    done = subprocess.run(
        [*map(str, command)], env=os.environ | (environment or {}), cwd=directory, capture_output=True, check=False
    )
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise Unavailable(f"{' '.join(map(str, command[:2]))} failed: {words[-1] if words else done.returncode}")
    return done.stdout.decode(errors="replace")
