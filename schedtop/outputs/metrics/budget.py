"""How much of a CPU a thread may take that anybody can give work to."""

from __future__ import annotations

import time

SHARE = 0.1
"""Of one CPU: a scrape of a host with 512 CPUs each second takes 0.06."""

BURST_S = 0.3
"""CPU time that may be taken at once, after a pause."""

LEAST_REST_S = 0.01
"""What comes meanwhile is done together."""


class Budget:
    """CPU time of the calling thread: SHARE of the time that passes, saved up to BURST_S."""

    def __init__(self) -> None:
        self._left_s = BURST_S
        self._at_s, self._used_s = time.monotonic(), time.thread_time()

    def rest_s(self) -> float:
        """How long to do nothing now, in seconds; 0 while there is something left."""
        at_s, used_s = time.monotonic(), time.thread_time()
        self._left_s = min(BURST_S, self._left_s + SHARE * (at_s - self._at_s)) - (used_s - self._used_s)
        self._at_s, self._used_s = at_s, used_s
        return max(LEAST_REST_S, -self._left_s / SHARE) if self._left_s < 0 else 0.0
