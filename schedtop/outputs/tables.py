"""Tables as text and as CSV, and what a table is preceded by."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from schedtop.outputs.plain import cell
from schedtop.outputs.words import filter_words


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[str] = (), gap: str = "  ") -> str:
    """Columns as wide as their widest cell; those named in `left` are aligned to the left."""
    lines = [tuple(header), *map(tuple, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = [
        [
            cell.ljust(width) if name in left else cell.rjust(width)
            for name, cell, width in zip(header, line, widths, strict=True)
        ]
        for line in lines
    ]
    return "\n".join(gap.join(cells).rstrip() for cells in aligned)


def titled(
    title: str, whole: int, header: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[str] = ()
) -> str:
    """A table under its title, with how many rows there are if not all are shown."""
    lines = list(rows)
    count = "" if len(lines) == whole else f": {shown_of(len(lines), whole)}"
    return f"{title}{count}\n" + table(header, lines, left=left)


def shown_of(shown: int, whole: int) -> str:
    """How many of how many."""
    return str(whole) if shown == whole else f"{shown} of {whole}"


def csv_preamble(data: Mapping[str, Any], unavailable: Mapping[str, str] = MappingProxyType({}), **more: Any) -> str:
    """Lines `# key: value` that say where a table comes from; `data` has the fields of `snapshot.origin`."""
    names = ("host", "kernel", "source", "start_time", "interval_ns", "threshold_ns")
    facts = {"schedtop": data["tool_version"], **{name: data[name] for name in names}, **more}
    facts["filters"] = filter_words(data["filters"]) or "none"
    return csv_facts(facts, data["loss"], unavailable)


def csv_facts(facts: Mapping[str, Any], loss: Mapping[str, int], unavailable: Mapping[str, str]) -> str:
    """Lines `# key: value` of any facts, of what was lost, and of what is not available."""
    lines = {**facts, "loss": ", ".join(f"{name}: {count}" for name, count in loss.items() if count) or "none"}
    if unavailable:
        lines["not_available"] = "; ".join(f"{part}: {why}" for part, why in unavailable.items())
    # A name may hold anything, and a line of its own would be data.
    return "".join(f"# {key}: {' '.join(str(value).split())}\n" for key, value in lines.items())


def csv_rows(fields: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A row of field names and a row each; `None` is an empty field, other fields are left out. Names: `plain.cell`."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fields, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows({name: cell(row.get(name)) for name in fields} for row in rows)
    return buffer.getvalue()
