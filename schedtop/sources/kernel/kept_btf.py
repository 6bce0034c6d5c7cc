"""What the kernel's BTF answered at earlier starts: reading its 100,000 types takes a tenth of a second and numpy.

The answers of one kernel build are kept beside the compiled programs, one file for the kernel that was last booted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

from schedtop.sources.kernel.btf import KERNEL_BTF, Btf, BtfError, SymbolsHidden
from schedtop.sources.kernel.cache_directory import cache_directory, is_ours
from schedtop.sources.kernel.program_cache import keep, read_kept

Answer = TypeVar("Answer")

FILE_NAME = "kernel.btf-answers"

NOTES = Path("/sys/kernel/notes")
"""Holds the build id of the running kernel, which stands for its BTF."""

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

_READ: ContextVar[dict[Path, Btf] | None] = ContextVar("read", default=None)
"""What was read while `reading_once` lasts."""


class KeptBtf(Btf):
    """The kernel's BTF, read only when something is asked for the first time. `keep` keeps what was asked."""

    def __init__(self, path: Path, kernel: str, answers: dict[str, Any]) -> None:
        self._path = path
        self._kernel = kernel
        self._answers = answers
        self._read: Btf | None = None

    @classmethod
    def of_kernel(cls, path: Path = KERNEL_BTF) -> KeptBtf:
        """Nothing is read yet if the build of the kernel is known; BtfError where it has no BTF."""
        kernel = _identity(path)
        btf = cls(path, kernel, _kept(kernel))
        if not kernel:
            btf._whole()
        return btf

    def __len__(self) -> int:
        return len(self._whole())

    def type_id(self, name: str, kind: int = 4) -> int:
        """The id of the type of that name and kind (a struct, if not told)."""
        return int(self._answer(f"type {name} {kind}", lambda btf: btf.type_id(name, kind)))

    def argument_count(self, typedef: str) -> int:
        """How many arguments the function type behind a typedef takes."""
        return int(self._answer(f"arguments {typedef}", lambda btf: btf.argument_count(typedef)))

    def offset(self, struct_name: str, path: str) -> int:
        """The byte offset of a field."""
        return int(self._answer(f"offset {struct_name} {path}", lambda btf: btf.offset(struct_name, path)))

    def bit_offset(self, struct_name: str, path: str) -> int:
        """The offset of a field that begins within a byte, in bits."""
        return int(self._answer(f"bits {struct_name} {path}", lambda btf: btf.bit_offset(struct_name, path)))

    def integer_bytes(self, struct_name: str, path: str) -> int:
        """How many bytes an integer field has."""
        return int(self._answer(f"bytes {struct_name} {path}", lambda btf: btf.integer_bytes(struct_name, path)))

    def enumerator(self, enum: str, name: str) -> int:
        """The value of an enumerator."""
        return int(self._answer(f"enumerator {enum} {name}", lambda btf: btf.enumerator(enum, name)))

    def per_cpu_offset(self, variable: str) -> int:
        """Where a variable lies in the part of the kernel's memory that each CPU has for itself."""
        return int(self._answer(f"per-cpu {variable}", lambda btf: btf.per_cpu_offset(variable)))

    def per_cpu_distance(self, variable: str, start: str) -> int:
        """How far behind `start` a variable lies in each CPU's part of the kernel's memory."""
        return int(self._answer(f"distance {variable} {start}", lambda btf: btf.per_cpu_distance(variable, start)))

    def keep(self) -> None:
        """Keeps the answers, if there are new ones and somewhere to keep them."""
        directory = cache_directory()
        if self._read and self._kernel and directory:
            with suppress(OSError):
                keep(directory / FILE_NAME, json.dumps({"kernel": self._kernel, "answers": self._answers}).encode())
            self._read = None

    def _answer(self, question: str, ask: Callable[[Btf], int]) -> int:
        """A kept answer, or that of the BTF itself. An answer that is text is why there is none."""
        if question not in self._answers:
            whole = self._whole()
            try:
                self._answers[question] = ask(whole)
            except SymbolsHidden:
                raise
            except BtfError as error:
                self._answers[question] = str(error)
        answer = self._answers[question]
        if isinstance(answer, str):
            raise BtfError(answer)
        return int(answer)

    def _whole(self) -> Btf:
        if self._read is None:
            shared = _READ.get()
            if shared is None:
                shared = {}
            if self._path not in shared:
                shared[self._path] = Btf.of_kernel(self._path)
            self._read = shared[self._path]
        return self._read


@contextmanager
def reading_once() -> Iterator[None]:
    """While it lasts this thread reads the BTF once at most, however often questions come that no answer is kept of."""
    token = _READ.set({})
    try:
        yield
    finally:
        _READ.reset(token)


def with_kept_btf(ask: Callable[[Btf], Answer], path: Path = KERNEL_BTF) -> Answer:
    """What `ask` gets out of the running kernel's BTF; its questions are kept for the next start. Raises BtfError."""
    btf = KeptBtf.of_kernel(path)
    try:
        return ask(btf)
    finally:
        btf.keep()


def _kept(kernel: str) -> dict[str, Any]:
    """The answers that are kept of this kernel."""
    directory = cache_directory()
    if not kernel or not directory or not is_ours(directory):
        return {}
    with suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(read_kept(directory / FILE_NAME))
        if kept["kernel"] == kernel and all(isinstance(answer, int | str) for answer in kept["answers"].values()):
            return dict(kept["answers"])
    return {}


def _identity(path: Path) -> str:
    """What tells the running kernel's BTF from any other; empty where there is none."""
    try:
        size = path.stat().st_size
    except OSError:
        return ""
    try:
        build = NOTES.read_bytes().hex()
    except OSError:
        build = ""
    if "474e5500" not in build:  # no GNU note, so no build id
        with suppress(OSError):
            build = BOOT_ID.read_text().strip()
    return " ".join((*os.uname()[2:], str(path), str(size), build)) if build else ""
