"""The BPF ring buffer as numpy sees it: records of one size, taken in one go, with no call per record.

Layout: kernel/bpf/ringbuf.c. One page with the consumer's position (ours to write), one with the producer's, then the
data. The kernel offers the data twice in a row, so that no record wraps, but that would count twice as our memory. Each
record has a header of 8 bytes, and begins at a multiple of 8.
"""

from __future__ import annotations

import mmap

import numpy as np
import numpy.typing as npt

_HEADER = 8
_BUSY, _DISCARD = np.uint32(1 << 31), np.uint32(1 << 30)


def record_bytes(event_bytes: int) -> int:
    """What an event of that size takes in a ring."""
    return -(-(event_bytes + _HEADER) // 8) * 8


class Ring:
    """The reader of a ring buffer with events of `event_bytes` each. `ring_bytes` is its size, a power of two."""

    def __init__(self, fd: int, ring_bytes: int, event_bytes: int) -> None:
        self._mask = ring_bytes - 1
        self._stride = record_bytes(event_bytes)
        self._event_bytes = event_bytes
        page = mmap.PAGESIZE
        own = mmap.mmap(fd, page, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        theirs = mmap.mmap(fd, page + ring_bytes, mmap.MAP_SHARED, mmap.PROT_READ, offset=page)
        self._consumed: npt.NDArray[np.uint64] = np.frombuffer(own, np.uint64, 1)
        self._produced: npt.NDArray[np.uint64] = np.frombuffer(theirs, np.uint64, 1)
        self._data: npt.NDArray[np.uint8] = np.frombuffer(theirs, np.uint8, ring_bytes, offset=page)

    def take(self) -> bytes:
        """The records that are complete, one after the other; their place is free again."""
        start, end = int(self._consumed[0]), int(self._produced[0])
        count = (end - start) // self._stride
        if not count:
            return b""
        # The headers first: what is complete by then is not written any more.
        places = (start + np.arange(count) * self._stride) & self._mask
        headers = self._data.view(np.uint32)[places >> 2]
        busy = np.flatnonzero(headers & _BUSY)
        if busy.size:  # reserved, not yet written
            count = int(busy[0])
        at, size = start & self._mask, count * self._stride
        data = self._data[at : at + size]
        if len(data) < size:
            data = np.concatenate((data, self._data[: size - len(data)]))
        records = data.reshape(count, self._stride)
        kept = (headers[:count] & _DISCARD) == 0
        taken: bytes = records[:, _HEADER : _HEADER + self._event_bytes][kept].tobytes()
        self._consumed[0] = start + count * self._stride
        return taken


class EventQueue:
    """The events of a ring, of type `dtype`, kept in our memory until they are asked for."""

    def __init__(self, ring: Ring, dtype: np.dtype[np.void]) -> None:
        self._ring, self._dtype = ring, dtype
        self._taken: list[bytes] = []

    def drain(self) -> None:
        """Empties the ring, so that a long interval cannot overrun it."""
        if taken := self._ring.take():
            self._taken.append(taken)

    def all(self) -> npt.NDArray[np.void]:
        """All events since the last call."""
        self.drain()
        taken, self._taken = self._taken, []
        return np.frombuffer(b"".join(taken), self._dtype)
