"""Every JSON output has the fields that its schema has, and no others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from schedtop.cli.schema import NAMES
from schedtop.history.view import View
from schedtop.outputs.json_schema import DIALECT, meanings, names, schema_of
from schedtop.outputs.scheduler.snapshot import to_json
from schedtop.sources.proc.source import LOST
from tests.unit.commands.running import run_in
from tests.unit.outputs import test_hostile_names as hostile
from tests.unit.outputs.scheduler import test_snapshot as made

PARTS = {*LOST, "tasks", "steal", "pressure", "run_delay", "task_switches", "throttling", "overhead"}


def closed(schema: Any) -> Any:
    """The same without room for fields that it does not name: what a reader must allow, and our tests must not."""
    if isinstance(schema, list):
        return [closed(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    inside = {key: closed(inner) for key, inner in schema.items()}
    return inside | {"additionalProperties": False} if "properties" in schema and "type" in schema else inside


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(closed(schema_of(name)))


def problems(data: dict[str, Any], name: str = "") -> list[str]:
    """What is wrong with an output, by its own schema."""
    name = name or data["schema"].removeprefix("schedtop.").partition("/")[0]
    return [f"{error.json_path}: {error.message[:200]}" for error in validator(name).iter_errors(data)]


def written(view: View) -> Any:
    """The snapshot as a reader has it."""
    return json.loads(to_json(view))


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_valid_themselves(name: str) -> None:
    schema = schema_of(name)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == DIALECT
    assert schema["title"] == f"schedtop.{name}/1"


def leaves(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Each field of a schema with its path, those of its blocks too."""
    for block, inner in schema.get("$defs", {}).items():
        yield from leaves(inner, block)
    for name, field in schema.get("properties", {}).items():
        yield f"{path}.{name}", field
        yield from leaves(field, f"{path}.{name}")
    for key in {"items", "additionalProperties"} & set(schema):
        yield from leaves(schema[key], path)
    for one in schema.get("anyOf", ()):
        yield from leaves(one, path)


@pytest.mark.parametrize("name", NAMES)
def test_every_field_has_a_type_and_a_meaning_with_its_unit(name: str) -> None:
    found = dict(leaves(schema_of(name)))
    assert len(found) > 3
    assert [path for path, field in found.items() if not field.get("description")] == []
    assert [path for path, field in found.items() if not {"type", "$ref", "anyOf", "const"} & set(field)] == []
    times = {path: field for path, field in found.items() if path.endswith("_ns")}
    assert [path for path, field in times.items() if "nanoseconds" not in field["description"]] == []


def test_no_meaning_is_left_over() -> None:
    used = {path.rpartition(".")[2] for name in NAMES for path, _ in leaves(schema_of(name))}
    assert set(meanings()) - used == set()


def test_each_schema_can_be_asked_for() -> None:
    assert sorted(names()) == sorted(NAMES)


TABLES = "rows of tables as JSON"
"""What becomes Parquet, which has a schema of its own (docs/fleet.md)."""


@pytest.mark.parametrize("name", [name for name in hostile.TEXTS if "JSON" in name and name != TABLES])
def test_outputs_keep_to_their_schemas(name: str) -> None:
    assert problems(json.loads(hostile.TEXTS[name][1]())) == []


@pytest.mark.parametrize("part", [*sorted(PARTS), "all of them"])
def test_what_is_not_available_keeps_to_the_schema(part: str) -> None:
    assert problems(written(made.without(*(PARTS if part == "all of them" else [part])))) == []


def test_a_field_that_the_schema_does_not_name_is_noticed() -> None:
    data = written(made.view())
    assert problems(data | {"new": 1})
    data["tasks"][0]["new"] = 1
    assert problems(data)
    del data["tasks"][0]["new"], data["tasks"][0]["run_ns"]
    assert problems(data)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three seconds of the made-up host, with all that can be recorded."""
    path = tmp_path_factory.mktemp("schemas") / "a.rec"
    done = run_in(
        path.parent, "record", "--source", "synthetic", "-o", path.name, "--duration", "3s", "--group", "cgroup",
        "--interrupts", "--activity", "--on", "p99 > 1us",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    path.with_name("b.rec").write_bytes(path.read_bytes().replace(b'"name":"synthetic"', b'"name":"other"', 1))
    path.with_name("s.json").write_text(to_json(made.view()))
    return path


def test_lines_of_a_recording_keep_to_the_schema(recording: Path) -> None:
    lines = [json.loads(line) for line in recording.read_text().splitlines()]
    assert {kind for line in lines for kind in ("schema", "interval", "event", "end") if kind in line} == {
        "schema", "interval", "event", "end",
    }  # fmt: skip
    assert [problem for line in lines for problem in problems(line, "recording")] == []


COMMANDS = {
    "report": ("report", "a.rec", "--format", "json"),
    "fleet": ("report", "a.rec", "b.rec", "--format", "json"),
    "report-of-a-snapshot": ("report", "s.json", "--format", "json"),
    "diff": ("diff", "a.rec", "a.rec", "--format", "json"),
    "diff-of-sets": ("diff", "a.rec", "--with", "a.rec", "b.rec", "--format", "json"),
    "waits": ("waits", "--replay", "a.rec", "--format", "json"),
    "snapshots": ("snapshot", "--replay", "a.rec"),
    "snapshots-by-process": ("snapshot", "--replay", "a.rec", "--by", "process"),
    "proc": ("snapshot", "--source", "proc", "--duration", "0.2s"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_commands_print_keeps_to_its_schema(recording: Path, name: str) -> None:
    done = run_in(recording.parent, *COMMANDS[name])
    assert done.returncode == 0, done.stderr
    documents = list(_documents(done.stdout))
    assert documents
    assert [problem for data in documents for problem in problems(data)] == []


def _documents(text: str) -> Iterator[dict[str, Any]]:
    if text.startswith("{\n"):
        yield json.loads(text)
    else:
        yield from map(json.loads, text.splitlines())


def test_the_command_prints_a_schema(tmp_path: Path) -> None:
    assert json.loads(run_in(tmp_path, "schema", "waits").stdout) == schema_of("waits")
    assert run_in(tmp_path, "schema", "nothing").returncode == 2
