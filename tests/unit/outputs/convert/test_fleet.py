"""What docs/fleet.md says of many hosts: its columns are those of the files, its queries answer what it says."""

import importlib.util
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: `make test` installs it")
pytest.importorskip("duckdb", reason="duckdb is not installed: `make test` installs it")

from schedtop.base.histogram import HIGH_NS, Histogram
from schedtop.base.units import NS_PER_S
from schedtop.commands.convert import run
from schedtop.model.frame import merge
from schedtop.outputs.convert.columns import COMMON, TABLES
from schedtop.run.signals import Signals
from tests import ROOT
from tests.unit.outputs.convert.engines import Answer, Ask, clickhouse_over, duckdb_over, sqlite_over
from tests.unit.outputs.convert.fleet import FLEET, record_fleet

PAGE = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")
QUERIES = dict(re.findall(r"^#### (.*?)\n\n```sql\n(.*?)\n```", PAGE, re.M | re.S))
RESULTS = dict(re.findall(r"^#### (.*?)\n\n```sql\n.*?\n```\n\n```text\n(.*?)\n```", PAGE, re.M | re.S))


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("recordings")
    target = tmp_path_factory.mktemp("fleet")
    options = {"output": str(target), "table": None, "partition": ("host", "date"), "force": False}
    assert run(Signals(), record_fleet(directory), options) == 0
    return target


@pytest.fixture(scope="module")
def duckdb(fleet: Path) -> Ask:
    return duckdb_over(fleet)


@pytest.fixture(scope="module")
def sqlite(fleet: Path) -> Ask:
    return sqlite_over(fleet)


def text_of(answer: Answer) -> str:
    lines = [answer[0], *([str(value) for value in row] for row in answer[1])]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def same(one: Answer, other: Answer) -> None:
    assert one[0] == other[0]
    assert len(one[1]) == len(other[1])
    for row, beside in zip(one[1], other[1], strict=True):
        # Sums of floating point, which are rounded, may differ in the last digit.
        assert list(row) == [pytest.approx(value, abs=0.11, rel=1e-3) if isinstance(value, float) else value
                             for value in beside]  # fmt: skip


@pytest.mark.parametrize("title", QUERIES)
def test_query_gives_what_the_page_says_on_two_engines(duckdb: Ask, sqlite: Ask, title: str) -> None:
    answer = duckdb(QUERIES[title])
    assert answer[1], "a query over the fleet has no answer"
    same(answer, sqlite(QUERIES[title]))
    assert text_of(answer) == RESULTS[title]


@pytest.mark.skipif(importlib.util.find_spec("chdb") is None, reason="chdb (600 MB) is not installed: pip install chdb")
def test_clickhouse_gives_the_same_answers(duckdb: Ask, fleet: Path) -> None:
    ask = clickhouse_over(fleet)
    for title, query in QUERIES.items():
        assert ask(query)[1], title
        same(duckdb(query), ask(query))


def test_percentiles_are_those_of_the_histograms(duckdb: Ask) -> None:
    """Of all waits of a kernel, added up by our own code from the Frames that were recorded."""
    for kernel, waits, p50_ms, p99_ms in duckdb(QUERIES["p99 by kernel version"])[1]:
        frames = [frame for made in FLEET for day in made.days for frame in made.frames(day) if made.kernel == kernel]
        whole = sum((frame.latency.histogram() for frame in frames), Histogram.empty())
        assert waits == whole.count
        for value, ratio in ((p50_ms, 0.5), (p99_ms, 0.99)):
            edges = {high: low for low, high in pairwise((0, *HIGH_NS.tolist()))}
            high = next(high for high in edges if round(high / 1e6, 3 if ratio == 0.5 else 2) == value)
            assert edges[high] <= (whole.percentile_ns(ratio) or 0) < high


def test_costs_are_the_sum_of_all_pairs(duckdb: Ask) -> None:
    frames = [frame for made in FLEET for day in made.days for frame in made.frames(day)]
    blocked = sum(int(frame.pairs["blocked_ns"].sum()) for frame in frames)
    assert duckdb("SELECT sum(blocked_ns) FROM pairs")[1] == [(blocked,)]
    delay = sum(int(frame.tasks["run_delay_ns"].sum()) for frame in frames)
    assert duckdb("SELECT sum(run_delay_ns) FROM tasks")[1] == [(delay,)]
    web = next(made for made in FLEET if made.name == "web-2")
    frame = merge(web.frames(0))
    steal = int(frame.cpus.column("steal_ns").sum())
    for table in ("intervals", "cpus"):
        assert duckdb(f"SELECT sum(steal_ns) FROM {table} WHERE host = 'web-2'")[1] == [(steal,)]
    slow = duckdb("SELECT count(*), sum(wait_ns), sum(blocker_ns) FROM waits WHERE host = 'web-2'")[1]
    waits = frame.slow_waits
    assert slow == [(len(waits), waits["wait_ns"].sum(), waits["blocker_ns"][:, 0].sum())]


def test_every_row_says_which_host_boot_and_day_it_is_of(duckdb: Ask) -> None:
    for table in TABLES:
        found = duckdb(f"SELECT DISTINCT host, boot_id, kernel, date FROM {table}")[1]
        wanted = {
            (made.name, made.boot(day), made.kernel, "2026-09-21" if day == 0 else "2026-09-22")
            for made in FLEET
            for day in made.days
        }
        assert set(found) == wanted, table
    first = duckdb("SELECT min(epoch_ns(start_time)), min(interval_ns) FROM intervals")[1]
    assert first == [(FLEET[0].frames(0)[0].start_time_ns, NS_PER_S)]


def test_partitions_are_read_as_hive_lays_them(fleet: Path) -> None:
    import duckdb

    # Host and date come from the directories here; the odd name survives the way there and back.
    found = duckdb.sql(
        f"SELECT DISTINCT host, CAST(date AS VARCHAR) FROM "
        f"read_parquet('{fleet}/intervals/**/*.parquet', hive_partitioning = true) WHERE date = '2026-09-21'"
    ).fetchall()
    assert set(found) == {(made.name, "2026-09-21") for made in FLEET}
    assert {path.name for path in (fleet / "intervals").iterdir()} == {
        "host=web-1", "host=web-2", "host=web-3", "host=db-1", "host=db-2", "host=%2E.%2Fodd%20host%25"
    }  # fmt: skip


@pytest.mark.parametrize("table", ["", *TABLES])
def test_page_has_the_columns_of_a_table(table: str) -> None:
    start = f"`{table}` has a row for each" if table else "Each row of each table begins with"
    section = PAGE[PAGE.index(start) :].split("\n\n")[1]
    listed: dict[str, Any] = {}
    for names, kind in re.findall(r"^\| (`[^|]*`) \| (\w+) \|", section, re.M):
        listed |= dict.fromkeys(re.findall(r"`(\w+)`", names), kind)
    assert listed == dict(TABLES[table] if table else COMMON)
