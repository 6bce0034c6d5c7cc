"""Whether a recording has the names of its scene alone."""

from __future__ import annotations

from collections.abc import Sequence

from schedtop.sources.replay.recorded import Recording
from tests.scenes.scrub import KERNEL_THREADS, OTHER, OWN


def assert_known_names(recording: Recording, kept: Sequence[str], cgroups: Sequence[str]) -> None:
    """Fails where a task or cgroup has another name."""
    known = {b"", OTHER, OWN, *(name.encode() for name in kept)}
    assert not recording.damage
    assert recording.header.host.name == "demo"
    for frame in recording:
        assert {path.strip("/") for path in frame.cgroups.values()} <= {"", "other", *cgroups}
        nobody = frame.slow_waits["waker_tid"] == 0
        assert set(frame.slow_waits["waker_comm"][nobody].tolist()) <= {b""}
        for rows in (frame.tasks, frame.slow_waits, frame.pairs, frame.short_lived):
            fields = [name for name in rows.dtype.names or () if rows.dtype[name].base.kind == "S"]
            names = {name for field in fields for name in rows[field].ravel().tolist()}
            assert all(name in known or KERNEL_THREADS.match(name) for name in names)
