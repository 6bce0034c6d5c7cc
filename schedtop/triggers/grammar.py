"""Conditions from text and back, for example `p99(preemption) > 10ms and steal > 5% for 3s`.

    condition  = comparison { "and" comparison } [ "for" duration ] ;
    comparison = metric [ "(" argument ")" ] ( ">" | ">=" | "<" | "<=" ) value ;

The whole of it is in docs/triggers.md. Read by hand: what matters is what is said of a condition that is wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from typing import NoReturn

from schedtop.base.units import NS_PER_S, exact_duration, parse_duration
from schedtop.model.filters import Filter
from schedtop.model.rows import WAIT_KINDS
from schedtop.triggers.activity import FIELDS as ACTIVITY
from schedtop.triggers.measured import Argument
from schedtop.triggers.metrics import ALIASES, COUNT, METRICS, RATE, SHARE, TIME, TIME_RATE, Metric

MOST_FOR_NS = 3600 * NS_PER_S
MOST_TEXT = 500
MOST_DIGITS = 16
MOST_NS = 24 * 3600 * NS_PER_S

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_UNIT = re.compile(r"[A-Za-zµμ%/]+")
_OPERATOR = re.compile(r">=|<=|>|<")
_TOKEN = re.compile(r"[A-Za-z0-9_.%/µμ]+|\S")


class TriggerError(ValueError):
    """A condition cannot be read: the text says what is wrong, and at which column (the first is 1) of it."""

    def __init__(self, column: int, message: str) -> None:
        super().__init__(f"column {column}: {message}")
        self.column = column


@dataclass(frozen=True, slots=True)
class Comparison:
    """A metric and a bound. `value` is exact, in ns, as a ratio, per second, ns per second, or a count."""

    metric: Metric
    argument: Argument
    operator: str
    value: Decimal

    @property
    def subject(self) -> str:
        """The metric with its argument: `p99(preemption)`."""
        return f"{self.metric.name}({self.argument})" if self.argument else self.metric.name

    def __str__(self) -> str:
        return f"{self.subject} {self.operator} {self.metric.unit.write(self.value)}"

    def holds(self, value: float) -> bool:
        """Whether a measured value is beyond the bound."""
        if self.operator in (">", ">="):
            return value > self.value or (self.operator == ">=" and value == self.value)
        return value < self.value or (self.operator == "<=" and value == self.value)


@dataclass(frozen=True, slots=True)
class Condition:
    """Comparisons that must all hold, in each interval of `for_ns` (0: in one interval)."""

    comparisons: tuple[Comparison, ...]
    for_ns: int = 0

    @property
    def needs_activity(self) -> bool:
        """Whether it is about what tasks do: Frames must have it."""
        return any(part.metric.name in ACTIVITY for part in self.comparisons)

    def __str__(self) -> str:
        """Text that `parse` reads back to the same."""
        text = " and ".join(map(str, self.comparisons))
        return f"{text} for {exact_duration(self.for_ns)}" if self.for_ns else text


def parse(text: str) -> Condition:
    """The Condition that a text states. Raises TriggerError."""
    if len(text) > MOST_TEXT:
        raise TriggerError(MOST_TEXT, f"a condition has at most {MOST_TEXT} characters")
    # It is shown, told to commands, and written into recordings as it is.
    strange = next((column for column, char in enumerate(text, 1) if not (char.isprintable() or char.isspace())), 0)
    if strange:
        raise TriggerError(strange, "this character cannot be shown: write the condition without it")
    return _Reader(text).condition()


class _Reader:
    """A text and how far it has been read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0

    def condition(self) -> Condition:
        comparisons = [self._comparison()]
        while self._word("and"):
            comparisons.append(self._comparison())
        for_ns = self._for() if self._word("for") else 0
        if self._rest():
            self._fail_at_rest(for_ns)
        return Condition(tuple(comparisons), for_ns)

    def _comparison(self) -> Comparison:
        metric = self._metric()
        argument = self._argument(metric) if self._take(re.compile(r"\(")) else Argument()
        operator = self._take(_OPERATOR)
        if not operator:
            self._fail(f"expected > or < after {metric.name}, found {self._found()}")
        return Comparison(metric, argument, operator, self._value(metric))

    def _metric(self) -> Metric:
        start = self._skip()
        word = self._take(_NAME)
        if not word:
            self._fail(f"expected what to watch, like p99 or steal, found {self._found()}")
        name = ALIASES.get(word.lower(), word.lower())
        if name not in METRICS:
            near = get_close_matches(name, [*METRICS, *ALIASES], 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(METRICS)}"
            self._fail(f"{word!r} cannot be watched; {hint}", start)
        return METRICS[name]

    def _argument(self, metric: Metric) -> Argument:
        start = self._skip()
        end = self._text.find(")", start)
        if end < 0:
            self._place = len(self._text)
            self._fail(f"expected ) to end what began at column {start}")
        words = self._text[start:end].strip()
        self._place = end + 1
        if not metric.takes:
            self._fail(f"{metric.name} takes nothing in brackets", start)
        if not words:
            self._fail(f"expected {_wanted(metric)} in the brackets", start)
        if "cgroup" in metric.takes:
            return self._cgroup(words, start)
        if "kind" in metric.takes and words.lower() in WAIT_KINDS:
            return Argument(kind=words.lower())
        try:
            chosen = Filter.parse(words)
        except ValueError as error:
            raise TriggerError(start + 1, str(error)) from error
        return self._chosen(metric, chosen, words, start)

    def _cgroup(self, words: str, start: int) -> Argument:
        name = words.removeprefix("cgroup:")
        if name.split() != [name]:
            self._fail("expected a part of one cgroup's path", start)
        return Argument(cgroup=name)

    def _chosen(self, metric: Metric, chosen: Filter, words: str, start: int) -> Argument:
        if len(chosen.cpus) == 1 and not chosen.names_tasks and "cpu" in metric.takes:
            return Argument(cpu=chosen.cpus[0])
        if not chosen:
            self._fail(f"expected {_wanted(metric)} in the brackets", start)
        if chosen.cpus or "tasks" not in metric.takes:
            more = "" if "tasks" in metric.takes or chosen.cpus else "; --comm, --pid, --cgroup limit all of it to some"
            self._fail(f"{metric.name} takes {_wanted(metric)}, not {words!r}{more}", start)
        return Argument(tasks=chosen)

    def _value(self, metric: Metric) -> Decimal:
        start = self._skip()
        unit = metric.unit
        number = self._take(_NUMBER)
        if not number:
            self._fail(f"expected a number, like {unit.example}, found {self._found()}")
        if len(number) > MOST_DIGITS:
            self._fail(f"{number} has more than {MOST_DIGITS} digits", start)
        # A unit may stand apart, but these words are none.
        here = self._place
        word = self._take(_UNIT)
        if word.lower() in ("and", "for", "or"):
            self._place, word = here, ""
        if unit is COUNT:
            if word:
                self._fail(f"{metric.name} is a number without a unit, not {number}{word}", start)
            return Decimal(number)
        if not word:
            self._fail(f"{number} needs a unit ({unit.units}), like {unit.example}", start)
        value = _in_base_units(number, word, unit.name)
        if value is None:
            self._fail(f"{metric.name} is compared with {unit.example} or the like, not with {number}{word}", start)
        if unit in (TIME, TIME_RATE) and value > MOST_NS:
            self._fail(f"{number}{word} is more than a day", start)
        if unit is SHARE and value > 1:
            self._fail(f"{number}{word} is more than all of it", start)
        return value

    def _for(self) -> int:
        start = self._skip()
        number, unit = self._take(_NUMBER), self._take(_UNIT)
        if not number:
            self._fail(f"expected how long, like 5s, found {self._found()}")
        if not unit:
            self._fail(f"{number} needs a unit (ms, s or m), like {number}s", start)
        try:
            for_ns = parse_duration(number + unit)
        except (ValueError, OverflowError) as error:
            raise TriggerError(start + 1, f"{number}{unit} is no duration, like 5s") from error
        if not 0 < for_ns <= MOST_FOR_NS:
            self._fail(
                f"{number}{unit} is outside of what can be waited for: up to {exact_duration(MOST_FOR_NS)}", start
            )
        return for_ns

    def _fail_at_rest(self, for_ns: int) -> NoReturn:
        start = self._skip()
        if self._word("or"):
            self._fail("`or` is written as a second --on", start)
        if for_ns and self._word("and"):
            self._fail("`for` comes last, and holds for all of it", start)
        self._fail(f"expected {'the end' if for_ns else '`and`, `for` or the end'}, found {self._found()}", start)

    def _skip(self) -> int:
        """Leaves blanks out, and gives the place after them."""
        while self._place < len(self._text) and self._text[self._place].isspace():
            self._place += 1
        return self._place

    def _take(self, pattern: re.Pattern[str]) -> str:
        """What is next, if it is that; else nothing, and nothing is read."""
        match = pattern.match(self._text, self._skip())
        if match is None:
            return ""
        self._place = match.end()
        return match[0]

    def _word(self, word: str) -> bool:
        return bool(self._take(re.compile(rf"{word}\b", re.IGNORECASE)))

    def _rest(self) -> str:
        return self._text[self._skip() :]

    def _found(self) -> str:
        match = _TOKEN.match(self._text, self._skip())
        return repr(match[0]) if match else "the end"

    def _fail(self, message: str, place: int | None = None) -> NoReturn:
        raise TriggerError((self._skip() if place is None else place) + 1, message)


def _wanted(metric: Metric) -> str:
    """The arguments that a metric takes, in words."""
    words = {
        "kind": " or ".join(WAIT_KINDS),
        "cpu": "cpu:N",
        "tasks": "tasks like comm:nginx, pid:N, tid:N, cgroup:NAME",
        "cgroup": "a cgroup like web.service",
    }
    return " or ".join(words[name] for name in metric.takes)


def _in_base_units(number: str, word: str, unit: str) -> Decimal | None:
    """The exact value, `None` if the word is no unit of it."""
    if unit == SHARE.name:
        return Decimal(number) / 100 if word == "%" else None
    if unit == RATE.name:
        return Decimal(number) if word == "/s" else None
    if unit == TIME_RATE.name:
        if not word.endswith("/s"):
            return None
        word = word.removesuffix("/s")
    try:
        return Decimal(parse_duration(number + word)) if word else None
    except (ValueError, OverflowError):
        return None
