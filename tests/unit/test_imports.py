"""The direction of imports, read from the sources: what a module may know of the others."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import schedtop

PACKAGE = Path(schedtop.__file__).parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))

BELOW = {
    "base": set(),
    "model": {"base"},
    "history": {"model"},
    "verdict": {"history"},
    "offcpu": {"model"},
    "capture": {"model"},
    "task": {"model"},
    "recording": {"model"},
    "triggers": {"model"},
    "sources": {"recording", "offcpu", "capture", "task"},
    "checks": {"sources"},
    "outputs": {"verdict", "recording", "triggers", "offcpu", "capture", "task"},
    "widgets": {"base"},
    "panes": {"verdict", "offcpu", "task", "widgets"},
    "ui": {"panes", "outputs"},
    "config": {"ui"},
    "run": {"outputs", "sources"},
    "commands": {"ui", "config", "run", "checks"},
    "cli": {"commands"},
    "__main__": {"cli"},
}
"""The parts of schedtop, from the ground up, and those right below each: it may import these and all below them."""


def may_import(part: str) -> set[str]:
    """The part itself and all below it."""
    return {part}.union(*(may_import(below) for below in BELOW[part]))


SCREEN = {"textual", "rich"}
DRAWS = {"widgets", "panes", "ui"}


def part_of(path: Path) -> str:
    """`sources` of schedtop/sources/host/proc.py, `cli` of schedtop/cli.py, `schedtop` of schedtop/__init__.py."""
    first = path.relative_to(PACKAGE).parts[0]
    return "schedtop" if first == "__init__.py" else first.removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    """Full names of all modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module
            # `from schedtop import base` names a package, `from schedtop.base.units import rate` has it in front.
            if node.module == "schedtop":
                yield from (f"schedtop.{alias.name}" for alias in node.names)
            else:
                yield node.module
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if name in ("import_module", "__import__") and node.args and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)


def named(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def test_the_walk_sees_imports_at_all() -> None:
    assert "schedtop.base.units" in set(imported(PACKAGE / "history" / "history.py"))
    assert {part_of(path) for path in MODULES} == {"schedtop", *BELOW}


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_a_module_imports_only_what_it_may(path: Path) -> None:
    parts = {name.split(".")[1] for name in imported(path) if name.startswith("schedtop.")}
    # `from schedtop import __version__` is the package itself.
    assert parts - {"__version__"} <= (may_import(part_of(path)) if part_of(path) in BELOW else set())


CHILDREN = ["bcc_child", "compiler_child", "symbol_child"]
"""What runs in child processes, maybe with another interpreter: the first has bcc, the others what it gives them."""


def test_bcc_is_imported_only_by_the_children() -> None:
    importers = [path for path in MODULES if "bcc" in {name.split(".")[0] for name in imported(path)}]
    assert [named(path) for path in importers] == ["sources/kernel/bcc_child.py"]
    at_once = [node for node in ast.parse(importers[0].read_text()).body if isinstance(node, ast.Import)]
    assert "bcc" not in {alias.name for node in at_once for alias in node.names}


@pytest.mark.parametrize("name", CHILDREN)
def test_a_child_needs_nothing_of_ours(name: str) -> None:
    roots = {module.split(".")[0] for module in imported(PACKAGE / "sources" / "kernel" / f"{name}.py")}
    assert roots - {"bcc"} <= sys.stdlib_module_names


@pytest.mark.parametrize("path", [path for path in MODULES if part_of(path) not in DRAWS], ids=named)
def test_textual_is_imported_only_by_the_screen(path: Path) -> None:
    assert not SCREEN & {name.split(".")[0] for name in imported(path)}


OTHERS = {"schedtop", "numpy", "perfetto", "click", "prometheus_client", "jinja2", "markupsafe", "matplotlib", "bcc"}
OTHERS |= {"tomlkit"}
"""What else may be imported at all. Another one needs a reason in CONTRIBUTING.md."""


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_imports_are_only_those_allowed(path: Path) -> None:
    roots = {name.split(".")[0] for name in imported(path)}
    assert roots - sys.stdlib_module_names - SCREEN <= OTHERS
