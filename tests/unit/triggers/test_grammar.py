"""Conditions from text and back, and what is said of wrong ones."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedtop.base.units import exact_duration, parse_duration
from schedtop.model.filters import Filter
from schedtop.triggers.grammar import Comparison, Condition, TriggerError, parse
from schedtop.triggers.measured import Argument
from schedtop.triggers.metrics import COUNT, METRICS, RATE, SHARE, TIME, TIME_RATE


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("p99 > 10ms for 5s", "p99 > 10ms for 5s"),
        ("p99(preemption)>10 ms", "p99(preemption) > 10ms"),
        ("  P99 ( Preemption )  >=  0.01s  FOR 60s ", "p99(preemption) >= 10ms for 1m"),
        ("p999 > 1.5ms", "p99.9 > 1500us".replace("1500us", "1.5ms")),
        ("p50(cpu:1) < 100us", "p50(cpu:1) < 100us"),
        ("steal > 5% for 3s", "steal > 5% for 3s"),
        ("steal > 0.05%", "steal > 0.05%"),
        ("throttled(web.service) > 20%", "throttled(web.service) > 20%"),
        ("throttled(cgroup:web.service) > 20 %", "throttled(web.service) > 20%"),
        ("run_delay(comm:nginx) > 200ms/s for 10s", "run_delay(comm:nginx) > 200ms/s for 10s"),
        ("run_delay(nginx) > 200ms/s", "run_delay(comm:nginx) > 200ms/s"),
        ("run_delay(4711) > 200ms/s", "run_delay(4711) > 200ms/s"),
        ("run_delay(pid:4711) > 200ms/s", "run_delay(tgid:4711) > 200ms/s"),
        ("run_delay(cgroup:web.service) > 0.5s/s", "run_delay(cgroup:web.service) > 500ms/s"),
        ("slow_waits > 10/s", "slow_waits > 10/s"),
        ("queue > 4", "queue_length > 4"),
        ("busy(cpu:0) <= 99.5%", "busy(cpu:0) <= 99.5%"),
        ("p99 > 5ms and steal > 5% and busy < 90% for 2s", "p99 > 5ms and steal > 5% and busy < 90% for 2s"),
        ("queue > 4 AND steal > 5% FOR 1s", "queue_length > 4 and steal > 5% for 1s"),
        ("queue_length > 4 for 5s", "queue_length > 4 for 5s"),
        ("max(comm:kworker/1:2) > 0ns", "max(comm:kworker/1:2) > 0s"),
    ],
)
def test_condition_is_read_into_its_parts(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical
    assert parse(canonical) == parse(text)


def test_values_are_in_base_units() -> None:
    values = {
        text: parse(text).comparisons[0].value for text in ("p99>10ms", "steal>5%", "run_delay>0.5s/s", "queue>4")
    }
    assert list(values.values()) == [10_000_000, Decimal("0.05"), 500_000_000, 4]
    assert parse("p99 > 1ms for 0.5s").for_ns == 500_000_000


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("", 1, "expected what to watch, like p99 or steal, found the end"),
        ("> 5", 1, "expected what to watch, like p99 or steal, found '>'"),
        ("p98 > 10ms", 1, "'p98' cannot be watched; did you mean p99?"),
        ("p99 > 1ms and stael > 5%", 15, "'stael' cannot be watched; did you mean steal?"),
        ("run_dealy(comm:x) > 5ms/s", 1, "did you mean run_delay?"),
        ("weather > 10ms", 1, "there are p50, p90, p99"),
        ("p99", 4, "expected > or < after p99, found the end"),
        ("p99 = 10ms", 5, "expected > or < after p99, found '='"),
        ("p99 10ms", 5, "found '10ms'"),
        ("p99 >", 6, "expected a number, like 10ms, found the end"),
        ("p99 > ten", 7, "expected a number, like 10ms, found 'ten'"),
        ("p99 > -1ms", 7, "found '-'"),
        ("p99 > 10", 7, "10 needs a unit (ns, us, ms or s), like 10ms"),
        ("p99 > 10 for 5s", 7, "10 needs a unit"),
        ("p99 > 10%", 7, "p99 is compared with 10ms or the like, not with 10%"),
        ("p99 > 10parsecs", 7, "not with 10parsecs"),
        ("steal > 5", 9, "5 needs a unit (%), like 5%"),
        ("steal > 5ms", 9, "steal is compared with 5% or the like, not with 5ms"),
        ("steal > 101%", 9, "101% is more than all of it"),
        ("run_delay > 5ms", 13, "compared with 200ms/s"),
        ("run_delay > 5/s", 13, "compared with 200ms/s"),
        ("slow_waits > 5", 14, "like 10/s"),
        ("queue_length > 4ms", 16, "queue_length is a number without a unit, not 4ms"),
        ("p99 > 100h", 7, "more than a day"),
        ("p99 > 12345678901234567ns", 7, "more than 16 digits"),
        ("p99() > 1ms", 5, "expected wakeup or preemption or fork or cpu:N in the brackets"),
        ("p99(wakeup > 1ms", 17, "expected ) to end what began at column 4"),
        ("p99(nginx) > 1ms", 5, "p99 takes wakeup or preemption or fork or cpu:N, not 'nginx'; --comm"),
        ("p99(cpu:x) > 1ms", 5, "cpu:x is not a number"),
        ("p99(cpu:1,2) > 1ms", 5, "p99 takes"),
        ("max(color:red) > 1ms", 5, "'color' is not a filter"),
        ("lost(nginx) > 1/s", 6, "lost takes nothing in brackets"),
        ("throttled(a b) > 1%", 11, "a part of one cgroup's path"),
        ("p99 > 10ms for", 15, "expected how long, like 5s, found the end"),
        ("p99 > 10ms for 5", 16, "5 needs a unit (ms, s or m), like 5s"),
        ("p99 > 10ms for 5%", 16, "5% is no duration"),
        ("p99 > 10ms for 0s", 16, "up to 60m"),
        ("p99 > 10ms for 2h", 16, "up to 60m"),
        ("p99 > 10 or steal > 5%", 7, "10 needs a unit"),
        ("queue > 4 or steal > 5%", 11, "`or` is written as a second --on"),
        ("throttled(a\tb) > 1%", 11, "a part of one cgroup's path"),
        ("p99 > 10ms or steal > 5%", 12, "`or` is written as a second --on"),
        ("p99 > 10ms for 5s and steal > 5%", 19, "`for` comes last"),
        ("p99 > 10ms please", 12, "expected `and`, `for` or the end, found 'please'"),
        ("p99 > 10ms for 5s please", 19, "expected the end, found 'please'"),
        ("p99 > 1ms and", 14, "expected what to watch, like p99 or steal, found the end"),
    ],
)
def test_wrong_condition_is_explained(text: str, column: int, words: str) -> None:
    with pytest.raises(TriggerError, match=re.escape(words)) as caught:
        parse(text)
    assert caught.value.column == column
    assert str(caught.value).startswith(f"column {column}: ")
    assert "\n" not in str(caught.value)


NAMES = st.text("abcXYZ019._/-:\\@", min_size=1, max_size=12)
NUMBERS = st.integers(0, 1 << 22)
TASKS = st.one_of(
    st.builds(lambda comm: Filter(comms=(comm,)), NAMES),
    st.builds(lambda tid: Filter(tids=(tid,)), NUMBERS),
    st.builds(lambda tid, name: Filter(tgids=(tid,), cgroups=(name,)), NUMBERS, NAMES),
    st.builds(lambda number: Filter(numbers=(number,)), NUMBERS),
)
BY_KIND = {
    "kind": st.builds(lambda kind: Argument(kind=kind), st.sampled_from(("wakeup", "preemption", "fork"))),
    "cpu": st.builds(lambda cpu: Argument(cpu=cpu), NUMBERS),
    "tasks": st.builds(lambda tasks: Argument(tasks=tasks), TASKS),
    "cgroup": st.builds(lambda name: Argument(cgroup=name), NAMES.filter(lambda name: not name.startswith("cgroup:"))),
}
BY_UNIT = {
    TIME.name: st.integers(0, 10**13).map(Decimal),
    TIME_RATE.name: st.integers(0, 10**13).map(Decimal),
    SHARE.name: st.integers(0, 10**6).map(lambda parts: Decimal(parts) / 10**6),
    RATE.name: st.integers(0, 10**8).map(lambda parts: Decimal(parts) / 1000),
    COUNT.name: st.integers(0, 10**6).map(Decimal),
}


@st.composite
def comparisons(draw: st.DrawFn) -> Comparison:
    metric = draw(st.sampled_from(list(METRICS.values())))
    arguments = [st.just(Argument()), *(BY_KIND[name] for name in metric.takes)]
    operator = draw(st.sampled_from((">", ">=", "<", "<=")))
    return Comparison(metric, draw(st.one_of(arguments)), operator, draw(BY_UNIT[metric.unit.name]))


CONDITIONS = st.builds(
    lambda parts, for_ns: Condition(tuple(parts), for_ns),
    st.lists(comparisons(), min_size=1, max_size=3),
    st.one_of(st.just(0), st.integers(1, 3600 * 10**9)),
)


@given(CONDITIONS)
def test_the_text_of_a_condition_says_all_of_it(condition: Condition) -> None:
    assert parse(str(condition)) == condition


@given(st.text("p99stealmaxfor and>(10m%/):.<=5_", max_size=40))
def test_any_text_is_a_condition_or_has_a_wrong_column(text: str) -> None:
    try:
        condition = parse(text)
    except TriggerError as error:
        column = error.column
    else:
        column = 1
        assert parse(str(condition)) == condition
    assert 1 <= column <= len(text) + 1


@given(st.integers(0, 10**15))
def test_an_exact_duration_is_read_back(ns: int) -> None:
    assert parse_duration(exact_duration(ns)) == ns
