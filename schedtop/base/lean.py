"""What makes a start cheaper: no collection of garbage while modules are imported, no threads and no parts unused."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType

_THREADS = "OPENBLAS_NUM_THREADS"
"""Read by numpy's linear algebra when it is loaded. We ask it for nothing; its threads and their buffers cost 12 ms."""

_OBJECTS = 250_000
"""A start makes 105,000 objects that stay. To look through them once takes 0.03 s, and frees 400."""

_DOCS = ("numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars")
"""They do nothing but write documentation: 7 ms, and 0.25 MiB."""

_ARENA_MAX = -8
"""M_ARENA_MAX of malloc.h."""

_usual = gc.get_threshold()
_set: list[str] = []


def begin() -> None:
    """Before anything large is imported."""
    gc.set_threshold(_OBJECTS, *_usual[1:])
    if _THREADS not in os.environ:
        os.environ[_THREADS] = "1"
        _set.append(_THREADS)
    for name in _DOCS:
        sys.modules.setdefault(name, ModuleType(name))


def end() -> None:
    """When all is imported: garbage is collected as usual, and what is started for the user has the user's variables.

    What is loaded by now stays until the end, so the collector need not look at it.
    """
    while _set:
        os.environ.pop(_set.pop(), None)
    gc.set_threshold(*_usual)
    gc.freeze()


def share_heap() -> None:
    """Before threads are started: they use one heap. Python lets one run at a time, and each heap keeps free pages.

    It made 1.5 MiB of a dashboard's.
    """
    import ctypes  # late: what needs no threads needs no C

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


@contextmanager
def without(module: str) -> Iterator[None]:
    """While it lasts a module cannot be imported, so that one which can do without it does; later it can again.

    For OpenSSL's: 8 ms and 5 MiB that hashes and event loops of ours never use.
    """
    missing = module not in sys.modules
    if missing:
        sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if missing:
            del sys.modules[module]
