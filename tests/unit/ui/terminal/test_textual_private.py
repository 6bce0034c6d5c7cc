"""What is used of textual without its promise stands in one module, and is there in the release at hand."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import textual
from textual.app import App

import schedtop
from schedtop.ui.terminal import textual_private
from schedtop.ui.terminal.textual_private import missing_names

PACKAGE = Path(schedtop.__file__).parent
ADAPTER = Path(textual_private.__file__)


def private_names(tree: ast.AST) -> Iterator[str]:
    """Names with one underscore in front that are read of an object, and modules of that kind."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__"):
            if ast.unparse(node) != "os._exit":
                yield node.attr
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("textual._"):
            yield str(node.module)


def own_names(tree: ast.AST) -> Iterator[str]:
    """Names that are given in a module: to functions, classes, attributes of `self`, fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.attr if isinstance(node, ast.Attribute) else node.id


def test_every_private_name_is_there() -> None:
    missing = [*missing_names()]
    assert not missing, f"textual {textual.__version__} has changed what we use of it: {missing}"


def test_a_private_name_that_has_gone_is_told_with_its_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textual_private, "USED", (*textual_private.USED, ("_gone", "a test")))
    assert [*missing_names()] == ["App._gone: a test"]


def test_no_other_module_uses_what_textual_keeps_to_itself() -> None:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py") if path != ADAPTER}
    own = {name for tree in trees.values() for name in own_names(tree)}
    of_textual = {name for name in dir(App()) if name.startswith("_")}
    for path, tree in trees.items():
        used = {name for name in private_names(tree) if name.startswith("textual.") or name in of_textual - own}
        assert not used, f"{path} uses {used}: put it into {ADAPTER.name}"


def test_no_other_module_overrides_what_textual_keeps_to_itself() -> None:
    used = {name for name, _ in textual_private.USED}
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        kinds = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        defined = {one.name for kind in kinds for one in kind.body if isinstance(one, ast.FunctionDef)}
        assert path == ADAPTER or not used & defined, f"{path} overrides {used & defined}"
