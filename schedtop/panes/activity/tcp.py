"""What became of the TCP connections of the host: a matrix of their changes of state, and what they have in sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schedtop.activity.view import ActivityView
from schedtop.base.units import format_clock_ms, format_count, format_ns
from schedtop.model.tcp_changes import TcpChange, end_text
from schedtop.panes.pane import Pane
from schedtop.widgets.strips import Span, Spans, clip, fit, spans_width, steady, whole_parts

SEPARATOR: Span = ("  ", "text")

_SHORT = {
    "CLOSED": "CLOSED",
    "LISTEN": "LISTEN",
    "SYN_SENT": "SYN_S",
    "SYN_RECV": "SYN_R",
    "ESTABLISHED": "ESTAB",
    "FIN_WAIT_1": "FIN_W1",
    "FIN_WAIT_2": "FIN_W2",
    "CLOSING": "CLOSNG",
    "TIME_WAIT": "TIME_W",
    "CLOSE_WAIT": "CLOS_W",
    "LAST_ACK": "L_ACK",
}
"""States in the order of a connection's life, and how they are written over a narrow column."""

_CELLS = 7
_NAME = 12

Changes = Mapping[tuple[str, str], int]


class TcpPane(Pane[ActivityView]):
    """The changes in the window: as a matrix where it has room, else one a line."""

    NUMBER = 3
    TITLE = "TCP of the host"
    SHORT = "TCP"
    PARTS = ("network",)
    WAITING = ""
    READING = (
        "How often TCP connections of the host went from one state (the row) to another (the column) in the window, "
        "whatever the filter; only states that occurred are there. "
        "Below are the latest changes with both ends, newest first. The first line: connections open now, the smoothed "
        "round-trip time, and what was sent again (retransmits)."
    )
    SIGNS = (
        (
            "many from SYN_SENT to CLOSED",
            "nothing listens, or it does not answer",
            "the address, the firewall, the peer",
        ),
        (
            "more to CLOSE_WAIT than from it",
            "a program does not close what its peer has closed",
            "ss -tp state close-wait: which",
        ),
        ("much sent again", "the network loses packets", "ss -ti: which connection; then the path to that peer"),
        ("many opened each second", "a connection for each request", "keep connections, or pool them"),
    )

    def forget(self) -> None:
        """Drops what is shown."""
        self.view = None
        self.draw()

    def view_lines(self, view: ActivityView) -> Sequence[Spans]:
        width = self.inner.width
        changes = view.activity.transitions
        table = [*(matrix(changes, width) or pairs(changes, width)), *latest(view.activity.latest, width)]
        self.total_rows = len(table)
        self.clamp_top()
        self.set_title(f"{format_count(sum(changes.values()))} changes of state", self.position_text())
        lines: list[Spans] = [whole_parts(_summary(view), width, SEPARATOR)]
        if not changes:
            return [*lines, [("no connection changed its state", "dim")]]
        return [*lines, *table[self.top : self.top + self.page_rows]]

    @property
    def page_rows(self) -> int:
        return max(1, self.inner.height - 1)


def _summary(view: ActivityView) -> list[Spans]:
    """What all connections have in sum."""
    activity = view.activity
    rows = activity.rows
    samples = int(rows["tcp_rtt_samples"].sum())
    rtt = format_ns(int(rows["tcp_rtt_ns"].sum()) / samples) if samples else "-"
    numbers = {name: int(rows[f"tcp_{name}"].sum()) for name in ("retransmits", "connects", "accepts", "failures")}
    words: list[tuple[str, str, bool]] = [
        ("open", format_count(int(activity.connections["tcp_connections"].sum())), False),
        ("rtt", rtt, False),
        ("retransmits", format_count(numbers["retransmits"]), numbers["retransmits"] > 0),
        ("failed", format_count(numbers["failures"]), numbers["failures"] > 0),
        ("connects", format_count(numbers["connects"]), False),
        ("accepts", format_count(numbers["accepts"]), False),
    ]
    absent = {"rtt": "tcp_rtt_ns", "failed": "tcp_failures", "open": "tcp_connections"}
    return [
        [(f"{name} ", "dim"), (number, "notice" if bad else "strong")]
        for name, number, bad in words
        if absent.get(name, f"tcp_{name}") not in view.absent
    ]


def matrix(changes: Changes, width: int) -> list[Spans]:
    """A line for each state that connections left, a column for each that they came to; empty: it is too wide."""
    lefts, tos = (_in_order({change[place] for change in changes}) for place in (0, 1))
    if not changes or _NAME + _CELLS * len(tos) > width:
        return []
    head: Spans = [
        (fit("from", _NAME), "head"),
        *((fit(_SHORT.get(state, steady(state)), _CELLS, right=True), "head") for state in tos),
    ]
    lines = [head]
    for left in lefts:
        counts = [changes.get((left, state), 0) for state in tos]
        cells = [(fit(format_count(count) if count else "·", _CELLS, right=True), _style(count)) for count in counts]
        lines.append([(fit(steady(left), _NAME), "text"), *cells])
    return lines


def pairs(changes: Changes, width: int) -> list[Spans]:
    """The same one a line, the most frequent first; two beside each other where they have room."""
    found = sorted(changes.items(), key=lambda item: (-item[1], item[0]))
    lines: list[Spans] = []
    for (old, new), count in found:
        number = f"{format_count(count):>6}"
        words = f"{steady(old)} → {steady(new)}"
        if len(number) + 1 + len(words) > width:
            words = f"{_SHORT.get(old, steady(old))} → {_SHORT.get(new, steady(new))}"
        line: list[Span] = [(number, "strong"), (f" {words}", "text")]
        lines.append(line if spans_width(line) <= width else [(clip(f"{number} {words}", width), "text")])
    return lines


def latest(changes: Sequence[TcpChange], width: int) -> list[Spans]:
    """The latest changes, newest first, with the ends of the connection: local, remote."""
    if not changes:
        return []
    lines: list[Spans] = [[("latest", "head")]]
    for change in reversed(changes):
        states = f"{_SHORT.get(change.old, steady(change.old))} → {_SHORT.get(change.new, steady(change.new))}"
        ends = f"{end_text(change.local, change.local_port)} {end_text(change.remote, change.remote_port)}"
        words = f"{fit(states, 2 * _CELLS + 2)} {ends}"
        lines.append([(clip(f"{format_clock_ms(change.time_ns)} {words}", width), "text")])
    return lines


def _style(count: int) -> str:
    return "strong" if count else "dim"


def _in_order(states: set[str]) -> list[str]:
    known = [state for state in _SHORT if state in states]
    return [*known, *sorted(states - _SHORT.keys())]
