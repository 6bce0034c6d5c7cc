"""The BPF ring buffer as numpy sees it: records of one size, taken in one go, with no call per record.

Layout: kernel/bpf/ringbuf.c. One page with the consumer's position (ours to write), one with the producer's, then the
data, mapped twice in a row so that a record never wraps. Each record has a header of 8 bytes.
"""

from __future__ import annotations

import mmap

import numpy as np
import numpy.typing as npt

_HEADER = 8
_BUSY, _DISCARD = np.uint32(1 << 31), np.uint32(1 << 30)


class Ring:
    """The reader of a ring buffer with records of `record_bytes` each. `ring_bytes` is its size, a power of two."""

    def __init__(self, fd: int, ring_bytes: int, record_bytes: int) -> None:
        self._mask = ring_bytes - 1
        self._stride = -(-(record_bytes + _HEADER) // 8) * 8
        self._record_bytes = record_bytes
        page = mmap.PAGESIZE
        own = mmap.mmap(fd, page, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        theirs = mmap.mmap(fd, page + 2 * ring_bytes, mmap.MAP_SHARED, mmap.PROT_READ, offset=page)
        self._consumed: npt.NDArray[np.uint64] = np.frombuffer(own, np.uint64, 1)
        self._produced: npt.NDArray[np.uint64] = np.frombuffer(theirs, np.uint64, 1)
        self._data: npt.NDArray[np.uint8] = np.frombuffer(theirs, np.uint8, 2 * ring_bytes, offset=page)

    def take(self) -> bytes:
        """The records that are complete, one after the other; their place is free again."""
        start, end = int(self._consumed[0]), int(self._produced[0])
        count = (end - start) // self._stride
        if not count:
            return b""
        at = start & self._mask
        records = self._data[at : at + count * self._stride].reshape(count, self._stride)
        headers = records[:, :4].copy().view(np.uint32)[:, 0]
        busy = np.flatnonzero(headers & _BUSY)
        if busy.size:  # reserved, not yet written
            count = int(busy[0])
        kept = (headers[:count] & _DISCARD) == 0
        taken: bytes = records[:count, _HEADER : _HEADER + self._record_bytes][kept].tobytes()
        self._consumed[0] = start + count * self._stride
        return taken
