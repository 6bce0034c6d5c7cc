"""When conditions fire: how long they must hold, when they may fire again, and what is said of what cannot be."""

from __future__ import annotations

from collections.abc import Iterable

from schedtop.base.units import NS_PER_S
from schedtop.model.frame import Frame, merge
from schedtop.triggers.grammar import parse
from schedtop.triggers.watch import Fired, Watch
from tests.unit.triggers.frames import START_NS, cpus, frame, p99_frames, tasks


def fired_at(watch: Watch, frames: Iterable[Frame]) -> list[int]:
    """The numbers of the seconds at whose end something fired."""
    return [event.end_ns // NS_PER_S for one in frames for event in watch.feed(one)]


def watch(*texts: str) -> Watch:
    return Watch([parse(text) for text in texts])


def test_trigger_without_for_fires_after_one_interval() -> None:
    assert fired_at(watch("p99 > 10ms"), p99_frames([1, 20, 1])) == [2]


def test_trigger_with_for_needs_every_interval() -> None:
    assert fired_at(watch("p99 > 10ms for 3s"), p99_frames([20, 20, 1, 20, 20, 20, 20])) == [6]


def test_three_nearly_whole_seconds_are_three_seconds_but_two_are_not() -> None:
    short = p99_frames([20] * 4, interval_ns=NS_PER_S * 999 // 1000)
    counts = [len(watch("p99 > 10ms for 3s").feed(merge(short[:n]))) for n in (2, 3)]
    assert counts == [0, 1]
    one = watch("p99 > 10ms for 3s")
    assert [len(one.feed(part)) for part in short] == [0, 0, 1, 0]


def test_trigger_fires_once_however_long_it_holds() -> None:
    assert fired_at(watch("p99 > 10ms"), p99_frames([20] * 100)) == [1]


def test_trigger_fires_again_after_it_was_false_and_the_pause_is_over() -> None:
    assert fired_at(watch("p99 > 10ms"), p99_frames([20, 1] * 20)) == [1, 11, 21, 31]
    assert fired_at(watch("p99 > 10ms"), p99_frames([20, *[1] * 20, 20])) == [1, 22]
    # It came true again within the pause and stays so.
    assert fired_at(watch("p99 > 10ms"), p99_frames([20, 1, *[20] * 20])) == [1, 11]


def test_trigger_needs_all_comparisons_at_once() -> None:
    frames = p99_frames([20, 1, 20])
    stolen = cpus(steal_ns=(NS_PER_S // 5, 0))
    given = [frames[0], frame(1, cpus=stolen), frame(2, cpus=stolen, latency=frames[2].latency)]
    both = watch("p99 > 10ms and steal > 5%")
    (event,) = [event for one in given for event in both.feed(one)]
    assert event.end_ns == 3 * NS_PER_S
    assert event.values_text.startswith("p99 = 19.9 ms")
    assert event.values_text.endswith("steal = 10.0 %")


def test_conditions_do_not_disturb_each_other() -> None:
    pair = watch("p99 > 10ms", "p99 > 30ms")
    events = [(event.number, event.end_ns // NS_PER_S) for one in p99_frames([20, 40]) for event in pair.feed(one)]
    assert events == [(0, 1), (1, 2)]


def test_firing_has_its_time_and_values() -> None:
    one = watch("p99 > 10ms for 2s")
    (event,) = [event for part in p99_frames([20, 20]) for event in one.feed(part)]
    assert isinstance(event, Fired)
    assert (event.time_ns, event.end_ns, event.held_ns) == (START_NS + 2 * NS_PER_S, 2 * NS_PER_S, 2 * NS_PER_S)
    time, condition, values = event.line.split("\t")
    assert (time, condition) == ("2026-09-21T14:13:22.000000Z", "p99 > 10ms for 2s")
    assert values == "p99 = 19.9 ms"


def test_trigger_without_waits_does_not_fire() -> None:
    assert not fired_at(watch("p99 > 10ms", "p99 < 10ms"), [frame(number) for number in range(3)])


def test_a_gap_starts_anew() -> None:
    late = p99_frames([20, 20], first=60)
    assert fired_at(watch("p99 > 10ms for 3s"), [*p99_frames([20, 20]), *late]) == []
    assert fired_at(watch("p99 > 10ms"), [*p99_frames([20]), *late]) == [1, 61]
    # A replay that goes back.
    assert fired_at(watch("p99 > 10ms"), [*late, *p99_frames([20])]) == [61, 1]


def test_trigger_on_an_unavailable_metric_never_fires_and_is_reported_once() -> None:
    given = [frame(number, unavailable={"steal": "this host does not tell"}) for number in range(3)]
    one = watch("steal > 1%", "steal < 1% for 1s")
    assert not fired_at(one, given)
    assert one.notices() == ["steal: not available: this host does not tell"]
    assert not fired_at(one, [given[-1]])
    assert one.notices() == []


def test_metric_that_becomes_unavailable_is_neither_false_nor_true() -> None:
    frames = p99_frames([20] * 30)
    frames[15] = frame(15, unavailable={"latency": "gone"})
    assert fired_at(watch("p99 > 10ms"), frames) == [1]


def test_a_name_that_nothing_has_is_said_once_after_a_while() -> None:
    one = watch("run_delay(comm:ngnix) > 1ms/s")
    said = []
    for number in range(30):
        one.feed(frame(number))
        said += [(number, notice) for notice in one.notices()]
    assert said == [(9, "run_delay(comm:ngnix): nothing there yet; it is still watched for")]


def test_a_name_that_was_seen_once_is_not_missed() -> None:
    one = watch("run_delay(comm:nginx) > 1ms/s")
    one.feed(frame(0, tasks=tasks({"tid": 1, "comm": b"nginx"})))
    for number in range(1, 30):
        one.feed(frame(number))
    assert one.notices() == []


def test_the_same_frames_fire_the_same() -> None:
    frames = p99_frames([1, 20, 20, 20, 1, 5, 20, 30, 1] * 5)
    texts = ("p99 > 10ms for 2s", "max > 25ms", "p99 < 10ms")
    one, other = watch(*texts), watch(*texts)
    assert [one.feed(part) for part in frames] == [other.feed(part) for part in frames]
