"""Tables as Parquet files: TABLE/[host=.../date=.../]RECORDING.parquet below a directory, or one table in one file.

A file is written beside, in temporary space, until it is whole: a recording of any length takes the memory of one row
group for each table.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from schedtop.base.invoker import as_invoker
from schedtop.outputs.convert.columns import COMMON, TABLES
from schedtop.outputs.convert.rows import ROWS, Interval, Values, common_values
from schedtop.outputs.files import OutputError, check_target, reason, write_file

GROUP_ROWS = 1 << 16
"""Of so many rows a row group is made: 20 MB of the table with most columns."""

_PIECE = 1 << 20
_MOST_CHARS = 64
"""Of a name in a path: HOST_NAME_MAX; what is in a file may be anything."""

_KINDS = {
    "int": pa.int64(),
    "text": pa.string(),
    "time": pa.timestamp("us", tz="UTC"),
    "day": pa.date32(),
    "flag": pa.bool_(),
}

PARTITIONS = ("host", "date", "kernel", "boot_id")
"""By what files can be laid into directories, as Hive does it."""


def schema_of(table: str) -> pa.Schema:
    """The columns of a table."""
    return pa.schema([(name, _KINDS[kind]) for name, kind in {**COMMON, **TABLES[table]}.items()])


@dataclass(slots=True)
class _Table:
    """A file that is being made of a table: rows of one day, or of all."""

    name: str
    path: Path
    spool: IO[bytes]
    writer: Any
    batches: list[Any] = field(default_factory=list)
    rows: int = 0
    written: int = 0

    def add(self, batch: Any) -> None:
        self.batches.append(batch)
        self.rows += batch.num_rows
        if self.rows >= GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        if self.batches:
            self.writer.write_table(pa.Table.from_batches(self.batches).combine_chunks())
            self.written += self.rows
            self.batches, self.rows = [], 0


@dataclass(frozen=True, slots=True)
class Written:
    """A file that was made."""

    path: Path
    rows: int
    bytes: int


class ParquetWriter:
    """Takes the intervals of one recording in order, and makes the files of its tables at the end.

    `place`: where the file of a table goes, by table and day. Raises OutputError; nothing is there before `finish`.
    """

    def __init__(self, tables: Sequence[str], place: Callable[[str, date], Path], *, force: bool = False) -> None:
        self._tables, self._place, self._force = tables, place, force
        self._open: dict[Path, _Table] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for table in self._open.values():
            table.spool.close()

    def add(self, interval: Interval) -> None:
        """The rows of one more interval."""
        common = common_values(interval)
        try:
            for name in self._tables:
                count, values = ROWS[name](interval)
                table = self._table(name, self._place(name, interval.day))
                if count:
                    table.add(_batch(schema_of(name), count, {**common, **values}))
        except OSError as error:
            raise OutputError(f"cannot write to {tempfile.gettempdir()}: {reason(error)}") from error

    def finish(self) -> list[Written]:
        """Closes the files and gives them their names: a table without rows has one all the same."""
        made = []
        for table in self._open.values():
            try:
                table.flush()
                table.writer.close()
                size = table.spool.tell()
                table.spool.seek(0)
            except OSError as error:
                raise OutputError(f"cannot write {table.path}: {reason(error)}") from error
            make_directories(table.path.parent)
            write_file(table.path, _pieces(table.spool), force=self._force)
            made.append(Written(table.path, table.written, size))
        return made

    def _table(self, name: str, path: Path) -> _Table:
        if path not in self._open:
            if path.parent.is_dir():
                check_target(path, force=self._force)
            spool = tempfile.TemporaryFile()  # noqa: SIM115 (closed in __exit__)
            # Of the schema nothing but Parquet's own is kept: the same recording gives the same bytes.
            writer = pq.ParquetWriter(spool, schema_of(name), compression="zstd", store_schema=False)
            self._open[path] = _Table(name, path, spool, writer)
        return self._open[path]


def place_below(directory: Path, header: Any, partition: Iterable[str]) -> Callable[[str, date], Path]:
    """Where the tables of a recording go: a file of its host, beginning and boot in each."""
    host, start = header.host, header.start_time_ns
    values = {"host": host.name, "kernel": host.kernel, "boot_id": host.boot_id}
    name = f"{path_word(host.name)}-{start // 10**9}-{path_word(host.boot_id[:8] or 'unknown')}.parquet"

    def place(table: str, day: date) -> Path:
        levels = [f"{key}={day.isoformat() if key == 'date' else path_word(values[key])}" for key in partition]
        return directory.joinpath(table, *levels, name)

    return place


def path_word(text: str) -> str:
    """Text as a part of a path, `%2F` for what could be more than one; what is empty as Hive names it."""
    word = quote(text[:_MOST_CHARS], safe="")
    if word.startswith("."):
        word = f"%2E{word[1:]}"
    return word or "__HIVE_DEFAULT_PARTITION__"


def make_directories(path: Path) -> None:
    """Makes a directory and those above it, with the rights of the invoking user. Raises OutputError."""
    try:
        with as_invoker():
            path.mkdir(parents=True, exist_ok=True, mode=0o700 if os.geteuid() == 0 else 0o777)
    except OSError as error:
        raise OutputError(f"cannot make {path}: {reason(error)}") from error


def _batch(schema: Any, count: int, values: Values) -> Any:
    return pa.record_batch([_array(values[field.name], field.type, count) for field in schema], schema=schema)


def _array(value: Any, kind: Any, count: int) -> Any:
    if isinstance(value, np.ndarray):
        return pa.array(value.astype(np.int64), kind)
    if isinstance(value, list):
        return pa.array(value, kind)
    return pa.nulls(count, kind) if value is None else pa.repeat(pa.scalar(value, kind), count)


def _pieces(spool: IO[bytes]) -> Iterator[bytes]:
    while piece := spool.read(_PIECE):
        yield piece
