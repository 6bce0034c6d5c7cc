"""The peers of the task: its wakers and the tasks it woke, its preemptors and blockers, and its victims."""

from __future__ import annotations

from collections.abc import Sequence

from schedtop.base.units import format_count, format_ns
from schedtop.model.rows import Rows, text
from schedtop.model.sched_class import treatment
from schedtop.panes.pane import Pane
from schedtop.panes.scheduler.slow_waits.rows import task_text
from schedtop.panes.task.blocks import Block, arranged, block_width
from schedtop.panes.task.scene import NOTHING_YET, Scene
from schedtop.task import Peer
from schedtop.widgets.strips import Spans, fit, steady

SIDE_BY_SIDE, LOW = 56, 14
"""From this width on two lists share a line, if there are fewer lines than LOW; else from WIDE on."""

WIDE = 70
COUNT, NUMBERS = 7, 17
"""Cells for the number behind a name, or for two."""

BOTH_NUMBERS = 34
"""Below this width the time is left out."""


class PeersPane(Pane[Scene]):
    """Five lists: wakers, those that it woke, preemptors, blockers, and those that waited for it."""

    WAITING = NOTHING_YET
    NUMBER = 4
    TITLE = "Other tasks"
    READING = (
        "woken by: the tasks that woke it, how often. wakes: the tasks that it woke. preempted by: the tasks that took "
        "its CPU, how often, and how long it then waited. The task view counts these three. had its CPU: what ran "
        "while it waited (the blockers of the history, of waits of 100 µs and more). waited for it: the tasks that it "
        "blocked. `an interrupt` names no task: the one that it interrupted has nothing to do with it. "
        "`softirq` is what an interrupt leaves to be done after it (packets, finished disk requests); one that wakes "
        "others in the task's time may be its own doing, or not. A blocker at the top of had its CPU: move one of both "
        "to other CPUs, or give it less weight. A waker that is a thread of its own process hands it a lock or work."
    )

    def view_lines(self, scene: Scene) -> Sequence[Spans]:
        width, height = self.inner
        across = 2 if width >= (SIDE_BY_SIDE if height < LOW else WIDE) else 1
        cells = block_width(width, across)
        self.set_title(scene.span_words)
        return arranged(blocks(scene, cells, height), width, height, across)


def blocks(scene: Scene, cells: int, most: int) -> list[Block]:
    """The lists, their lines `cells` wide, at most so many of each."""
    counts, past = scene.counts, scene.past
    found: list[Block] = []
    if counts is not None:
        wakers = scene.missing("wakers")
        found.append(_peers("woken by", counts.wakers, cells, most, wakers))
        found.append(_peers("preempted by", counts.preemptors, cells, most, ""))
        found.append(_peers("wakes", counts.wakees, cells, most, wakers))
    elif past is not None:
        reason = scene.missing("wakers")
        found.append(Block("woken by, wakes", [], reason))
        rows = past.suffered[past.suffered["preemptions"] > 0]
        fields = ("preemptions", "preempted_ns")
        found.append(_pairs("preempted by (history)", rows, "other", fields, cells, most))
    if past is not None:
        reason = past.unavailable.get("pairs", "")
        suffered = past.suffered[past.suffered["blocked_ns"] > 0]
        found.append(_pairs("had its CPU", suffered, "other", ("waits", "blocked_ns"), cells, most, reason))
        caused = past.caused[past.caused["blocked_ns"] > 0]
        found.append(_pairs("waited for it", caused, "victim", ("waits", "blocked_ns"), cells, most, reason))
    return found


def _peers(title: str, peers: Sequence[Peer], cells: int, most: int, reason: str) -> Block:
    lines = [_line(peer_text(peer), peer.count, peer.wait_ns, cells) for peer in peers[:most]]
    return Block(title, lines, reason or "none yet", len(peers))


def peer_text(peer: Peer) -> str:
    """`name (tid)`, or what else it is."""
    return peer.words(steady(peer.comm))


def _pairs(
    title: str, rows: Rows, role: str, fields: tuple[str, str], cells: int, most: int, reason: str = ""
) -> Block:
    lines = []
    for row in rows[:most]:
        name = steady(text(row["other_interrupt"])) if role == "other" else ""
        name = name or task_text(int(row[f"{role}_tid"]), row[f"{role}_comm"], treatment(row, f"{role}_").words)
        lines.append(_line(name, int(row[fields[0]]), int(row[fields[1]]), cells))
    return Block(title, lines, f"not available: {reason}" if reason else "none", len(rows))


def _line(name: str, count: int, ns: int, cells: int) -> Spans:
    numbers = f"{format_count(count) + '×':>{COUNT}}"
    if cells >= BOTH_NUMBERS:
        numbers += f"{format_ns(ns) if ns else '':>{NUMBERS - COUNT}}"
    return [(fit(name, cells - len(numbers)), "strong"), (numbers, "text")]
