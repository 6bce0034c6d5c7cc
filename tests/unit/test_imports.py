"""The graph of imports, read from the sources: its direction, no cycles, how deep it is, and what stays out of it.

Imports inside functions count as well; those under `if TYPE_CHECKING` do not, for they are never executed.
"""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import schedtop

PACKAGE = Path(schedtop.__file__).parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))

BELOW = {
    "base": set(),
    "model": {"base"},
    "history": {"model"},
    "entitlement": {"model"},
    "quota": {"model"},
    "verdict": {"history", "path", "entitlement", "quota", "activity"},
    "offcpu": {"model"},
    "capture": {"model"},
    "task": {"entitlement"},
    "activity": {"model"},
    "path": {"capture", "offcpu"},
    "recording": {"model"},
    "triggers": {"model"},
    "sources.host": {"entitlement"},
    "sources.kernel.findings": {"sources.host"},
    "sources.kernel": {"sources.kernel.findings"},
    "sources.ticks": {"base"},
    "sources.scope": {"sources.kernel", "sources.ticks"},
    "sources.choice": {"sources.kernel"},
    "sources.interrupts": {"sources.kernel"},
    "sources.scheduler": {"sources.scope", "sources.interrupts"},
    "sources.proc": {"sources.scope"},
    "sources.queue": {"sources.scheduler", "sources.proc"},
    "sources.offcpu": {"sources.scope", "offcpu"},
    "sources.task": {"sources.scope", "task"},
    "sources.activity": {"sources.scope", "activity"},
    "sources.capture": {"sources.scope", "capture"},
    "sources.path": {"sources.capture", "sources.interrupts", "path"},
    "sources.replay": {"recording"},
    "sources.synthetic": {"offcpu", "task", "path", "activity"},
    "sources": set(),
    "checks": {"sources.scheduler", "sources.proc", "sources.offcpu", "sources.task", "sources.capture"},
    "charts": {"model"},
    "outputs": {"verdict", "recording", "triggers", "offcpu", "path", "task", "activity", "charts"},
    "widgets": {"base"},
    "panes": {"verdict", "offcpu", "task", "activity", "widgets", "charts"},
    "ui": {"panes", "outputs"},
    "config": {"ui"},
    "run": {"outputs", "sources.choice", "sources.scheduler", "sources.proc", "sources.synthetic"},
    "commands": {
        "ui",
        "config",
        "run",
        "checks",
        "sources.path",
        "sources.activity",
        "sources.queue",
        "sources.replay",
    },
    "cli": {"commands"},
    "__main__": {"cli"},
    "": set(),
}
"""The parts of schedtop, from the ground up, and those right below each: it may import these and all below them."""

LEAVES = {"schedtop.sources.kernel.bpf_syscall", "schedtop.sources.kernel.bcc_child"}
"""What everything in sources/kernel may import: system calls, and a child that imports nothing of ours."""

FLOORS = 30
"""The longest chain of imports. A change that makes it longer has found a module that knows too much."""

LATE_IMPORTS = 92
"""How many imports there are inside functions: each makes some start quicker, or lets a program start at all."""


def may_import(part: str) -> set[str]:
    """The part itself and all below it."""
    return {part}.union(*(may_import(below) for below in BELOW[part]))


SCREEN = {"textual", "rich"}
DRAWS = {"widgets", "panes", "ui"}


def name_of(path: Path) -> str:
    """`schedtop.base.units` of schedtop/base/units.py, `schedtop.base` of schedtop/base/__init__.py."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path): path for path in MODULES}


def part_of(name: str) -> str:
    """The longest part of BELOW that a module is in: `sources.host` of `schedtop.sources.host.proc`."""
    inside = name.removeprefix("schedtop").removeprefix(".").split(".")
    return next(part for size in range(len(inside), 0, -1) if (part := ".".join(inside[:size])) in BELOW)


def executed(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, without what only a type checker reads."""
    yield node
    for below in ast.iter_child_nodes(node):
        if isinstance(below, ast.If) and ast.unparse(below.test) == "TYPE_CHECKING":
            for other in below.orelse:
                yield from executed(other)
        else:
            yield from executed(below)


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Full names of all modules that a file imports, wherever in it."""
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in executed(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module
            # `from schedtop import base` names a module, `from schedtop.base.units import rate` has it in front.
            for alias in node.names:
                below = f"{node.module}.{alias.name}"
                yield below if below in NAMES else node.module
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if name in ("import_module", "__import__") and node.args and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)


@cache
def graph() -> dict[str, set[str]]:
    """What each module imports of ours. The package itself, which has the version and imports nothing, is left out.

    Not read before a test asks: each worker collects all tests.
    """
    return {
        name: {other for other in imported(path) if other.startswith("schedtop.")} - {name}
        for name, path in NAMES.items()
    }


def named(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def test_the_walk_sees_imports_at_all() -> None:
    assert "schedtop.base.units" in graph()["schedtop.history.history"]
    assert {part_of(name) for name in NAMES} == set(BELOW)
    assert set().union(*graph().values()) <= set(NAMES)


def test_what_only_a_type_checker_reads_is_no_import(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("if TYPE_CHECKING:\n    import a\nelse:\n    import b\ndef late():\n    import c\n")
    assert imported(module) == ("b", "c")


def test_modules_import_each_other_in_no_circle() -> None:
    cycle: list[str] = []
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        cycle = [str(NAMES[name].relative_to(PACKAGE.parent)) for name in error.args[1]]
    assert not cycle, f"an import cycle: {' <- '.join(cycle)}"


def above(name: str) -> set[str]:
    """What a module imports that does not lie below it."""
    part = part_of(name)
    allowed = may_import(part)
    wrong = {other for other in graph()[name] if part_of(other) not in allowed}
    return wrong - (LEAVES if part == "sources.kernel.findings" else set())


def test_modules_import_only_what_lies_below() -> None:
    assert {name: wrong for name in NAMES if (wrong := above(name))} == {}


@cache
def chain(name: str) -> tuple[str, ...]:
    """The longest way down from a module, with itself."""
    return (name, *max(map(chain, graph()[name]), key=len, default=()))


def test_the_house_has_few_floors() -> None:
    longest = max(map(chain, NAMES), key=len)
    assert len(longest) <= FLOORS, " -> ".join(longest)


def late_imports(path: Path) -> Iterator[ast.stmt]:
    """Imports inside functions."""
    for function in executed(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from (node for node in executed(function) if isinstance(node, ast.Import | ast.ImportFrom))


def has_reason(lines: list[str], number: int) -> bool:
    """Whether there is a comment beside an import (lines count from 1), or above the imports that it stands among."""
    if "#" in lines[number - 1]:
        return True
    above = number - 2
    while lines[above].lstrip().startswith(("import ", "from ")):
        above -= 1
    return lines[above].lstrip().startswith("#")


def without_reason(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [lines[node.lineno - 1] for node in late_imports(path) if not has_reason(lines, node.lineno)]


def test_an_import_inside_a_function_says_why() -> None:
    assert {named(path): lines for path in MODULES if (lines := without_reason(path))} == {}


def test_few_imports_stand_inside_functions() -> None:
    assert sum(len(list(late_imports(path))) for path in MODULES) <= LATE_IMPORTS


CHILDREN = ["bcc_child", "compiler_child"]
"""What runs in child processes, maybe with another interpreter: the first has bcc, the others what it gives them."""


def test_bcc_is_imported_only_by_the_children() -> None:
    importers = [path for path in MODULES if "bcc" in roots(path)]
    assert [named(path) for path in importers] == ["sources/kernel/bcc_child.py"]
    at_once = [node for node in ast.parse(importers[0].read_text()).body if isinstance(node, ast.Import)]
    assert "bcc" not in {alias.name for node in at_once for alias in node.names}


@pytest.mark.parametrize("name", CHILDREN)
def test_a_child_needs_nothing_of_ours(name: str) -> None:
    assert roots(PACKAGE / "sources" / "kernel" / f"{name}.py") - {"bcc"} <= sys.stdlib_module_names


def roots(path: Path) -> set[str]:
    """The packages that a module imports of."""
    return {name.split(".")[0] for name in imported(path)}


def test_textual_is_imported_only_by_the_screen() -> None:
    others = [path for path in MODULES if part_of(name_of(path)) not in DRAWS]
    assert len(others) > 100
    assert [named(path) for path in others if SCREEN & roots(path)] == []


OTHERS = {
    "schedtop",
    "numpy",
    "pyarrow",
    "perfetto",
    "click",
    "prometheus_client",
    "jinja2",
    "markupsafe",
    "matplotlib",
    "bcc",
}
OTHERS |= {"elftools", "plotext", "tomlkit"}
"""What else may be imported at all. Another one needs a reason in docs/dependencies.md."""


def test_imports_are_only_those_allowed() -> None:
    allowed = OTHERS | SCREEN | sys.stdlib_module_names
    assert {named(path): wrong for path in MODULES if (wrong := roots(path) - allowed)} == {}
