"""Several recordings as one page of HTML that fetches nothing."""

from __future__ import annotations

from typing import Any

from jinja2 import UndefinedError

from schedtop.base.units import format_count, format_ns
from schedtop.outputs.fleet import text
from schedtop.outputs.report.words import SIGNS, Data
from schedtop.outputs.scheduler.snapshot import PERCENTILES
from schedtop.outputs.templates import templates_of
from schedtop.outputs.words import named


def to_html(data: Data, top: int) -> str:
    """The page. Tables have at most `top` rows; names are escaped. Raises KeyError if the report lacks something."""
    environment = templates_of("schedtop.outputs")
    environment.filters.update({"ns": format_ns, "count": format_count, "named": named, "told": text.wait_words})
    values: dict[str, Any] = {
        "data": data,
        "top": top,
        "level": data["verdicts"][0]["level"],
        "signs": SIGNS,
        "facts": text.fact_words(data),
        "summary": text.summary_words(data),
        "titles": text.titles(data, top),
        "tables": (
            ("hosts", list(text.HOST_HEAD), text.host_cells(data, top), ["host", "verdict"]),
            ("services", list(text.SERVICE_HEAD), text.service_cells(data, top), ["service", "worst host"]),
            ("blame", list(text.BLAME_HEAD), text.blame_cells(data, top), ["victim", "blocker", "worst host"]),
        ),
        "percentiles": {name: name.removesuffix("_ns").replace("p999", "p99.9") for name in PERCENTILES},
        "how": text.how_words(),
        "place": lambda wait: text.wait_place(wait, data),
    }
    try:
        page: str = environment.get_template("fleet/page.html.j2").render(values)
    except UndefinedError as error:
        raise KeyError(str(error)) from error
    return page
