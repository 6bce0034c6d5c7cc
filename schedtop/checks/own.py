"""Schedtop itself, the Python it runs on, and the libraries it needs there."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from importlib import metadata

from schedtop import __version__
from schedtop.base.finding import Finding

LIBRARIES = ("numpy", "textual")


def own_version() -> Finding:
    """Which schedtop this is, and where it is."""
    place = next(iter(__import__("schedtop").__path__), "?")
    return Finding("schedtop", "ok", f"{__version__} in {place}", details={"version": __version__, "path": place})


def python() -> Finding:
    """The interpreter."""
    details = {"version": platform.python_version(), "executable": sys.executable}
    return Finding("python", "ok", f"{platform.python_version()}, {sys.executable}", details=details)


def library(name: str, version: Callable[[str], str] = metadata.version) -> Finding:
    """A library that is needed, by what is installed: it is not imported."""
    try:
        number = version(name)
    except metadata.PackageNotFoundError:
        found, repair = f"{name} is not installed for this Python", f"{sys.executable} -m pip install {name}"
        return Finding(name, "degraded", found, "the dashboard", repair, details={"version": None})
    return Finding(name, "ok", number, details={"version": number})
