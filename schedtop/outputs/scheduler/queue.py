"""The run queues' lengths in a snapshot: as data, and as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from schedtop.history.view import View
from schedtop.model.queue_lengths import MOST_QUEUED, QUEUE_KINDS, QueueLengths, QueueTable

QUEUE_PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def queue_fields(view: View) -> dict[str, Any] | None:
    """`queue_length` of a snapshot: samples of the run queues of the CPUs let through, `None` if there are none."""
    queue = view.frame.queue
    if queue is None or "queue" in view.frame.unavailable:
        return None
    ids = view.settings.shown_filter.cpu_ids(range(len(queue.samples)))
    return {
        "hz": queue.hz,
        **_cpus(queue, ids),
        "cpus": [{"cpu": cpu, **_cpus(queue, [cpu])} for cpu in view.cpu_ids if cpu < len(queue.samples)],
    }


def _cpus(queue: QueueTable, ids: list[int]) -> dict[str, Any]:
    """Some CPUs together."""
    return {
        "samples": int(queue.samples[ids].sum()),
        "expected_samples": int(queue.expected[ids].sum()),
        "slept_samples": int(queue.slept[ids].sum()),
        **{kind: _lengths(queue.lengths(kind, ids)) for kind in QUEUE_KINDS},
    }


def _lengths(lengths: QueueLengths) -> dict[str, Any]:
    """Count, mean, percentiles, and the lengths that occurred; the last one has no upper edge."""
    mean, waiting = lengths.mean, lengths.waiting_ratio
    return {
        "count": lengths.samples,
        "mean": None if mean is None else round(mean, 3),
        **{name: lengths.percentile(ratio) for name, ratio in QUEUE_PERCENTILES.items()},
        "max": lengths.longest if lengths.samples else None,
        "waiting_ratio": None if waiting is None else round(waiting, 6),
        "buckets": [
            {
                "low": length,
                "high": length + 1 if length < MOST_QUEUED else None,
                "count": int(lengths.counts[length]),
            }
            for length in np.flatnonzero(lengths.counts).tolist()
        ],
    }
