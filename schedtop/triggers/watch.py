"""Watch: conditions over Frames as they come. The same Frames fire the same triggers, live or from a recording."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from schedtop.base.units import NS_PER_S, iso_time
from schedtop.model.frame import Frame
from schedtop.triggers.grammar import Comparison, Condition
from schedtop.triggers.measured import PRESSURE_SPAN_NS, Measured

PAUSE_NS = 10 * NS_PER_S
"""The same trigger fires at most once in this time: what comes and goes each second is one thing, not sixty."""

UNMATCHED_NS = 10 * NS_PER_S
"""When nothing was what a condition names for so long, the user is told once: it may be misspelt."""


@dataclass(frozen=True, slots=True)
class Fired:
    """A condition came true. `number` is its place among the conditions, from 0.

    `time_ns` is wall-clock time and `end_ns` CLOCK_MONOTONIC, both of the end of the interval that made it true;
    `held_ns`: how long it had held by then. `values`: the metrics in that interval, in the order of the comparisons.
    """

    number: int
    condition: Condition
    time_ns: int
    end_ns: int
    held_ns: int
    values: tuple[float, ...]

    @property
    def values_text(self) -> str:
        """The metrics with their values: `p99 = 14.2 ms, steal = 7.0 %`."""
        pairs = zip(self.condition.comparisons, self.values, strict=True)
        return ", ".join(f"{part.subject} = {part.metric.unit.show(value)}" for part, value in pairs)

    def __str__(self) -> str:
        """One line without the time."""
        return f"{self.condition}: {self.values_text}"

    @property
    def line(self) -> str:
        """Time, condition and values with tabs between them."""
        return f"{iso_time(self.time_ns)}\t{self.condition}\t{self.values_text}"


@dataclass(slots=True)
class _State:
    """How a condition stands: how long it has held, whether it may fire, and when it last did."""

    held_ns: int = 0
    armed: bool = True
    fired_ns: int | None = None
    unmatched_ns: int | None = 0


class Watch:
    """Conditions that are fed with Frames in order. Not shared between threads.

    A condition fires when it has held in every interval of its `for` time (in one interval without). Then it must be
    false for an interval before it fires again, and not sooner than PAUSE_NS later. What is not available never holds.
    """

    def __init__(self, conditions: Sequence[Condition]) -> None:
        self.conditions = tuple(conditions)
        self._states = [_State() for _ in self.conditions]
        self._recent: deque[Frame] = deque()
        self._said: set[str] = set()
        self._notices: list[str] = []

    def feed(self, frame: Frame) -> tuple[Fired, ...]:
        """What fires at the end of this Frame. A Frame that does not follow on the last one starts anew."""
        if self._recent and not _follows(self._recent[-1], frame):
            self._recent.clear()
            self._states = [_State() for _ in self.conditions]
        self._recent.append(frame)
        while frame.end_ns - self._recent[0].end_ns > PRESSURE_SPAN_NS:
            self._recent.popleft()
        # A metric that two conditions ask for is measured once.
        seen: dict[str, Measured] = {}
        fired = [self._feed_one(number, frame, seen) for number in range(len(self.conditions))]
        return tuple(event for event in fired if event is not None)

    def notices(self) -> list[str]:
        """What the user should know and was not told yet: what is not available, and what nothing matches."""
        notices, self._notices = self._notices, []
        return notices

    def _feed_one(self, number: int, frame: Frame, seen: dict[str, Measured]) -> Fired | None:
        condition, state = self.conditions[number], self._states[number]
        measured = [self._measured(part, seen) for part in condition.comparisons]
        self._note(condition, state, measured, frame)
        values = [one.value for one in measured]
        if any(one.why for one in measured):
            state.held_ns = 0
            return None
        holds = all(
            value is not None and part.holds(value) for part, value in zip(condition.comparisons, values, strict=True)
        )
        if not holds:
            state.held_ns, state.armed = 0, True
            return None
        state.held_ns += frame.interval_ns
        if not self._due(condition, state, frame):
            return None
        state.armed, state.fired_ns = False, frame.end_ns
        known = tuple(value for value in values if value is not None)
        time_ns = frame.start_time_ns + frame.interval_ns
        return Fired(number, condition, time_ns, frame.end_ns, state.held_ns, known)

    def _due(self, condition: Condition, state: _State, frame: Frame) -> bool:
        # Intervals are a little shorter or longer than asked for: five of a second are five seconds.
        long_enough = state.held_ns + frame.interval_ns // 4 >= condition.for_ns
        paused = state.fired_ns is not None and frame.end_ns - state.fired_ns < PAUSE_NS
        return state.armed and long_enough and not paused

    def _measured(self, part: Comparison, seen: dict[str, Measured]) -> Measured:
        if part.subject not in seen:
            seen[part.subject] = part.metric.measure(self._recent, part.argument)
        return seen[part.subject]

    def _note(self, condition: Condition, state: _State, measured: Sequence[Measured], frame: Frame) -> None:
        for part, one in zip(condition.comparisons, measured, strict=True):
            if one.why:
                self._say(f"{part.subject}: not available: {one.why}")
        if all(one.matched for one in measured) or state.unmatched_ns is None:
            state.unmatched_ns = None
            return
        state.unmatched_ns += frame.interval_ns
        if state.unmatched_ns >= UNMATCHED_NS:
            state.unmatched_ns = None
            subject = next(
                part.subject for part, one in zip(condition.comparisons, measured, strict=True) if not one.matched
            )
            self._say(f"{subject}: nothing there yet; it is still watched for")

    def _say(self, notice: str) -> None:
        if notice not in self._said:
            self._said.add(notice)
            self._notices.append(notice)


def _follows(earlier: Frame, later: Frame) -> bool:
    gap_ns = later.end_ns - later.interval_ns - earlier.end_ns
    return abs(gap_ns) <= later.interval_ns // 2
