"""The report as one page of HTML that fetches nothing: for a ticket, a post-mortem, or a printer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import UndefinedError
from markupsafe import Markup

from schedtop.base.units import format_count, format_ns, format_ratio, rate
from schedtop.outputs.report import words
from schedtop.outputs.report.activity import CALL_HEAD, PROCESS_HEAD, activity_cells
from schedtop.outputs.report.interrupts import CPU_HEAD, SOURCE_HEAD, interrupt_cells
from schedtop.outputs.report.words import (
    Data,
    clock,
    moment,
    origin_words,
    overhead_words,
    summary_words,
    time_cells,
    useful_columns,
    worst_words,
)
from schedtop.outputs.scheduler.short_lived import command_name, endings_words, starter_name
from schedtop.outputs.scheduler.snapshot import PERCENTILES
from schedtop.outputs.templates import templates_of

FILTERS: Mapping[str, Callable[..., str]] = {
    "ns": format_ns,
    "count": format_count,
    "ratio": format_ratio,
    "task": words.task_name,
    "place": words.place_name,
    "cause": words.cause_name,
    "command": command_name,
    "starter": starter_name,
    "endings": endings_words,
    "clock_ms": lambda text: f"{moment(text).astimezone():%H:%M:%S.%f}"[:-3],
}


def to_html(data: Data, top: int) -> str:
    """The page. Tables have at most `top` rows, those over time all of them; every name is escaped.

    Raises KeyError and the like if the report lacks something.
    """
    environment = templates_of("schedtop.outputs")
    environment.filters.update(FILTERS)
    cells = [time_cells(row, data["interval_ns"]) for row in data["stretches"]]
    # The SVG is ours, and matplotlib escapes the names within it.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    # Late: on import it complains of home directories that it cannot write, unless it was told not to.
    from schedtop.outputs.report.plots import plots

    drawn = [(plot.title, plot.words, Markup(plot.svg)) for plot in plots(data)]
    values = {
        "data": data,
        "recording": data["recording"] or {},
        "top": top,
        "facts": origin_words(data),
        "summary": summary_words(data),
        "worst": worst_words(data),
        "cost": overhead_words(data),
        "stretches": cells,
        "columns": useful_columns(cells),
        "plots": drawn,
        "zone": moment(data["start_time"]).astimezone().tzname(),
        "interrupts": interrupt_cells(data, top),
        "interrupt_heads": (list(SOURCE_HEAD), list(CPU_HEAD)),
        "activity": activity_cells(data, top),
        "activity_heads": (list(PROCESS_HEAD), list(CALL_HEAD)),
        "percentiles": {name: name.removesuffix("_ns").replace("p999", "p99.9") for name in PERCENTILES},
        "cpus": _busiest(data, top),
        "per_second": lambda count: format_count(rate(count, data["interval_ns"])),
        "event_clock": lambda text: clock(moment(text), data["interval_ns"]),
        "many": lambda name: data["counts"].get(name, len(data[name] or ())),
    }
    try:
        page: str = environment.get_template("report/page.html.j2").render(values)
    except UndefinedError as error:
        raise KeyError(str(error)) from error
    return page


def _busiest(data: Data, top: int) -> list[tuple[str, dict[str, Any]]]:
    """The CPUs with most involuntary switches, in order of their numbers, and their sum."""
    rows = sorted(data["cpus"], key=lambda row: -(row["involuntary_switches"] or 0))[:top]
    return [(str(row["cpu"]), row) for row in sorted(rows, key=lambda row: int(row["cpu"]))] + [("all", data["totals"])]
