"""Units to text and back: nanoseconds, rates, ratios, bytes. The only place that converts."""

from __future__ import annotations

import re
from datetime import UTC, datetime

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000

_DURATION = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(ns|us|µs|μs|ms|s|m|min|h)?\s*", re.IGNORECASE)
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([KMGT])?(?:i?B)?\s*", re.IGNORECASE)
_UNIT_NS = {
    "ns": 1,
    "us": NS_PER_US,
    "µs": NS_PER_US,
    "μs": NS_PER_US,
    "ms": NS_PER_MS,
    "s": NS_PER_S,
    "m": 60 * NS_PER_S,
    "min": 60 * NS_PER_S,
    "h": 3600 * NS_PER_S,
}


def printable(text: str) -> str:
    """Text from outside without what could steer a terminal: that becomes `?`."""
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)


def parse_duration(text: str, default_unit: str = "s") -> int:
    """Nanoseconds of a duration such as `500us`, `5ms`, `1.5s`, `10m`; a bare number is in `default_unit`.

    Raises ValueError with a sentence for the user, OverflowError for a number without end.
    """
    match = _DURATION.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not a duration: write a number and a unit, like 500us, 5ms, 2s or 10m")
    return round(float(match[1]) * _UNIT_NS[(match[2] or default_unit).lower()])


def format_ns(ns: float | None) -> str:
    """A duration with three significant digits and its unit, `-` if it is not available."""
    if ns is None:
        return "-"
    if ns < 0:
        return "-" + format_ns(-ns)
    if ns < 999.5:
        return f"{ns:.0f} ns"
    for limit, divisor, unit in ((999.5e3, 1e3, "µs"), (999.5e6, 1e6, "ms"), (999.5e9, 1e9, "s")):
        if ns < limit:
            return f"{_three_digits(ns / divisor)} {unit}"
    return f"{ns / 60e9:.0f} min"


def format_brief_ns(ns: float | None) -> str:
    """A duration with two significant digits in at most six characters: `4.0 ms`, `12 ms`, `350 µs`."""
    if ns is None or ns < 999.5:
        return format_ns(ns)
    for limit, divisor, unit in ((999.5e3, 1e3, "µs"), (999.5e6, 1e6, "ms"), (999.5e9, 1e9, "s")):
        if ns < limit:
            value = ns / divisor
            return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"
    return format_ns(ns)


def format_short_ns(ns: float | None) -> str:
    """The same without the blank, for tables of text that programs may split at blanks."""
    return format_brief_ns(ns).replace(" ", "")


def format_round_ns(ns: int) -> str:
    """A duration that a user chose, without needless zeros: `5 ms`, `1.5 s`, `720 h`."""
    if ns >= 3600 * NS_PER_S and ns % (3600 * NS_PER_S) == 0:
        return f"{ns // (3600 * NS_PER_S)} h"
    number, unit = format_ns(ns).split()
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"


def format_span(ns: int) -> str:
    """A span between two readings: `200 ms`, `1 s` also where it is 998 ms."""
    return format_whole_s(ns) if ns >= NS_PER_S * 9 // 10 else format_round_ns(ns)


def format_whole_s(ns: int) -> str:
    """A span in whole seconds, at least one: `16 s`. The numbers beside it are of the exact one."""
    return format_round_ns(max(1, round(ns / NS_PER_S)) * NS_PER_S)


def exact_duration(ns: int) -> str:
    """A duration as it is typed, to the last nanosecond, that `parse_duration` reads back: `10ms`, `1.5s`, `2m`."""
    if ns >= 60 * NS_PER_S and ns % (60 * NS_PER_S) == 0:
        return f"{ns // (60 * NS_PER_S)}m"
    unit, size = next(
        ((unit, _UNIT_NS[unit]) for unit in ("s", "ms", "us") if ns >= _UNIT_NS[unit]), ("ns" if ns else "s", 1)
    )
    whole, rest = divmod(ns, size)
    return f"{whole}.{rest:0{len(str(size)) - 1}d}".rstrip("0").rstrip(".") + unit if rest else f"{whole}{unit}"


def format_count(value: float | None) -> str:
    """A count or a rate in at most five characters (`842`, `12.3k`, `4.56M`), `-` if it is not available."""
    if value is None:
        return "-"
    if value < 0:
        return "-" + format_count(-value)
    if value < 9_999.5:
        return f"{value:.0f}" if value >= 99.95 or value == int(value) else f"{value:.1f}"
    for limit, divisor, unit in ((999.5e3, 1e3, "k"), (999.5e6, 1e6, "M"), (999.5e9, 1e9, "G")):
        if value < limit:
            return f"{_three_digits(value / divisor)}{unit}"
    return f"{value / 1e12:.0f}T"


def plural(count: float | None, one: str, many: str = "") -> str:
    """The noun for so many: `wait` for one, else `waits`, or `many` where that is not made with an s."""
    return one if count == 1 else many or f"{one}s"


def format_counted(count: float | None, one: str, many: str = "") -> str:
    """`1 wait`, `12.3k waits`; the noun may have words in front of it."""
    return f"{format_count(count)} {plural(count, one, many)}"


def format_rate(per_second: float | None) -> str:
    """Events per second in at most five characters, with one decimal only below ten: `0.5`, `3`, `45`, `12.3k`."""
    if per_second is None or per_second >= 99.95:
        return format_count(per_second)
    return f"{per_second:.1f}".removesuffix(".0") if per_second < 9.95 else f"{per_second:.0f}"


def format_ratio(ratio: float | None) -> str:
    """A ratio (0..1) as percent, `-` if it is not available."""
    if ratio is None:
        return "-"
    percent = ratio * 100
    return f"{percent:.0f} %" if percent >= 99.95 or percent == 0 else f"{percent:.1f} %"


def format_bytes(size: float | None) -> str:
    """A size in binary units, `-` if it is not available."""
    if size is None:
        return "-"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1023.5:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.0f} TiB"


def parse_size(text: str) -> int:
    """Bytes of a size such as `500MiB`, `1.5G`, `64k`: all units are binary. Raises as `parse_duration`."""
    match = _SIZE.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not a size: write a number and a unit, like 500MiB or 2GiB")
    return round(float(match[1]) * (1 << 10 * " KMGT".index((match[2] or " ").upper())))


def format_elapsed(ns: int) -> str:
    """How long something has lasted, as a player shows it: `0:07`, `12:05`, `1:02:03`."""
    minutes, seconds = divmod(ns // NS_PER_S, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def format_clock(time_ns: int) -> str:
    """A wall-clock time as local `HH:MM:SS`."""
    return datetime.fromtimestamp(time_ns // NS_PER_S).strftime("%H:%M:%S")


def format_day_and_clock(time_ns: int) -> str:
    """A wall-clock time as local `YYYY-MM-DD HH:MM:SS`."""
    return datetime.fromtimestamp(time_ns // NS_PER_S).strftime("%Y-%m-%d %H:%M:%S")


def format_clock_ms(time_ns: int) -> str:
    """A wall-clock time as local `HH:MM:SS.mmm`."""
    return f"{format_clock(time_ns)}.{time_ns // NS_PER_MS % 1000:03d}"


def iso_time(time_ns: int) -> str:
    """A wall-clock time as ISO 8601 in UTC with microseconds."""
    seconds, rest_ns = divmod(time_ns, NS_PER_S)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest_ns // 1000)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def rate(count: float | None, interval_ns: int) -> float | None:
    """Events per second, `None` where the count is not available or no time has passed."""
    return None if count is None or interval_ns <= 0 else count * NS_PER_S / interval_ns


def _three_digits(value: float) -> str:
    if value < 9.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < 99.95 else f"{value:.0f}"
