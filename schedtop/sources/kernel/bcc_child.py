"""Finds bcc for the child processes and does one job with it: `bcc_child.py JOB [NICE]`; alone imports bcc.

The distribution installs bcc for its own interpreter alone. That one may be older than what schedtop needs, and ours
may be in an environment that does not see the distribution's packages. So this runs by path, with any Python from 3.8
on and nothing but its standard library: with ours, and where that has no bcc once more with the distribution's. The
jobs are modules beside it, which are held to the same: `compiler_child`; `about` tells which bcc it is.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from typing import Any

DISTRIBUTION = "/usr/bin/python3"
"""By its full name: PATH may be anybody's."""

NO_BCC = 3
"""The exit status where neither interpreter has it."""

_LAST = "last"


def main() -> None:
    """Does a job, or has it done by the distribution's interpreter; never returns."""
    job, nice, last = (*sys.argv[1:], "", "")[:3]
    if nice:
        os.setpriority(os.PRIO_PROCESS, 0, int(nice))
    bcc = _bcc()
    if bcc is None and not last:
        try:
            # Isolated: the modules that our environment names are for another version of Python. -B: nothing of that
            # version is written into our package.
            os.execv(DISTRIBUTION, [DISTRIBUTION, "-IB", os.path.abspath(__file__), job, "", _LAST])
        except OSError as error:
            print(f"{DISTRIBUTION}: {error}", file=sys.stderr)
    if bcc is None:
        raise SystemExit(NO_BCC)
    if job == "about":
        print(json.dumps(_about(bcc)))
    else:
        _module(job).main(bcc)


def _bcc() -> Any:
    try:
        import bcc  # late: it is what is tried
    except Exception as error:  # a binding may lack its library, or not fit it, or our Python: anything may come
        print(f"{sys.executable}: {error}", file=sys.stderr)
        return None
    if not hasattr(bcc, "BPF"):
        print(f"{sys.executable}: {bcc.__file__} is another bcc", file=sys.stderr)
        return None
    return bcc


def _module(name: str) -> Any:
    """A module beside this one. Its directory is not on the path, where it would hide modules of the same names."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _about(bcc: Any) -> dict[str, Any]:
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        files = {line.split(maxsplit=5)[5].strip() for line in maps if "/lib" in line}
    ours = ("libbcc", "libbpf", "libLLVM", "libclang")
    return {
        "version": getattr(bcc, "__version__", None),
        "binding": bcc.__file__,
        "interpreter": sys.executable,
        "python": ".".join(map(str, sys.version_info[:3])),
        "libraries": sorted(file for file in files if os.path.basename(file).startswith(ours)),
    }


if __name__ == "__main__":
    main()
