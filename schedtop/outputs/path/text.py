"""The path across tasks as text: a sentence, the profile, and the longest episodes."""

from __future__ import annotations

from collections.abc import Sequence

from schedtop.base.units import format_ns, format_ratio, printable
from schedtop.outputs.path.words import origin, trouble
from schedtop.outputs.plain import blocks_text
from schedtop.outputs.tables import table
from schedtop.path.paths import Paths
from schedtop.path.profile import ProfileRow
from schedtop.path.segments import Episode, Hop, Segment
from schedtop.path.summary import Summary, summary_of
from schedtop.path.tree import told_together
from schedtop.path.words import episodes_words, hop_words, row_words, segment_words, sentence

ROWS = 15
WORK_ROWS = 6
EPISODES = 3
PIECES = 24
"""How many lines of an episode are shown; the others are added up."""


def to_text(paths: Paths) -> str:
    """A report to read."""
    summary = summary_of(paths)
    rows = summary.rows
    late = [row for row in rows if not row.for_work]
    parts = ["\n".join([*_inversion(paths), sentence(summary), "  ".join(origin(paths))])]
    parts += [_profile(late or rows)] if rows else []
    parts += [_evidence(paths), _chains(summary), _work(paths, rows, told=not late), _blocked(paths)]
    parts += [_longest(paths)] if paths.episodes else []
    parts += ["\n".join(trouble(paths))]
    return blocks_text(parts)


def _inversion(paths: Paths) -> list[str]:
    return [paths.inversion.headline] if paths.inversion else []


def _evidence(paths: Paths) -> str:
    found = paths.inversion
    if found is None:
        return ""
    return "\n".join(["Why an inversion:", *(f"  {line}" for line in found.evidence), f"  {found.action}"])


def _profile(rows: Sequence[ProfileRow], title: str = "Profile", most: int = ROWS) -> str:
    whole = sum(row.time_ns for row in rows)
    shown = rows[:most]
    lines = [
        (
            format_ns(row.time_ns),
            format_ratio(row.time_ns / whole),
            str(row.episodes),
            printable(row.task.comm + (f" ({row.task.tid})" if row.task.tid is not None else "")),
            "itself" if row.late else "woke",
            printable(row_words(row)),
        )
        for row in shown
    ]
    title += f": {format_ns(whole)} in all" + (f", {len(shown)} of {len(rows)} rows" if len(shown) < len(rows) else "")
    header = ("time", "share", "episodes", "task", "is", "what it did meanwhile")
    return f"{title}\n{table(header, lines, left=('task', 'is', 'what it did meanwhile'))}"


def _chains(summary: Summary) -> str:
    """A waker is not always the cause."""
    if not summary.woken:
        return ""
    return (
        f"Woken by a task: {episodes_words(summary.woken)}. In {summary.same_chain} of them it had itself been woken "
        "by the late task (request and answer);\nin the others it ran for reasons of its own: it held what was waited "
        "for, or merely was the one that woke."
    )


def _work(paths: Paths, rows: Sequence[ProfileRow], *, told: bool) -> str:
    """What a client waits for in epoll_wait may be an answer: the time is not called late, but it is told, once."""
    listed = [row for row in rows if row.for_work]
    lines = [_profile(listed, "Waits for work, or for an answer", WORK_ROWS)] if listed and not told else []
    if paths.work.count:
        lines.append(f"Waits for work, left out: {paths.work.count} ({format_ns(paths.work.time_ns)} in all)")
    return "\n".join(lines)


def _blocked(paths: Paths) -> str:
    """Those that nothing has woken yet; of all tasks nearly every one is, which says nothing."""
    found = paths.still_blocked if paths.targets.chosen else ()
    shown = found[:5]
    words = [f"{one.comm} ({one.tid}) in {one.where or 'some place'} for {format_ns(one.time_ns)}" for one in shown]
    more = f", and {len(found) - len(shown)} more" if len(found) > len(shown) else ""
    return f"Still blocked at the end, woken by nothing yet: {printable('; '.join(words))}{more}" if found else ""


def _longest(paths: Paths) -> str:
    shown = sorted(paths.episodes, key=lambda episode: -episode.late_ns)[:EPISODES]
    title = f"The longest episodes: {len(shown)} of {len(paths.episodes)}"
    return "\n\n".join([title, *("\n".join(_episode(paths, episode)) for episode in shown)])


def _episode(paths: Paths, episode: Episode) -> list[str]:
    at_ns = episode.start_ns - paths.capture.start_ns
    notes = [f"at {format_ns(at_ns)}"]
    notes += ["began before the recording"] if episode.began_before else []
    notes += ["had not ended"] if not episode.ended else []
    lines = [printable(f"{format_ns(episode.length_ns)}  {episode.comm} ({episode.tid})  {', '.join(notes)}")]
    before: tuple[Hop, ...] = ()
    pieces = told_together(episode.segments)
    for segment, times in pieces[:PIECES]:
        for depth, hop in enumerate(segment.via):
            if before[: depth + 1] != segment.via[: depth + 1]:
                lines.append(printable(f"{'  ' * (depth + 1)}{hop.comm} ({hop.tid}) {hop_words(hop)}"))
        before = segment.via
        often = f", {times} times" if times > 1 else ""
        lines.append(printable("  " * (len(segment.via) + 1) + _piece(segment) + often))
    if rest := pieces[PIECES:]:
        lines.append(f"  {format_ns(sum(segment.time_ns for segment, _ in rest))}  in {len(rest)} more lines")
    return lines


def _piece(segment: Segment) -> str:
    return f"{format_ns(segment.time_ns):>8}  {segment.comm} ({segment.tid}) {segment_words(segment)}"
