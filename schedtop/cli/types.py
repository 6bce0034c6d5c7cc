"""The types of options: text on a command line that becomes a duration, a size, a number, a place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import format_bytes, format_round_ns, parse_duration, parse_size
from schedtop.commands.place import Place, parse_place

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SLOWEST, FASTEST = 0.1, 1000


class Duration(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A duration within bounds, in nanoseconds; a bare number is in seconds, if it may be bare."""

    name = "duration"

    def __init__(self, least_ns: int, most_ns: int, *, bare: bool = True) -> None:
        self.least_ns = least_ns
        self.most_ns = most_ns
        self.bare = bare

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            ns = parse_duration(value)
        except OverflowError:
            ns = self.most_ns + 1
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if not self.bare and value.strip()[-1:].isdigit():
            self.fail(f"{value!r} needs a unit, like 500us or 5ms", param, ctx)
        if not self.least_ns <= ns <= self.most_ns:
            bounds = f"{format_round_ns(self.least_ns)} to {format_round_ns(self.most_ns)}"
            self.fail(f"{value} is outside of {bounds}", param, ctx)
        return ns


class Size(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A size within bounds, in bytes."""

    name = "size"

    def __init__(self, least: int, most: int) -> None:
        self.least = least
        self.most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            size = parse_size(value)
        except OverflowError:
            size = self.most + 1
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if not self.least <= size <= self.most:
            self.fail(f"{value} is outside of {format_bytes(self.least)} to {format_bytes(self.most)}", param, ctx)
        return size


class Number(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number that the kernel may use for a task or a CPU, or a word that stands for one."""

    name = "number"

    def __init__(self, words: Mapping[str, int] = MappingProxyType({}), *, least: int = 0) -> None:
        self.words = words
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        if value in self.words:
            return self.words[value]
        if not (value.isascii() and value.isdigit() and len(value) < 10):
            if self.least and value.lstrip("-").isdecimal():
                self.fail(f"{value} is not a number from {self.least} on", param, ctx)
            self.fail(f"{value!r} is not a number" + "".join(f" (or {word})" for word in self.words), param, ctx)
        if int(value) < self.least:
            self.fail(f"{value} is not a number from {self.least} on", param, ctx)
        return int(value)


class Words(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Some of the words that there are, once each, with commas between them."""

    name = "words"

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        found = tuple(word.strip() for word in value.split(","))
        if wrong := next((word for word in found if word not in self.words), None):
            self.fail(f"{wrong!r} is not one of {', '.join(self.words)}", param, ctx)
        if not all(found) or len(set(found)) < len(found):
            self.fail(f"{value!r} has a word twice, or an empty one", param, ctx)
        return found


class Moment(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A place in a recording, as a Place."""

    name = "moment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Place:
        if isinstance(value, Place):
            return value
        try:
            return parse_place(value)
        except ValueError as error:
            self.fail(f"{value.strip()!r} is no moment: {error}", param, ctx)


class SourceName(click.Choice):  # type: ignore[type-arg,unused-ignore]
    """Where the data comes from; the help leaves out the made-up host that demos and tests use."""

    def __init__(self) -> None:
        super().__init__(["auto", "btf", "tracepoint", "proc", "synthetic"])

    def get_metavar(self, *_args: Any, **_kwargs: Any) -> str:
        return "[auto|btf|tracepoint|proc]"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [item for item in super().shell_complete(ctx, param, incomplete) if item.value != "synthetic"]


class Speed(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """How many times faster than life, as a number or as the player shows it: `8`, `0.5`, `8x`."""

    name = "speed"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            speed = float(value.lower().removesuffix("x") if isinstance(value, str) else value)
        except ValueError:
            speed = math.nan
        if not SLOWEST <= speed <= FASTEST:
            self.fail(f"{str(value)!r} is not a speed: write a number from {SLOWEST} to {FASTEST}", param, ctx)
        return speed
