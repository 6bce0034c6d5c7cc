"""The environment of child processes: what decides which Python and libraries run, the locale, and nothing else."""

from __future__ import annotations

import os

_KEPT = ("PYTHONHOME", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE")
"""We run with the first three ourselves."""

_INVOKER = ("SUDO_UID", "SUDO_GID", "PKEXEC_UID", "DOAS_USER")
"""For a child that writes files (invoker.py)."""

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def child_environment(**more: str) -> dict[str, str]:
    """For children of ours. Libraries that they use are steered by variables: DEBUGINFOD_URLS, BCC_SYMFS, CPATH.

    `more`: what this one needs in addition.
    """
    kept = {name: os.environ[name] for name in (*_KEPT, *_INVOKER) if name in os.environ}
    return {"PATH": _PATH, **kept, **more}
