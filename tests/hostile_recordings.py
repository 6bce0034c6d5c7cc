"""Small recordings and snapshots that would take gigabytes to read, for tests and the fuzzer's seeds."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from typing import Any

from tests.fuzz.make_seeds import lines, saved_text

LINES = lines()
LINE = json.loads(LINES[1])
MOST_FILE_BYTES = 10_000_000


def _text(line: Any) -> str:
    return line if isinstance(line, str) else json.dumps(line, separators=(",", ":")) + "\n"


def interval(number: int, **fields: Any) -> str:
    """The line of interval `number`: parts, or fields of its beginning, in place of the usual ones."""
    beginning = {key: fields.pop(key) for key in ("end_ns", "cgroups") if key in fields}
    times = {"start_time_ns": 10**18 + number * 10**9, "end_ns": 10**9 * (number + 1)}
    return _text(LINE | {"interval": LINE["interval"] | times | beginning} | fields)


def packed(*lines: str) -> bytes:
    """A recording, a gzip member for each line."""
    return b"".join(gzip.compress(line.encode(), 3, mtime=0) for line in (LINES[0], *lines))


def whole(lines: Iterable[str]) -> bytes:
    """A recording that was packed as a whole."""
    return gzip.compress("".join((LINES[0], *lines)).encode(), 6, mtime=0)


def _beside(line: str, value: str) -> str:
    """The line with a value under a key that is not known."""
    return f'{line.rstrip()[:-1]},"later":{value}}}\n'


def long_name() -> bytes:
    """A task's name of 3 MB, beside 300 short ones."""
    names = ["x" * 3_000_000] + ["y"] * 299
    return packed(interval(0, tasks={"rows": 300, "tid": list(range(300)), "comm": names}))


def long_text_for_a_number() -> bytes:
    """Text of 3 MB where numbers belong."""
    return packed(interval(0, tasks={"rows": 300, "tid": ["1" * 3_000_000] + ["1"] * 299}))


def long_cgroups() -> bytes:
    """Names of cgroups of 100,000 characters each, 20 in each interval."""
    return packed(*(
        interval(number, cgroups={str(number * 20 + at): f"/{number}-{at}" + "x" * 100_000 for at in range(20)})
        for number in range(120)
    ))  # fmt: skip


def cgroups_within_bounds() -> bytes:
    """Names of cgroups of 4,000 characters each, 250,000 of them."""
    return packed(*(
        interval(number, cgroups={str(number * 500 + at): f"/{number}-{at}" + "x" * 4000 for at in range(500)})
        for number in range(500)
    ))  # fmt: skip


def long_events() -> bytes:
    """Events with texts of a megabyte."""
    event = {"event": {"end_ns": 5, "kind": "note", "text": "x" * 1_000_000}}
    return packed(interval(0), *[_text(event)] * 400)


def events_within_bounds() -> bytes:
    """A million events of 4,000 characters."""
    event = _text({"event": {"end_ns": 5, "kind": "note", "text": "x" * 4000}})
    return packed(interval(0), *[event] * 60_000)


def event_of_lists() -> bytes:
    """An event whose text is nested lists."""
    return packed(interval(0), *[_text({"event": {"end_ns": 5, "kind": "note", "text": [[[]] * 300_000]}})] * 40)


def nested_lists() -> bytes:
    """Empty lists under a key that is not known."""
    return packed(_beside(interval(0), "[" + "[]," * 17_000_000 + "[]]"))


def nested_objects() -> bytes:
    """Small objects under a key that is not known, in a line that is not too long."""
    return packed(*(_beside(interval(number), "[" + '{"":0},' * 1_150_000 + "0]") for number in range(3)))


def deep_lists() -> bytes:
    """Lists in lists in lists."""
    return packed(interval(0), _beside(interval(1), "[" * 4_000_000 + "]" * 4_000_000))


def many_keys() -> bytes:
    """Keys of all kinds in an object that is not known."""
    return packed(_beside(interval(0), "{" + ",".join(f'"{number}":0' for number in range(700_000)) + "}"))


def unavailable_keys() -> bytes:
    """Parts that are not available, very many, with long reasons."""
    return packed(*(
        interval(number, unavailable={str(at): "x" * 700 for at in range(10_000)}) for number in range(30)
    ))  # fmt: skip


def huge_numbers() -> bytes:
    """Numbers of ten thousand digits, and numbers without end."""
    digits = "9" * 10_000
    return packed(
        interval(0),
        _beside(interval(1), f"[{','.join([digits] * 700)}]"),
        interval(2).replace('"kernel_switches":', f'"kernel_switches":{digits},"x":'),
        interval(3).replace('"hz":', '"hz":1e400,"x":'),
    )


def long_numbers() -> bytes:
    """Short intervals with counts of four thousand digits."""
    digits = int("9" * 4000)
    loss = dict.fromkeys(("ring_dropped", "late_ticks", "ends_unseen"), digits)
    return packed(*(interval(0, end_ns=10**9 + at, loss=loss, kernel_switches=digits) for at in range(1000)))


def long_cgroup_numbers() -> bytes:
    """Names of cgroups whose ids have four thousand digits."""
    return packed(*(
        interval(at, cgroups={f"{at:04}{group:04}" + "9" * 4000: "/" for group in range(1000)}) for at in range(100)
    ))  # fmt: skip


def rows_below_zero() -> bytes:
    """Millions of tasks beside less than no pairs."""
    tasks = {"rows": 4_000_000, "tid": [0] * 4_000_000}
    return packed(interval(0), interval(1, tasks=tasks, pairs={"rows": -5_000_000, "waits": []}))


def long_kinds() -> bytes:
    """Short intervals with histograms by something whose name has seven million letters."""
    groups = {"kind": "x" * 7_000_000, "ids": [], "sum_ns": [], "counts": [[], []]}
    return packed(*[interval(0, end_ns=10**9 + at, groups=groups) for at in range(60)])


def changing_cgroups() -> bytes:
    """Short intervals that each name the same thousand cgroups anew."""
    return packed(*(
        interval(0, end_ns=10**9 + at, cgroups={str(group): f"/{at}" + "x" * 4000 for group in range(1000)})
        for at in range(100)
    ))  # fmt: skip


def many_rows() -> bytes:
    """Rows of which one column of zeros is told."""
    rows = {"rows": 4_000_000, "tid": [0] * 4_000_000}
    return packed(interval(0), interval(1, tasks=rows), interval(2, slow_waits=rows))


def most_rows() -> bytes:
    """As many rows as there may be in every table, in each of twenty intervals."""
    tasks = {"rows": 90_000, "tid": list(range(90_000)), "start_ns": [0] * 90_000}
    waits = {"rows": 30_000, "tid": [1] * 30_000, "wait_ns": [10**7] * 30_000}
    pairs = {"rows": 60_000, "victim_tid": list(range(60_000)), "waits": [1] * 60_000}
    return packed(*(interval(at, tasks=tasks, slow_waits=waits, pairs=pairs) for at in range(20)))


def _cpus(count: int, lengths: int, buckets: int = 0) -> dict[str, Any]:
    zeros = [0] * count
    told = [[1] + [1000] * (buckets - 1), [1] * buckets] if buckets else [[], []]
    return {
        "cpus": {"counters": dict.fromkeys(LINE["cpus"]["counters"], zeros), "online": [0], "queue_length": zeros},
        "latency": {"counts": told, "sum_ns": [zeros] * 3, "max_ns": [zeros] * 3},
        "queue": LINE["queue"]
        | {"lengths": lengths, "counts": [[], []], "sums": [zeros] * 2, "longest": [zeros] * 2}
        | dict.fromkeys(("samples", "expected", "slept"), zeros),
    }


def many_cpus() -> bytes:
    """Sixteen thousand CPUs with queues of 512 places each, all of them idle."""
    line = _cpus(16_000, 512)
    return packed(*(interval(number, **line) for number in range(20)))


def most_cpus() -> bytes:
    """Eight thousand CPUs, in each of 70 intervals."""
    line = _cpus(8_000, 30, 6000)
    return packed(*(interval(number, **line) for number in range(70)))


def most_groups() -> bytes:
    """As many groups as there may be, all of which waited."""
    count = 16_000
    told = [[5] + [274] * (count - 1), [1] * count]
    groups = {"kind": "tid", "ids": list(range(count)), "sum_ns": [5] * count, "counts": told}
    return packed(*(interval(number, groups=groups) for number in range(20)))


def many_groups() -> bytes:
    """Histograms of very many groups, without a wait."""
    groups = {"kind": "tid", "ids": list(range(65_000)), "sum_ns": [0] * 65_000, "counts": [[], []]}
    return packed(*(interval(number, groups=groups) for number in range(30)))


def short_intervals() -> bytes:
    """Very many intervals of a nanosecond, packed as a whole."""
    line = _text({"interval": LINE["interval"] | {"end_ns": "END", "interval_ns": 1, "cgroups": {}}})
    return whole(line.replace('"END"', str(number + 1)) for number in range(1_040_000))


def whole_intervals() -> bytes:
    """1,500 intervals that can be read, each with tasks of its own, within a second."""
    tasks = {"rows": 500, "start_ns": [5] * 500, "run_delay_ns": [5] * 500}
    return packed(*(
        interval(0, end_ns=number + 10**9, tasks=tasks | {"tid": [number * 500 + at for at in range(500)]})
        for number in range(1500)
    ))  # fmt: skip


def much_packed() -> bytes:
    """A quarter of a gigabyte of spaces, packed as a whole."""
    return packed(interval(0)) + gzip.compress(b" " * (250 << 20)) + packed(interval(1))


def much_packed_lines() -> bytes:
    """A quarter of a gigabyte of lines, packed as a whole."""
    line = interval(0)
    return whole([line] * ((250 << 20) // len(line)))


def damaged_lines() -> bytes:
    """Many damaged lines."""
    return packed(interval(0)) + gzip.compress(b"{\n" * 60_000)


def long_header() -> bytes:
    """A header with notes and triggers without end."""
    head = json.loads(LINES[0])
    head["triggers"] = ["x" * 100] * 70_000
    head["host"]["notes"] = [[[]] * 100_000] * 3
    return gzip.compress(_text(head).encode()) + packed(interval(0))


def long_line() -> bytes:
    """A plain recording with a line of ten million bytes that never ends."""
    return (LINES[0] + interval(0) + '{"interval":' + "[" * 9_900_000).encode()


RECORDINGS: dict[str, Callable[[], bytes]] = {
    make.__name__: make
    for make in (
        *(long_name, long_text_for_a_number, long_cgroups, cgroups_within_bounds, long_events, events_within_bounds),
        *(event_of_lists, nested_lists, nested_objects, deep_lists, many_keys, unavailable_keys, huge_numbers),
        *(long_numbers, long_cgroup_numbers, rows_below_zero, long_kinds, changing_cgroups),
        *(many_rows, most_rows, many_cpus, most_cpus, many_groups, most_groups, short_intervals, whole_intervals),
        *(much_packed, much_packed_lines, damaged_lines, long_header, long_line),
    )
}


def _snapshot(**fields: Any) -> bytes:
    return json.dumps(json.loads(saved_text()) | fields).encode()


def _snapshot_beside(value: str) -> bytes:
    return f'{saved_text().rstrip()[:-1]},"later":{value}}}'.encode()


def _fill(item: str) -> str:
    return "[" + item * ((MOST_FILE_BYTES - 100_000) // len(item)) + "0]"


SNAPSHOTS: dict[str, Callable[[], bytes]] = {
    "snapshot_of_lists": lambda: _snapshot_beside(_fill("[],")),
    "snapshot_of_objects": lambda: _snapshot_beside(_fill('{"":0},')),
    "snapshot_of_numbers": lambda: _snapshot_beside(_fill("1e9,")),
    "snapshot_of_text": lambda: _snapshot_beside(_fill('"",')),
    "snapshot_of_wide_text": lambda: _snapshot_beside('"\\ud83d\\ude00' + "x" * 9_900_000 + '"'),
    "snapshot_of_keys": lambda: _snapshot_beside("{" + ",".join(f'"{at:x}":0' for at in range(900_000)) + "}"),
    "snapshot_of_rows": lambda: _snapshot(tasks=[{}] * 2_400_000),
    "snapshot_of_depth": lambda: _snapshot_beside("[" * 4_900_000 + "]" * 4_900_000),
    "snapshot_of_digits": lambda: _snapshot_beside("9" * 9_000_000),
    "snapshot_of_lists_to_multiply": lambda: _snapshot(totals={"switches": [0], "wakeups": "x"}),
    "snapshot_of_groups": lambda: _snapshot(groups=[{"x" * 10: [{}] * 20}] * 100_000),
}
