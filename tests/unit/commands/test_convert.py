"""`schedtop convert` as a user starts it: one table in one file, what is in the way, and without pyarrow."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: `make test` installs it")

import pyarrow.parquet as pq

from tests import ROOT
from tests.unit.commands.running import run_in

RECORDING = ROOT / "screenshots" / "recordings" / "contention.rec.gz"


def test_one_table_of_one_recording_is_a_file_and_the_same_each_time(tmp_path: Path) -> None:
    for name in ("a.parquet", "b.parquet"):
        done = run_in(tmp_path, "convert", str(RECORDING), "--table", "waits", "-o", name)
        assert (done.returncode, done.stdout) == (0, "")
        assert f"{RECORDING}: " in done.stderr and " rows in 1 file, " in done.stderr
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    rows = pq.ParquetFile(tmp_path / "a.parquet").read()
    assert rows.num_rows > 100
    assert set(rows.column("host").to_pylist()) == {"demo"}
    # Recordings of older versions do not tell the boot.
    assert set(rows.column("boot_id").to_pylist()) == {None}


def test_a_file_that_is_there_stays_without_force(tmp_path: Path) -> None:
    once = ("convert", str(RECORDING), "-o", "fleet")
    assert run_in(tmp_path, *once).returncode == 0
    files = {path: path.read_bytes() for path in (tmp_path / "fleet").rglob("*.parquet")}
    assert {path.parent.name for path in files} == {
        "intervals", "cpus", "latency", "tasks", "waits", "pairs", "throttling"
    }  # fmt: skip
    again = run_in(tmp_path, *once)
    assert again.returncode == 1
    assert "it exists (--force overwrites it)" in again.stderr and again.stderr.count("\n") == 1
    assert run_in(tmp_path, *once, "--force").returncode == 0
    assert {path: path.read_bytes() for path in (tmp_path / "fleet").rglob("*.parquet")} == files


def test_a_cut_off_recording_is_converted_as_far_as_it_goes(tmp_path: Path) -> None:
    lines = gzip.decompress(RECORDING.read_bytes()).splitlines(keepends=True)
    (tmp_path / "cut.rec").write_bytes(b"".join(lines[:4]) + lines[4][:100])
    done = run_in(tmp_path, "convert", "cut.rec", "-o", "i.parquet", "--table", "intervals")
    assert done.returncode == 0
    assert "cut.rec: " in done.stderr and "it was not closed" in done.stderr
    assert pq.ParquetFile(tmp_path / "i.parquet").read().num_rows == 3


@pytest.mark.parametrize(("arguments", "status", "why"), [
    (["nothing.rec", "-o", "fleet"], 1, "cannot read nothing.rec: no such file"),
    ([str(RECORDING), "-o", "no/where/at/all"], 1, "there is no such directory"),
    ([str(RECORDING), "-o", "fleet", "--partition", "host,day"], 2, "'day' is not one of host, date, kernel, boot_id"),
    ([str(RECORDING), "-o", "fleet", "--partition", "host,host"], 2, "has a word twice"),
])  # fmt: skip
def test_what_is_wrong_is_one_line(tmp_path: Path, arguments: list[str], status: int, why: str) -> None:
    done = run_in(tmp_path, "convert", *arguments)
    assert (done.returncode, done.stderr.count("\n")) == (status, 1)
    assert why in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_pyarrow_one_line_names_the_extra(tmp_path: Path) -> None:
    code = "import sys; sys.modules['pyarrow'] = None; from schedtop.__main__ import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "convert", str(RECORDING), "-o", "fleet"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "convert needs pyarrow, which is not installed: pip install 'schedtop[parquet]'" in done.stderr
    assert done.stderr.count("\n") == 1
