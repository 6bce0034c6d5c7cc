"""The values of a large mapped array of the kernel, of which only what is read is mapped.

The kernel fills a mapping of an array as it is made, so that all its pages count as our memory. On a quiet host few of
them have something in them.
"""

from __future__ import annotations

import ctypes
import mmap
import os

import numpy as np
import numpy.typing as npt

from schedtop.model.rows import Integers, Rows

PART_BYTES = 1 << 16
"""What is mapped at once: a multiple of every size of a page."""

_MAP_FIXED = 0x10  # <asm-generic/mman-common.h>, the same on all architectures of Linux but those of HP and Alpha

_map = ctypes.CDLL(None, use_errno=True).mmap
_map.restype = ctypes.c_void_p
_map.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)


class MappedRows:
    """The rows of an array map of descriptor `fd`, as they are at any moment: by `take`, or all by `np.asarray`.

    Raises OSError where the kernel does not map it, in `take` too.
    """

    def __init__(self, fd: int, dtype: np.dtype[np.void], count: int) -> None:
        self.dtype = dtype
        self._fd = fd
        self._bytes = -(-count * dtype.itemsize // mmap.PAGESIZE) * mmap.PAGESIZE
        # The address space of all of it, without memory; the parts of the array take their places in it.
        room = mmap.mmap(-1, self._bytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ)
        self._rows: Rows = np.frombuffer(room, dtype, count)
        self._start = self._rows.ctypes.data
        parts = -(-self._bytes // PART_BYTES)
        self._mapped, self._used = np.zeros(parts, bool), np.zeros(parts, bool)

    def __len__(self) -> int:
        return len(self._rows)

    def __array__(self, dtype: object = None, copy: object = None) -> Rows:
        """All rows, the kernel's own memory, until `give_back`."""
        self._map(~self._mapped)
        return self._rows

    def take(self, indices: Integers) -> Rows:
        """Copies of some rows."""
        first = np.asarray(indices, np.int64) * self.dtype.itemsize
        self._need(first // PART_BYTES)
        self._need((first + self.dtype.itemsize - 1) // PART_BYTES)
        return self._rows.take(indices)

    def give_back(self) -> None:
        """Unmaps what was not taken since the last call."""
        for part in (self._mapped & ~self._used).nonzero()[0].tolist():
            self._place(part, None)
        self._mapped &= self._used
        self._used[:] = False

    def _need(self, parts: npt.NDArray[np.int64]) -> None:
        self._used[parts] = True
        if not self._mapped[parts].all():
            self._map(self._used & ~self._mapped)

    def _map(self, parts: npt.NDArray[np.bool_]) -> None:
        for part in parts.nonzero()[0].tolist():
            self._place(part, self._fd)
        self._mapped |= parts

    def _place(self, part: int, fd: int | None) -> None:
        """Has a part show the array, or nothing again."""
        at = part * PART_BYTES
        address, size = self._start + at, min(PART_BYTES, self._bytes - at)
        if fd is None:
            what = (mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_FIXED, -1, 0)
        else:
            what = (mmap.MAP_SHARED | _MAP_FIXED, fd, at)
        if _map(address, size, mmap.PROT_READ, *what) != address:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
