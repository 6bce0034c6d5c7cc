"""Quotas and their statistics, on trees of plain directories like v1's and v2's."""

import os
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

from schedtop.model.rows import THROTTLING_DTYPE, Rows, subtract_throttling
from schedtop.sources.host import throttling
from schedtop.sources.host.throttling import Throttling, quota_ratio


def make_v1(directory: Path, quota_us: int, period_us: int = 100_000, stat: tuple[int, int, int] = (0, 0, 0)) -> int:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "cpu.cfs_quota_us").write_text(f"{quota_us}\n")
    (directory / "cpu.cfs_period_us").write_text(f"{period_us}\n")
    text = "nr_periods {}\nnr_throttled {}\nthrottled_time {}\nnr_bursts 0\nburst_time 0\n"
    (directory / "cpu.stat").write_text(text.format(*stat))
    return directory.stat().st_ino


def make_v2(directory: Path, limit: str, stat: tuple[int, int, int] = (0, 0, 0), pressure_us: int | None = None) -> int:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "cpu.max").write_text(f"{limit}\n")
    text = "usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods {}\nnr_throttled {}\nthrottled_usec {}\nnr_bursts 0\n"
    (directory / "cpu.stat").write_text(text.format(*stat))
    if pressure_us is not None:
        text = f"some avg10=0.00 avg60=0.00 avg300=0.00 total={pressure_us}\nfull avg10=0.00 total=7\n"
        (directory / "cpu.pressure").write_text(text)
    return directory.stat().st_ino


def settings(quota_us: int, period_us: int = 100_000, burst_us: int = 0) -> tuple[int, int, int]:
    return quota_us * 1000, period_us * 1000, burst_us * 1000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(throttling.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are read, as they are."""
    names: list[str] = []
    read = throttling._read

    def record(path: str) -> bytes:
        names.append(path)
        return read(path)

    monkeypatch.setattr(throttling, "_read", record)
    return names


def test_v1_counts_nanoseconds(tmp_path: Path) -> None:
    root = make_v1(tmp_path, -1)
    job = make_v1(tmp_path / "job", 50_000, stat=(100, 40, 7_000_000))
    free = make_v1(tmp_path / "free", -1, stat=(9, 9, 9))
    reader = Throttling(tmp_path, unified=False)
    rows = reader.read({root: "/", job: "/job", free: "/free"})
    assert rows.dtype == THROTTLING_DTYPE
    assert rows.tolist() == [(job, 100, 40, 7_000_000, 0, *settings(50_000))]
    assert dict(reader.quotas()) == {job: 0.5}


def test_v2_counts_microseconds_and_pressure(tmp_path: Path) -> None:
    tmp_path.joinpath("cpu.stat").write_text("usage_usec 1\n")  # the root has no cpu.max
    job = make_v2(tmp_path / "job", "150000 100000", (100, 40, 7_000), pressure_us=55)
    (tmp_path / "job" / "cpu.max.burst").write_text("20000\n")
    quiet = make_v2(tmp_path / "quiet", "1000 100000", (1, 0, 0))
    free = make_v2(tmp_path / "free", "max 100000", pressure_us=99)
    reader = Throttling(tmp_path, unified=True)
    rows = reader.read({tmp_path.stat().st_ino: "/", job: "/job", quiet: "/quiet", free: "/free"})
    assert sorted(rows.tolist()) == sorted([
        (job, 100, 40, 7_000_000, 55_000, *settings(150_000, burst_us=20_000)),
        (quiet, 1, 0, 0, 0, *settings(1_000)),
    ])  # fmt: skip
    assert dict(reader.quotas()) == {job: 1.5, quiet: 0.01}


def test_a_quota_above_counts_too(tmp_path: Path) -> None:
    outer = make_v2(tmp_path / "a", "50000 100000", (3, 2, 1))
    make_v2(tmp_path / "a" / "b", "max 100000")
    inner = make_v2(tmp_path / "a" / "b" / "c", "max 100000")
    assert Throttling(tmp_path, unified=True).read({inner: "/a/b/c"}).tolist() == [
        (outer, 3, 2, 1000, 0, *settings(50_000))
    ]


def test_throttling_without_groups_has_no_rows(tmp_path: Path) -> None:
    assert len(Throttling(None, unified=True).read({1: "/"})) == 0
    assert len(Throttling(tmp_path / "absent", unified=True).read({1: "/", 2: "/x"})) == 0
    assert len(Throttling(tmp_path, unified=False).read({})) == 0


def test_statistics_are_read_each_time_but_quotas_now_and_then(
    tmp_path: Path, clock: list[float], opened: list[str]
) -> None:
    job = make_v1(tmp_path / "job", 50_000)
    free = make_v1(tmp_path / "free", -1)
    groups = MappingProxyType({job: "/job", free: "/free"})
    reader = Throttling(tmp_path, unified=False)
    reader.read(groups)
    opened.clear()
    make_v1(tmp_path / "job", 50_000, stat=(1, 1, 1))
    make_v1(tmp_path / "free", 10_000)
    assert reader.read(groups).tolist() == [(job, 1, 1, 1, 0, *settings(50_000))]
    assert [os.path.basename(name) for name in opened] == ["cpu.stat"]
    clock[0] += throttling.RECHECK_S
    make_v1(tmp_path / "job", -1)
    assert reader.read(groups)["cgroup_id"].tolist() == [free]
    assert dict(reader.quotas()) == {free: 0.1}


def test_quota_of_a_throttled_group_is_looked_at_each_second(
    tmp_path: Path, clock: list[float], opened: list[str]
) -> None:
    job = make_v1(tmp_path / "job", 155_000)
    reader = Throttling(tmp_path, unified=False)
    reader.read({job: "/job"})
    make_v1(tmp_path / "job", 30_000)
    clock[0] += throttling.THROTTLED_RECHECK_S
    opened.clear()
    assert reader.read({job: "/job"}).tolist() == [(job, 0, 0, 0, 0, *settings(155_000))], "it is not throttled"
    assert [os.path.basename(name) for name in opened] == ["cpu.stat"]
    make_v1(tmp_path / "job", 30_000, stat=(10, 10, 700))
    assert reader.read({job: "/job"}).tolist() == [(job, 10, 10, 700, 0, *settings(30_000))]
    make_v1(tmp_path / "job", 20_000, stat=(20, 20, 1400))
    assert reader.read({job: "/job"}).tolist() == [(job, 20, 20, 1400, 0, *settings(30_000))], "a moment ago"
    make_v1(tmp_path / "job", -1, stat=(30, 30, 2100))
    clock[0] += throttling.THROTTLED_RECHECK_S
    assert reader.read({job: "/job"}).tolist() == []


def test_a_group_that_is_gone_is_skipped(tmp_path: Path, clock: list[float]) -> None:
    ids = {make_v1(tmp_path / name, 50_000): f"/{name}" for name in "ab"}
    reader = Throttling(tmp_path, unified=False)
    assert len(reader.read(ids)) == 2
    (tmp_path / "a" / "cpu.stat").unlink()
    assert [ids[cgroup] for cgroup in reader.read(ids)["cgroup_id"].tolist()] == ["/b"]
    rest = {cgroup: path for cgroup, path in ids.items() if path == "/a"}
    assert len(reader.read(rest)) == 0
    assert not reader.quotas()


def test_a_later_group_of_the_same_name_is_another_one(tmp_path: Path) -> None:
    job = make_v1(tmp_path / "job", 50_000)
    gone = job + 1_000_000
    assert Throttling(tmp_path, unified=False).read({gone: "/job", job: "/job"})["cgroup_id"].tolist() == [job]


def test_twenty_thousand_groups_are_looked_at_bit_by_bit(tmp_path: Path, clock: list[float], opened: list[str]) -> None:
    last = make_v1(tmp_path / "last", 50_000)
    groups = {10**9 + number: f"/absent{number}" for number in range(20_000)} | {last: "/last"}
    reader = Throttling(tmp_path, unified=False)
    found = []
    for _ in range(20_001 // throttling.MOST_CHECKS + 1):
        opened.clear()
        found = reader.read(groups)["cgroup_id"].tolist()
        assert len(opened) <= throttling.MOST_CHECKS + 3
        clock[0] += 0.1
    assert found == [last]
    clock[0] = 1000.0 + throttling.RECHECK_S - 0.1
    opened.clear()
    reader.read(groups)
    assert [os.path.basename(name) for name in opened] == ["cpu.stat"]


def test_throttling_leaves_out_some_of_very_many_quotas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttling, "MOST_QUOTAS", 3)
    groups = {make_v1(tmp_path / f"job{number}", 50_000): f"/job{number}" for number in range(5)}
    reader = Throttling(tmp_path, unified=False)
    first = reader.read(groups)["cgroup_id"].tolist()
    assert (len(first), reader.read(groups)["cgroup_id"].tolist()) == (3, first)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("50000 100000", 0.5), ("max 100000", None), ("", None), ("x y", None), ("5 0", None), ("0 100000", None)],
)
def test_quotas_of_v2(limit: str, expected: float | None, tmp_path: Path) -> None:
    make_v2(tmp_path, limit)
    assert quota_ratio(str(tmp_path), unified=True) == expected


@pytest.mark.parametrize(
    ("quota", "period", "expected"),
    [(400_000, 100_000, 4.0), (10_000, 40_000, 0.25), (-1, 100_000, None), (0, 100_000, None), (5, 0, None)],
)
def test_quotas_of_v1(quota: int, period: int, expected: float | None, tmp_path: Path) -> None:
    make_v1(tmp_path, quota, period)
    assert quota_ratio(str(tmp_path), unified=False) == expected


def rows_of(*rows: tuple[int, int, int, int, int], quota_us: int = 5) -> Rows:
    return np.array([(*row, *settings(quota_us)) for row in rows], THROTTLING_DTYPE)


def test_a_difference_has_only_what_was_seen_twice() -> None:
    earlier = rows_of((5, 10, 1, 100, 7), (3, 20, 2, 200, 8), (9, 1, 1, 1, 1))
    later = rows_of((3, 25, 2, 200, 9), (7, 99, 99, 99, 99), (5, 11, 2, 150, 7), quota_us=6)
    expected = [(3, 5, 0, 0, 1, *settings(6)), (5, 1, 1, 50, 0, *settings(6))]
    assert subtract_throttling(earlier, later).tolist() == expected


def test_a_difference_is_never_negative() -> None:
    assert subtract_throttling(rows_of((3, 25, 9, 900, 9)), rows_of((3, 1, 0, 0, 10))).tolist() == [
        (3, 0, 0, 0, 1, *settings(5))
    ]


@pytest.mark.parametrize("rows", [rows_of(), rows_of((3, 1, 1, 1, 1))])
def test_a_difference_with_nothing_is_nothing(rows: Rows) -> None:
    empty = rows_of()
    assert len(subtract_throttling(empty, rows)) == len(subtract_throttling(rows, empty)) == 0
    assert subtract_throttling(rows, empty).dtype == THROTTLING_DTYPE
