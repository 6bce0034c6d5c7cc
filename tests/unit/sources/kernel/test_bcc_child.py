"""Where the child processes find bcc, what they must not import on the way, and how they describe structs."""

from __future__ import annotations

import ast
import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import schedtop
from schedtop.sources.kernel import bcc_child
from schedtop.sources.kernel.compiler_child import layout
from schedtop.sources.kernel.early_compiler import bcc_command

CHILDREN = sorted((Path(schedtop.__file__).parent / "sources" / "kernel").glob("*_child.py"))
TRAPS = ("bcc", "json", "ctypes", "base64", "compiler_child", "sitecustomize", "usercustomize")
HIDDEN = "raise ImportError('hidden by a test')\n"


def run(command: list[str], environment: Mapping[str, str], where: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environment, cwd=where, capture_output=True, text=True, check=False, timeout=60)


def distribution_has_bcc() -> bool:
    script = str(Path(bcc_child.__file__))
    command = [bcc_child.DISTRIBUTION, "-I", script, "about", "", "last"]
    return Path(bcc_child.DISTRIBUTION).exists() and not run(command, os.environ, Path("/")).returncode


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """A directory with modules that leave a file behind when somebody imports them."""
    for name in TRAPS:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'caught')!r}, 'a').write('{name} ')\n")
    return tmp_path


@pytest.mark.skipif(not distribution_has_bcc(), reason="the distribution's interpreter has no bcc")
def test_bcc_is_that_of_the_distribution_where_ours_has_none(tmp_path: Path, trapped: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "bcc.py").write_text(HIDDEN)
    done = run(bcc_command("about"), {**os.environ, "PYTHONPATH": str(hidden)}, trapped)
    assert done.returncode == 0, done.stderr
    about = json.loads(done.stdout)
    assert "hidden by a test" in done.stderr
    assert not about["binding"].startswith(str(tmp_path))
    assert about["version"] and any("libbcc" in name for name in about["libraries"])
    assert not (trapped / "caught").exists()


def test_child_imports_nothing_from_the_current_directory(trapped: Path) -> None:
    done = run(bcc_command("about"), {name: os.environ[name] for name in ("PATH",)}, trapped)
    assert done.returncode in (0, bcc_child.NO_BCC)
    assert not (trapped / "caught").exists()
    # The trap works: an interpreter that looks there falls into it.
    run([sys.executable, "-c", "import bcc"], os.environ, trapped)
    assert "bcc" in (trapped / "caught").read_text()


def test_another_module_of_that_name_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "bcc.py").write_text("")
    script = str(Path(bcc_child.__file__))
    done = run(
        [sys.executable, "-P", script, "about", "", "last"], {**os.environ, "PYTHONPATH": str(tmp_path)}, tmp_path
    )
    assert done.returncode == bcc_child.NO_BCC
    assert "another bcc" in done.stderr


@pytest.mark.parametrize("path", CHILDREN, ids=lambda path: path.name)
def test_a_child_runs_with_an_old_interpreter(path: Path) -> None:
    assert len(CHILDREN) == 2
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    named = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    named |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    assert {name.partition(".")[0] for name in named} - sys.stdlib_module_names <= {"bcc"}


class Inner(ctypes.Structure):
    _fields_ = (("a", ctypes.c_uint8), ("b", ctypes.c_uint64))


class Outer(ctypes.Structure):
    _fields_ = (
        ("flag", ctypes.c_bool),
        ("letter", ctypes.c_char),
        ("byte", ctypes.c_byte),
        ("short", ctypes.c_ushort),
        ("int", ctypes.c_int),
        ("long", ctypes.c_long),
        ("wide", ctypes.c_ulonglong),
        ("real", ctypes.c_double),
        ("name", ctypes.c_char * 16),
        ("bytes", ctypes.c_ubyte * 5),
        ("numbers", ctypes.c_uint * 7),
        ("inner", Inner),
        ("inners", Inner * 3),
    )


class Packed(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("a", ctypes.c_uint8), ("b", ctypes.c_uint64), ("c", ctypes.c_char * 3))


def numpys(leaf: Any) -> dict[str, Any]:
    """The same by numpy's own reading of a ctypes type."""
    dtype = np.dtype(leaf)
    if dtype.names is None or dtype.fields is None:
        return {"names": ["value"], "formats": [dtype.str], "offsets": [0], "itemsize": dtype.itemsize}

    def code(field: np.dtype[Any]) -> str:
        if field.base == np.dtype("S1") and field.shape:
            return f"S{field.shape[0]}"
        return f"{field.shape}{field.base.str}" if field.shape else field.str

    fields = [dtype.fields[name] for name in dtype.names]
    formats, offsets = [code(field[0]) for field in fields], [field[1] for field in fields]
    return {"names": list(dtype.names), "formats": formats, "offsets": offsets, "itemsize": dtype.itemsize}


@pytest.mark.parametrize("leaf", [Inner, Outer, Packed, ctypes.c_uint32, ctypes.c_ulonglong, ctypes.c_byte * 9])
def test_a_layout_is_what_numpy_makes_of_the_type(leaf: Any) -> None:
    found = layout(leaf)
    assert found == numpys(leaf)
    description: Any = found
    assert np.dtype(description).itemsize == ctypes.sizeof(leaf)


def test_an_array_of_arrays_keeps_its_shape() -> None:
    class Table(ctypes.Structure):
        _fields_ = (("table", (ctypes.c_uint16 * 3) * 2),)

    description: Any = layout(Table)
    assert np.dtype(description)["table"].shape == (2, 3)


def test_a_type_without_a_layout_is_refused() -> None:
    with pytest.raises(TypeError, match="c_void_p"):
        layout(ctypes.c_void_p)
