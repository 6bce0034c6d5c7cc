"""The size of classes, read from the sources: methods, attributes, and how many of ours stand above one another."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from textual.app import App
from textual.screen import Screen
from textual.widget import Widget

import schedtop

PACKAGE = Path(schedtop.__file__).parent

MOST_METHODS = 25
MOST_ATTRIBUTES = 12
MOST_DEEP = 2
"""A class, and one of ours above it."""

TOOLKIT = "widgets"
"""Its classes count as the framework's: they know nothing of schedtop, and stand beside textual's own."""

EXCEPTIONS: dict[str, str] = {
    "LiveSource": "owns the kernel programs of the whole run; the sources are taken apart by themselves",
    "LiveOffCpu": "the same, of stacks",
    "ReplaySource": "the same, of a recording",
    "ProcSource": "the same, of /proc",
    "Totals": "a counter for each metric of the endpoint: its attributes are its table",
}
"""Classes with more attributes than MOST_ATTRIBUTES, each with the reason."""

FRAMEWORK = {*dir(App), *dir(Screen), *dir(Widget), "theme", "animation_level"}
"""What the framework has already: setting it makes no attribute of our own."""


@dataclass(frozen=True)
class Written:
    """A class as it is written. A record is a row of data: its fields are what it is for, and are not counted."""

    name: str
    folder: str
    bases: tuple[str, ...]
    methods: frozenset[str]
    attributes: frozenset[str]
    is_record: bool


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        return _name(node.value)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _attributes(method: ast.AST) -> Iterator[str]:
    for node in ast.walk(method):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _name(node.value) == "self":
            yield node.attr


def _written(node: ast.ClassDef, folder: str) -> Written:
    methods = [one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    bases = tuple(map(_name, node.bases))
    is_record = "NamedTuple" in bases or any("dataclass" in ast.unparse(one) for one in node.decorator_list)
    attributes = {name for one in methods for name in _attributes(one)} - FRAMEWORK
    names = frozenset(one.name for one in methods)
    return Written(node.name, folder, bases, names, frozenset(attributes), is_record)


@cache
def classes() -> list[Written]:
    """All classes of the package. Not read before a test asks: each worker collects all tests."""
    return [
        _written(node, path.relative_to(PACKAGE).parts[0])
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]


@cache
def by_name() -> dict[str, Written]:
    """Those that do not count as the framework's."""
    return {one.name: one for one in classes() if one.folder != TOOLKIT}


def tower(one: Written) -> list[str]:
    """The class and all of ours above it."""
    above = [tower(by_name()[base]) for base in one.bases if base in by_name() and base != one.name]
    return [one.name, *(name for tower in above for name in tower)]


def test_the_sources_are_read_at_all() -> None:
    dashboard = by_name()["Dashboard"]
    assert "show_view" in dashboard.methods
    assert "shown" in dashboard.attributes
    assert tower(by_name()["ReplayDashboard"]) == ["ReplayDashboard", "Dashboard"]


def test_classes_are_small() -> None:
    assert {one.name: sorted(one.methods) for one in classes() if len(one.methods) > MOST_METHODS} == {}


def test_a_class_stands_on_one_of_ours_at_most() -> None:
    assert [tower(one) for one in classes() if len(tower(one)) > MOST_DEEP] == []


def test_classes_have_few_attributes_but_for_the_exceptions() -> None:
    large = {one.name for one in classes() if not one.is_record and len(one.attributes) > MOST_ATTRIBUTES}
    assert large == EXCEPTIONS.keys()
