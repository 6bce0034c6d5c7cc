"""Engines that answer SQL over the tables of `schedtop convert`, each with rows of plain values."""

import datetime
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from schedtop.outputs.convert.columns import TABLES

Answer = tuple[list[str], list[tuple[Any, ...]]]
Ask = Callable[[str], Answer]


def duckdb_over(fleet: Path) -> Ask:
    import duckdb

    connection = duckdb.connect()
    for table in TABLES:
        connection.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{fleet}/{table}/**/*.parquet')")

    def ask(query: str) -> Answer:
        found = connection.execute(query)
        return [column[0] for column in found.description], [tuple(map(plain, row)) for row in found.fetchall()]

    return ask


def sqlite_over(fleet: Path) -> Ask:
    """No engine for Parquet, but one that shares no code with DuckDB: the rows come through pyarrow."""
    import pyarrow.parquet as pq

    connection = sqlite3.connect(":memory:")
    for table in TABLES:
        rows = [
            tuple(map(plain, row.values()))
            for file in sorted((fleet / table).rglob("*.parquet"))
            for row in pq.ParquetFile(file).read().to_pylist()
        ]
        names = pq.ParquetFile(next((fleet / table).rglob("*.parquet"))).schema_arrow.names
        connection.execute(f"CREATE TABLE {table} ({', '.join(names)})")
        connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(names))})", rows)

    def ask(query: str) -> Answer:
        found = connection.execute(query)
        return [column[0] for column in found.description], found.fetchall()

    return ask


def clickhouse_over(fleet: Path) -> Ask:
    import json

    from chdb.session import Session

    session = Session()
    session.query("CREATE DATABASE fleet ENGINE = Atomic")
    session.query("USE fleet")
    # It would take the host from the directory's name, where some of its characters are escaped.
    session.query("SET use_hive_partitioning = 0")
    for table in TABLES:
        session.query(f"CREATE VIEW {table} AS SELECT * FROM file('{fleet}/{table}/**/*.parquet', Parquet)")

    def ask(query: str) -> Answer:
        text = session.query(f"{query} SETTINGS output_format_json_quote_64bit_integers = 0", "JSONCompact").bytes()
        found = json.loads(text)
        return [column["name"] for column in found["meta"]], [tuple(row) for row in found["data"]]

    return ask


def plain(value: Any) -> Any:
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value
