"""Page faults, reads and writes, and network traffic of the task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from schedtop.base.units import format_bytes, format_clock, format_count, format_counted, format_ns, format_rate, rate
from schedtop.panes.pane import Pane
from schedtop.panes.task.blocks import Block, arranged, block_width
from schedtop.panes.task.scene import NOTHING_YET, Scene
from schedtop.task import ConnectionChange, Faults, TaskFrame, Traffic, counts_words
from schedtop.widgets.strips import Spans, clip, clip_left, fit, steady, wrapped

SIDE_BY_SIDE = 70
"""From this width on two lists share a line."""

LOW = 10
"""With fewer lines, and one list only beside another, there are no headings."""

NAME = 13
TITLES = {"io": "read, write"}

MOST_CHANGES = 100
"""So many changes of connections are listed at most."""

FAILED = 13
"""Cells for how many calls failed."""

NARROW, MIDDLING = 44, 54
"""Below NARROW a line leaves out how many failed, below MIDDLING the time that calls took."""


class TrafficPane(Pane[Scene]):
    """What it read, wrote, sent and received, and the memory that it touched."""

    WAITING = NOTHING_YET
    NUMBER = 5
    TITLE = "I/O, network, faults"
    SHORT = "I/O"
    READING = (
        "Reads and writes are system calls by what the descriptor stands for, with calls a second, bytes a second, "
        "and the time that the calls took; what goes through mapped memory, io_uring or splice is not seen. Network "
        "is the payload that the task sent and received itself; below it its connections: how many were opened, "
        "accepted, closed, or came to nothing (failed), then the last changes, newest first, the remote end behind "
        "`to`. A minor fault maps memory that is there, a major one waits for a disk. Major faults: "
        "memory is short, or a file is read for the first time. failed connections: nothing listens there. Many small "
        "reads or writes: larger buffers. What this kernel cannot "
        "count is named in its place."
    )

    def view_lines(self, scene: Scene) -> Sequence[Spans]:
        width, height = self.inner
        self.set_title(scene.span_words)
        if scene.counts is None:
            return self.sentence(scene.missing("io"))
        counts = scene.counts
        if width < SIDE_BY_SIDE and height < LOW:
            return _short(scene, counts, width, height)
        across = 2 if width >= SIDE_BY_SIDE else 1
        cells = block_width(width, across)
        found = [
            Block("reads and writes", list(_io(counts, cells)), scene.missing("io") or "none"),
            Block("page faults", list(_faults(scene, counts.faults, cells)), scene.missing("faults") or "none"),
            Block("network", list(_network(counts, cells)), scene.missing("network") or "none"),
            Block("connections", list(_connections(counts, cells)), scene.missing("connections") or "no change"),
        ]
        return arranged(found, width, height, across)


def bytes_per_s(size: int, interval_ns: int) -> str:
    """A rate in bytes."""
    return f"{format_bytes(rate(size, interval_ns))}/s"


def _short(scene: Scene, counts: TaskFrame, width: int, height: int) -> Sequence[Spans]:
    """All of it without headings: what there is first, then what there is not."""
    there: list[Spans] = []
    missing: list[Spans] = []
    if counts.faults is not None:
        rates = [scene.per_s(count) for count in (counts.faults.minor, counts.faults.major)]
        there.append([(fit("faults", NAME), "dim"), (f"{rates[0]}/s minor, {rates[1]}/s major", "text")])
    for name, lines in (
        ("io", _io(counts, width)),
        ("network", _network(counts, width)),
        ("connections", _connections(counts, width)),
    ):
        found = list(lines)
        there.extend(found)
        if not found:
            words = scene.missing(name) or "none"
            missing.append([(clip(fit(TITLES.get(name, name), NAME) + words, width), "dim")])
    if counts.faults is None:
        missing.append([(clip(fit("faults", NAME) + scene.missing("faults"), width), "dim")])
    lines_all = [*there, *missing]
    if len(lines_all) <= height:
        return lines_all
    return [*lines_all[: height - 1], [(f"… {len(lines_all) - height + 1} more: z", "dim")]]


def _io(counts: TaskFrame, cells: int) -> Iterable[Spans]:
    for one in counts.io:
        name = f"{one.direction} {steady(one.kind)}"
        often = format_rate(rate(one.count, counts.interval_ns))
        numbers = f"{often:>5}/s {bytes_per_s(one.bytes, counts.interval_ns):>10}"
        if cells < NARROW:
            yield [(fit(name, cells - len(numbers)) + numbers, "text")]
            continue
        failed = f"{format_count(one.errors) + ' failed' if one.errors else '':>{FAILED}}"
        numbers += f" {format_ns(one.time_ns):>8}" if cells >= MIDDLING else ""
        yield [(fit(name, cells - len(numbers) - FAILED) + numbers, "text"), (failed, "preemption")]


def _faults(scene: Scene, faults: Faults | None, cells: int) -> Iterable[Spans]:
    if faults is None:
        return
    yield [(f"{scene.per_s(faults.minor):>5}/s minor ({format_count(faults.minor)})", "text")]
    style = "notice" if faults.major else "text"
    yield [(f"{scene.per_s(faults.major):>5}/s major ({format_count(faults.major)})", style)]
    if faults.time_ns is not None:
        yield [(f"{format_ns(faults.time_ns)} in handling them", "dim")]
    elif reason := scene.missing("fault time"):
        whole = f"time: {reason}"
        yield [(whole if len(whole) <= cells else "time in them: not available", "dim")]


def _network(counts: TaskFrame, cells: int) -> Iterable[Spans]:
    for one in counts.traffic:
        yield [(fit(f"{one.protocol} {one.family}", 9), "strong"), *_both_ways(one, counts.interval_ns, cells - 9)]


def _both_ways(one: Traffic, interval_ns: int, cells: int) -> Spans:
    sent, received = bytes_per_s(one.sent_bytes, interval_ns), bytes_per_s(one.received_bytes, interval_ns)
    text = f"out {sent} in {received}"
    calls = format_counted(one.sent_messages, "call")
    longer = f"out {sent} ({calls})  in {received} ({format_count(one.received_messages)})"
    return [(longer if len(longer) <= cells else text, "text")]


def _connections(counts: TaskFrame, cells: int) -> Iterable[Spans]:
    """All in sum, then the last changes, the newest first."""
    if words := counts_words(counts.transitions):
        yield from ([(line, "strong")] for line in wrapped(words, cells))
    last = counts.connections[: -MOST_CHANGES - 1 : -1]
    # All in the same form, that of the longest.
    form = max((_form(_forms(change), cells) for change in last), default=0)
    for change in last:
        yield [(connection_text(change, cells, form), "text")]


def connection_text(change: ConnectionChange, cells: int, least: int = 0) -> str:
    """One change of a connection in a line: with less room what it was before goes, the local end, the time.

    `least`: so many of these are left out in any case.
    """
    forms = _forms(change)
    found = forms[max(least, _form(forms, cells))]
    if len(found) > cells:
        # The port says more than the beginning of the address.
        head, _, address = found.rpartition(" ")
        found = f"{head} {clip_left(address, max(2, cells - len(head) - 1))}"
    return clip(steady(found), cells)


def _form(forms: Sequence[str], cells: int) -> int:
    """Which is the longest that fits, the shortest if none does."""
    return next((place for place, form in enumerate(forms) if len(form) <= cells), len(forms) - 1)


def _forms(change: ConnectionChange) -> tuple[str, str, str, str]:
    """What can be said of it, longest first."""
    clock, new = format_clock(change.time_ns), change.new.lower()
    became = f"{change.old.lower()}→{new}"
    local, remote = (end(address) for address in (change.local, change.remote))
    if change.new == "LISTEN" or change.old == "LISTEN":
        where = f"at {local}"
        return f"{clock} {became} {where}", f"{clock} {became} {where}", f"{clock} {new} {where}", f"{new} {where}"
    return (
        f"{clock} {became} {local} ↔ {remote}",
        f"{clock} {became} to {remote}",
        f"{clock} {new} to {remote}",
        f"{new} to {remote}",
    )


def end(address: str) -> str:
    """An address with its port; one that has no port yet is not told."""
    return "-" if address.endswith(":0") else address
