"""JSON Schemas (2020-12) of the JSON outputs, made of the one list of their fields: fields.txt beside this module."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_SCALARS = {"string": "string", "int": "integer", "number": "number", "bool": "boolean", "object": "object"}
_FIELD = re.compile(r"( +)(\w+)(\*?) (?:(map) )?(\S+?)((?:\[\])*)(\??)(?:  (\S.*))?")
_MEANING = re.compile(r" (\w+)  (\S.*)")
_MEANINGS = "~meanings"
_UNITS = {
    "_ns_per_second": "nanoseconds a second",
    "_per_switch": "nanoseconds",
    "_per_second": "a second",
    "_ns": "nanoseconds",
    "_us": "microseconds",
    "_bytes": "bytes",
    "_ratio": "",
    "_cpus": "",
}
"""What the end of a name says of its unit; a longer end comes first."""

_INCLUDED = re.compile(r"( +)\.\.\.(\w+)")


def names() -> list[str]:
    """The outputs that have a schema: `snapshot` of `schedtop.snapshot/1`."""
    return [_name(head) for head in _blocks() if head.startswith("schedtop.")]


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of one of `names()`."""
    head = next(head for head in _blocks() if head.startswith("schedtop.") and _name(head) == name)
    body = _object(_blocks()[head])
    if "schema" in body["properties"]:
        body["properties"]["schema"] = {"const": head, "description": meanings()["schema"]}
    found: dict[str, Any] = {"$schema": DIALECT, "title": head, **body}
    used = _used(body)
    return found | ({"$defs": {each: _object(_blocks()[f"@{each}"]) for each in sorted(used)}} if used else {})


@cache
def meanings() -> Mapping[str, str]:
    """What names mean that mean the same in every block."""
    found = {}
    for line in _blocks()[_MEANINGS]:
        meaning = _MEANING.fullmatch(line)
        if meaning is None:
            raise ValueError(f"no meaning: {line!r}")
        found[meaning[1]] = meaning[2]
    return found


def _name(head: str) -> str:
    return head.removeprefix("schedtop.").partition("/")[0]


@cache
def _blocks() -> Mapping[str, list[str]]:
    """The lines of each block by its head."""
    found: dict[str, list[str]] = {}
    text = (files("schedtop") / "outputs" / "fields.txt").read_text(encoding="ascii")
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if not line.startswith(" "):
            found[line] = lines = []
        else:
            lines.append(line)
    return found


def _object(lines: list[str]) -> dict[str, Any]:
    """The schema of an object, of the lines of its fields."""
    properties, required = {}, []
    for name, is_there, schema in _fields(lines):
        properties[name] = schema
        required += [name] if is_there else []
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def _fields(lines: list[str]) -> Iterator[tuple[str, bool, dict[str, Any]]]:
    """Name, whether it is always there, and schema of each field."""
    place = 0
    while place < len(lines):
        line = lines[place]
        depth = len(line) - len(line.lstrip())
        end = place + 1
        while end < len(lines) and len(lines[end]) - len(lines[end].lstrip()) > depth:
            end += 1
        below, place = lines[place + 1 : end], end
        if included := _INCLUDED.fullmatch(line):
            other = included[2]
            yield from _fields(_blocks()[f"@{other}" if f"@{other}" in _blocks() else f"schedtop.{other}/1"])
            continue
        field = _FIELD.fullmatch(line)
        if field is None:
            raise ValueError(f"no field: {line!r}")
        _, name, optional, mapped, kind, lists, null, meaning = field.groups()
        schema = _typed(kind, below, bool(mapped), lists.count("[]"), bool(null))
        words = meaning or meanings().get(name)
        yield name, not optional, schema | ({"description": words + _unit(name)} if words else {})


def _unit(name: str) -> str:
    """The unit that a name ends in, in words."""
    unit = next((words for end, words in _UNITS.items() if name.endswith(end)), "")
    return f" ({unit})" if unit else ""


def _typed(kind: str, below: list[str], mapped: bool, lists: int, null: bool) -> dict[str, Any]:
    schema: dict[str, Any]
    if kind == "{}":
        schema = _object(below)
    elif kind.startswith("@"):
        schema = {"$ref": f"#/$defs/{kind[1:]}"}
    else:
        schema = {"type": _SCALARS[kind]}
    for _ in range(lists):
        schema = {"type": "array", "items": schema}
    if mapped:
        schema = {"type": "object", "additionalProperties": schema}
    return _or_null(schema) if null else schema


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "type" in schema:
        return schema | {"type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def _used(schema: Any) -> set[str]:
    """The blocks that a schema refers to, and those that they refer to."""
    found: set[str] = set()
    left = [schema]
    while left:
        here = left.pop()
        if isinstance(here, list):
            left += here
        elif isinstance(here, dict):
            reference = here.get("$ref")
            name = reference.rpartition("/")[2] if isinstance(reference, str) else ""
            if name and name not in found:
                found.add(name)
                left.append(_object(_blocks()[f"@{name}"]))
            left += here.values()
    return found
