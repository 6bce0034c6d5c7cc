"""The path across tasks as data and as JSON: `schedtop.path/1`, see docs/path.md."""

from __future__ import annotations

from typing import Any

from schedtop import __version__
from schedtop.base.units import iso_time
from schedtop.outputs.plain import json_text
from schedtop.path.inversion import Inversion
from schedtop.path.paths import Paths, StillBlocked, Sum
from schedtop.path.profile import ProfileRow, Task, profile
from schedtop.path.segments import INTERRUPT_TID, UNKNOWN_TID, Behind, Episode, Hop, Segment

SCHEMA = "schedtop.path/1"

MOST_EPISODES = 1000
"""So many, the longest, are in the document; the profile is of all."""


def document(paths: Paths) -> dict[str, Any]:
    """Integers in the unit that the name carries; a ratio is 0..1; what is not available is `null`."""
    rows = profile(paths.episodes)
    total_ns = sum(episode.length_ns for episode in paths.episodes)
    left_out = paths.episodes[MOST_EPISODES:]
    asked = [episode.same_chain for episode in paths.episodes if episode.same_chain is not None]
    return {
        **about(paths),
        "episode_count": len(paths.episodes),
        "total_ns": total_ns,
        "late_ns": sum(episode.late_ns for episode in paths.episodes),
        "same_chain": {"count": sum(asked), "of": len(asked)},
        "episodes": [_episode(paths, episode) for episode in paths.episodes[:MOST_EPISODES]],
        "episodes_left_out": {"count": len(left_out), "total_ns": sum(one.length_ns for one in left_out)},
        "inversion": _inversion(paths.inversion),
        "profile": [_row(row, total_ns) for row in rows],
        "still_blocked": [_blocked(one) for one in paths.still_blocked],
    }


def about(paths: Paths) -> dict[str, Any]:
    """What was looked at, as data."""
    capture, targets = paths.capture, paths.targets
    started_ns = capture.start_ns - capture.clocks.monotonic_ns + capture.clocks.realtime_ns
    return {
        "schema": SCHEMA,
        "tool_version": __version__,
        "host": capture.host.name,
        "kernel": capture.host.kernel,
        "source": capture.host.source,
        "start_time": iso_time(started_ns),
        "duration_ns": capture.end_ns - capture.start_ns,
        "ended_early": capture.ended_early or None,
        "scope": targets.words,
        "targets": _targets(paths),
        "min_ns": paths.min_ns,
        "waits_for_work": _sum(paths.work),
        "events": capture.counts(),
        "loss": {
            "events": capture.lost_total,
            "in_interrupts": capture.lost_in_interrupts,
            "stacks": capture.lost_places,
            "interrupts": capture.lost_interrupts,
            "stacks_refused": capture.refused_places,
            "episodes_not_walked": _sum(paths.not_walked),
            "spans_unclear": _sum(paths.unclear),
        },
        "unavailable": dict(capture.unavailable),
    }


def to_json(paths: Paths) -> str:
    """The document as text."""
    return json_text(document(paths))


def _targets(paths: Paths) -> list[dict[str, Any]]:
    """The tasks that have episodes, most time first."""
    sums: dict[int, tuple[str, int, int, int]] = {}
    for episode in paths.episodes:
        _, tgid, count, time_ns = sums.get(episode.tid, ("", 0, 0, 0))
        sums[episode.tid] = (episode.comm, episode.tgid or tgid, count + 1, time_ns + episode.length_ns)
    ordered = sorted(sums.items(), key=lambda item: (-item[1][3], item[0]))
    return [
        {"tid": tid, "tgid": tgid, "comm": comm, "episode_count": count, "total_ns": time_ns}
        for tid, (comm, tgid, count, time_ns) in ordered
    ]


def _inversion(found: Inversion | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "headline": found.headline,
        "evidence": list(found.evidence),
        "action": found.action,
        "command": found.command,
        "late": _scheduled(found, found.late.tid, found.late.comm),
        "holder": _scheduled(found, found.holder.tid, found.holder.comm),
        "through": list(found.through),
        "where": found.where,
        "behind": [
            _scheduled(found, part.tid, part.comm) | {"time_ns": part.time_ns, "share": part.time_ns / found.time_ns}
            for part in found.behind
        ],
        "time_ns": found.time_ns,
        "share": found.share,
        "episode_count": found.episodes,
    }


def _scheduled(found: Inversion, tid: int | None, comm: str) -> dict[str, Any]:
    """A task, and how the scheduler is told to treat it, if that was looked at and is known."""
    traits = found.traits.get(tid) if tid is not None else None
    known = {"nice": traits.nice, "policy": traits.policy or None, "cpus": list(traits.cpus)} if traits else {}
    return {"tid": tid, "comm": comm, "nice": None, "policy": None, "cpus": None} | known


def _sum(many: Sum) -> dict[str, int]:
    return {"count": many.count, "total_ns": many.time_ns}


def _episode(paths: Paths, episode: Episode) -> dict[str, Any]:
    capture = paths.capture
    started_ns = episode.start_ns - capture.clocks.monotonic_ns + capture.clocks.realtime_ns
    return {
        "tid": episode.tid,
        "tgid": episode.tgid,
        "comm": episode.comm,
        "start_time": iso_time(started_ns),
        "start_monotonic_ns": episode.start_ns,
        "length_ns": episode.length_ns,
        "late_ns": episode.late_ns,
        "where": episode.where or None,
        "began_before": episode.began_before,
        "ended": episode.ended,
        "same_chain": episode.same_chain,
        "segments": [_segment(segment, episode.start_ns) for segment in episode.segments],
    }


def _segment(segment: Segment, start_ns: int) -> dict[str, Any]:
    return {
        "offset_ns": segment.start_ns - start_ns,
        "time_ns": segment.time_ns,
        "tid": segment.tid,
        "comm": segment.comm,
        "state": segment.state,
        "behind": [_behind(part, segment.time_ns) for part in segment.behind],
        "where": segment.where or None,
        "woken_by": segment.woken_by or None,
        "reason": segment.reason or None,
        "waits_for_work": segment.for_work,
        "via": [_hop(hop) for hop in segment.via],
    }


def _hop(hop: Hop) -> dict[str, Any]:
    return {"tid": hop.tid, "comm": hop.comm, "where": hop.where or None, "woken_in": hop.woken_in or None}


def _behind(part: Behind, whole_ns: int) -> dict[str, Any]:
    tid = None if part.tid in (UNKNOWN_TID, INTERRUPT_TID) else part.tid
    return {"tid": tid, "comm": part.comm, "share": part.time_ns / whole_ns, "time_ns": part.time_ns}


def _row(row: ProfileRow, total_ns: int) -> dict[str, Any]:
    return {
        "tid": row.task.tid,
        "comm": row.task.comm,
        "late_task": row.late,
        "state": row.state,
        "behind": _task(row.behind),
        "where": row.where or None,
        "woken_by": row.woken_by or None,
        "reason": row.reason or None,
        "waits_for_work": row.for_work,
        "time_ns": row.time_ns,
        "share": row.time_ns / total_ns,
        "episode_count": row.episodes,
    }


def _task(task: Task | None) -> dict[str, Any] | None:
    return None if task is None else {"tid": task.tid, "comm": task.comm}


def _blocked(one: StillBlocked) -> dict[str, Any]:
    return {
        "tid": one.tid,
        "comm": one.comm,
        "where": one.where or None,
        "time_ns": one.time_ns,
        "waits_for_work": one.for_work,
    }
