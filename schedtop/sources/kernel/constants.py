"""The constants that user space shares with the kernel side, read from its headers: each is written once, in C."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType

from schedtop.sources.kernel.program_text import program_text, source_directory

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_DEFINITION = re.compile(r"^#define (?P<macro>\w+) (?P<value>.+)$|^enum \w+ \{(?P<enumerators>[^}]*)\};", re.MULTILINE)
# What Python does not know: a leading 0 for octal, and suffixes.
_NUMBER = re.compile(r"\b(0(?=\d))?(0x[\da-f]+|\d+)[ul]*\b", re.IGNORECASE)

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
}


class Header:
    """The constants of a header below bpf/ as attributes; it is read when one is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> int:
        """Raises AttributeError for what is no constant, and SourceError where there is no bpf/."""
        try:
            value = header_constants(self._name)[name]
        except KeyError:
            raise AttributeError(f"bpf/{self._name} has no constant {name}") from None
        setattr(self, name, value)
        return value

    def names(self, prefix: str) -> tuple[str, ...]:
        """What follows `PREFIX_` in the enumerators of the enum of that name, in lower case and in their order."""
        known = header_constants(self._name)
        found = [(value, name) for name, value in known.items() if name.startswith(f"{prefix}_")]
        return tuple(name.removeprefix(f"{prefix}_").lower() for _, name in sorted(found))


SCHEDULER = Header("scheduler/maps.h")
OFFCPU = Header("offcpu/offcpu.h")
TASK = Header("task/task.h")
CAPTURE = Header("capture/capture.h")
INTERRUPTS = Header("interrupts/interrupts.h")
ACTIVITY = Header("activity/activity.h")
CAPTURE_PATH = Header("capture/path.h")


@lru_cache
def header_constants(name: str) -> Mapping[str, int]:
    """The numbers that a header below bpf/ and those that it includes define, by name: macros and enumerators."""
    return MappingProxyType(constants_of(program_text(source_directory(), name)))


def constants_of(text: str) -> dict[str, int]:
    """The numbers that a text in C defines. A macro that is no number, or no simple sum of some, is left out."""
    known: dict[str, int] = {}
    for found in _DEFINITION.finditer(_COMMENT.sub("", text)):
        if found["macro"]:
            _define(known, found["macro"], found["value"])
            continue
        following = "0"
        for enumerator in filter(None, map(str.strip, found["enumerators"].split(","))):
            name, _, value = enumerator.partition("=")
            _define(known, name.strip(), value or following)
            following = f"{name.strip()} + 1"
    return known


def _define(known: dict[str, int], name: str, value: str) -> None:
    try:
        known[name] = _value(ast.parse(_NUMBER.sub(_as_python, value.strip()), mode="eval").body, known)
    except (SyntaxError, ValueError, KeyError):
        return


def _as_python(number: re.Match[str]) -> str:
    return f"{'0o' if number[1] else ''}{number[2]}"


def _value(node: ast.expr, known: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return known[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, known)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return _OPERATORS[type(sign)](_value(left, known), _value(right, known))
    raise ValueError("not a number")
