"""The path across tasks as text: a sentence, the profile, and the longest episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from schedtop.base.units import format_ns, format_ratio, printable
from schedtop.outputs.path.words import does, origin, row_words, trouble
from schedtop.outputs.plain import blocks_text
from schedtop.outputs.tables import table
from schedtop.path.paths import Paths
from schedtop.path.profile import ProfileRow, profile
from schedtop.path.segments import IDLE_TID, UNKNOWN, Behind, Episode, Hop, Segment, summed

IN_SENTENCE = 3
ROWS = 15
WORK_ROWS = 6
EPISODES = 3
PIECES = 24
"""How many lines of an episode are shown; the others are added up."""


def to_text(paths: Paths) -> str:
    """A report to read."""
    rows = profile(paths.episodes)
    late = [row for row in rows if not row.for_work]
    parts = ["\n".join([sentence(paths), "  ".join(origin(paths))])]
    parts += [_profile(late or rows)] if rows else []
    parts += [_chains(paths), _work(paths, rows, told=not late), _blocked(paths)]
    parts += [_longest(paths)] if paths.episodes else []
    parts += ["\n".join(trouble(paths))]
    return blocks_text(parts)


def sentence(paths: Paths) -> str:
    """All of it in one sentence."""
    rows = profile(paths.episodes)
    late = [row for row in rows if not row.for_work]
    who = _who(paths)
    if not paths.episodes:
        return f"{who} {'were' if who.endswith('tasks') else 'was'} not late"
    if not late:
        whole = sum(row.time_ns for row in rows)
        count = _episodes(len(paths.episodes))
        return f"{who} was not late: it waited for work for {format_ns(whole)} in {count}: {_shares(rows)}"
    whole = sum(row.time_ns for row in late)
    count = _episodes(sum(any(not one.for_work for one in episode.segments) for episode in paths.episodes))
    were = "were" if who.endswith("tasks") else "was"
    words = f"{who} {were} late by {format_ns(whole)} in {count}: {_shares(late)}"
    work = [row for row in rows if row.for_work]
    waited_ns = sum(row.time_ns for row in work)
    # Of a client that is what it is about.
    if waited_ns <= whole:
        return words
    return f"{words}; for work, or for an answer, it waited {format_ns(waited_ns)}: {_shares(work)}"


def _who(paths: Paths) -> str:
    names = {episode.comm for episode in paths.episodes}
    tids = {episode.tid for episode in paths.episodes}
    if len(names) == 1:
        (name,) = names
        return printable(name) if len(tids) == 1 else f"{len(tids)} {printable(name)} tasks"
    if not names and paths.targets.words:
        return printable(paths.targets.words)
    return f"{len(tids)} tasks" if tids else "all tasks"


def _episodes(count: int) -> str:
    return "1 episode" if count == 1 else f"{count} episodes"


def _shares(rows: Sequence[ProfileRow]) -> str:
    whole = sum(row.time_ns for row in rows)
    # What is not known is told, but it is no answer.
    known = [row for row in rows if row.state != UNKNOWN]
    shown = (known or rows)[:IN_SENTENCE]
    words = [f"{row.time_ns / whole * 100:.0f} % {_doing(row)}" for row in shown]
    unknown = sum(row.time_ns for row in rows if row.state == UNKNOWN and row not in shown)
    rest = whole - unknown - sum(row.time_ns for row in shown)
    words += [f"{rest / whole * 100:.0f} % other"] if rest * 200 >= whole else []
    words += [f"{unknown / whole * 100:.0f} % unknown"] if unknown * 200 >= whole else []
    return ", ".join(words)


def _doing(row: ProfileRow) -> str:
    words = row_words(row)
    return printable(f"itself {words}" if row.late else f"{row.task.comm} {words}")


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


def _chains(paths: Paths) -> str:
    """A waker is not always the cause."""
    asked = [episode.same_chain for episode in paths.episodes if episode.same_chain is not None]
    if not asked:
        return ""
    return (
        f"Woken by a task: {_episodes(len(asked))}. In {sum(asked)} of them it had itself been woken by the late task "
        "(request and answer);\nin the others it ran for reasons of its own: it held what was waited for, or merely "
        "was the one that woke."
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
    pieces = _told_together(episode.segments)
    for segment, times in pieces[:PIECES]:
        for depth, hop in enumerate(segment.via):
            if before[: depth + 1] != segment.via[: depth + 1]:
                place = f"blocked in {hop.where}" if hop.where else "blocked"
                lines.append(printable(f"{'  ' * (depth + 1)}{hop.comm} ({hop.tid}) {place}, until woken by"))
        before = segment.via
        often = f", {times} times" if times > 1 else ""
        lines.append(printable("  " * (len(segment.via) + 1) + _piece(segment) + often))
    if rest := pieces[PIECES:]:
        lines.append(f"  {format_ns(sum(segment.time_ns for segment, _ in rest))}  in {len(rest)} more lines")
    return lines


def _told_together(segments: Sequence[Segment]) -> list[tuple[Segment, int]]:
    """Segments that follow each other on one path, those of a kind added up where they take turns; and how many."""
    found: list[tuple[Segment, int]] = []
    for _, path in groupby(segments, key=lambda segment: segment.via):
        kinds: dict[tuple[object, ...], list[Segment]] = {}
        for segment in path:
            kinds.setdefault(segment.kind, []).append(segment)
        for group in kinds.values():
            behind = summed(part for segment in group for part in segment.behind)
            time_ns = sum(segment.time_ns for segment in group)
            found.append((replace(group[0], time_ns=time_ns, behind=behind), len(group)))
    return found


def _piece(segment: Segment) -> str:
    words = does(segment.state, None, segment.where, segment.woken_by, segment.reason)
    if segment.behind:
        shown = segment.behind[:3]
        parts = [f"{_ahead(segment, part)} {part.time_ns / segment.time_ns * 100:.0f} %" for part in shown]
        words = f"queued behind {', '.join(parts)}" + (", ..." if len(segment.behind) > len(shown) else "")
        if len(segment.behind) == 1:
            words = does(segment.state, segment.behind[0].comm, "", "", "", segment.comm)
    return f"{format_ns(segment.time_ns):>8}  {segment.comm} ({segment.tid}) {words}"


def _ahead(segment: Segment, part: Behind) -> str:
    """What had the CPU, in words."""
    if part.tid == IDLE_TID:
        return "nothing (its CPU idle)"
    return f"another {part.comm}" if part.comm == segment.comm else part.comm
