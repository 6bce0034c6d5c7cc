"""Charts of text outputs: at most 80 columns, only what there is, two distributions told apart."""

from __future__ import annotations

from schedtop.base.histogram import HIGH_NS, LOW_NS, Histogram
from schedtop.charts.text import WIDTH, Piece, distributions_text, trends_text
from schedtop.charts.trends import TRENDS

ZEROS = {field: 0.0 for trend in TRENDS for field, _, _ in trend.lines}


def pieces(count: int, **values: float | None) -> list[Piece]:
    return [Piece(number * 10**9, 10**9, ZEROS | values) for number in range(count)]


def of(*waits_ns: int) -> dict[str, object]:
    made = Histogram.of(waits_ns)
    places = made.counts.nonzero()[0].tolist()
    buckets = [{"low_ns": int(LOW_NS[at]), "high_ns": int(HIGH_NS[at]), "count": int(made.counts[at])} for at in places]
    return {"count": made.count, "buckets": buckets}


def test_only_trends_with_values_are_drawn() -> None:
    text = trends_text(pieces(30, steal=0.5, switches=100.0, p50_ns=None), 0)
    titles = {trend.title for trend in TRENDS if trend.title in text}
    assert titles == {"Steal", "Context switches a second"}
    assert max(map(len, text.splitlines())) <= WIDTH


def test_without_time_there_is_no_chart() -> None:
    assert trends_text(pieces(1, steal=0.5), 0) == "" and trends_text(pieces(30), 0) == ""


def test_the_largest_value_of_many_pieces_is_seen() -> None:
    many = [Piece(number, 1, ZEROS | {"steal": 0.4 if number == 777 else 0.0}) for number in range(2000)]
    first = trends_text(many, 0).splitlines()[1:4]
    assert any(line.split("┤")[-1].split("│")[-1].strip() for line in first)


def test_two_distributions_are_told_apart() -> None:
    text = distributions_text("waits", of(*[20_000] * 50), of(*[20_000_000] * 50, 5))
    lines = text.splitlines()
    area = [line.index("░") for line in lines[1:] if "░" in line]
    dots = [
        max(at for at, char in enumerate(line) if "\u2800" < char < "\u2900") for line in lines[1:] if has_dots(line)
    ]
    assert max(area) < max(dots) and "╵10 ms" in lines[-1]
    assert max(map(len, lines)) <= WIDTH


def has_dots(line: str) -> bool:
    return any("\u2800" < char < "\u2900" for char in line)


def test_without_waits_on_both_sides_there_is_nothing_to_compare() -> None:
    assert distributions_text("waits", None, of(1000)) == "" and distributions_text("waits", of(1000), of()) == ""
