"""The kernel side's sources: what they include, and that any C tool can parse each of them alone."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from schedtop.sources.kernel.program_text import program_text, source_directory

BPF = source_directory()
INCLUDE = BPF / "include"
OURS = sorted(path for path in BPF.rglob("*.[ch]") if not path.is_relative_to(INCLUDE))
PROGRAMS = [str(path.relative_to(BPF)) for path in OURS if path.suffix == ".c"]


def test_an_included_file_stands_where_it_is_first_named_and_only_there(tmp_path: Path) -> None:
    (tmp_path / "feature").mkdir()
    (tmp_path / "shared.h").write_text("shared\n")
    (tmp_path / "feature/own.h").write_text('#include "../shared.h"\nown\n')
    (tmp_path / "feature/program.c").write_text(
        'first\n#include <kept.h>\n#include "../shared.h"\n#include "own.h"\nlast\n'
    )
    assert program_text(tmp_path, "feature/program.c").splitlines() == [
        '#line 1 "feature/program.c"', "first", "#include <kept.h>",
        '#line 1 "shared.h"', "shared",
        '#line 4 "feature/program.c"',
        '#line 1 "feature/own.h"', '#line 2 "feature/own.h"', "own",
        '#line 5 "feature/program.c"', "last",
    ]  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_one_text_with_each_header_once(name: str) -> None:
    text = program_text(BPF, name)
    assert not re.search(r'#include "', text)
    begun = re.findall(r'^#line 1 "(.*)"$', text, re.MULTILINE)
    assert begun[0] == name and len(begun) == len(set(begun)) > 1


@pytest.mark.parametrize("header", [path for path in OURS if path.suffix == ".h"], ids=lambda path: path.name)
def test_a_header_has_a_guard_with_its_own_name(header: Path) -> None:
    guard = "SCHEDTOP_" + re.sub(r"[/.]", "_", str(header.relative_to(BPF))).upper()
    text = header.read_text()
    assert text.count(f"#ifndef {guard}\n#define {guard}\n") == 1 and text.endswith("\n#endif\n")


@pytest.mark.parametrize("path", OURS, ids=lambda path: str(path.relative_to(BPF)))
@pytest.mark.parametrize("flags", [(), ("-DFEWEST_FLAGS",)], ids=["all flags", "fewest flags"])
def test_any_c_tool_can_parse_a_file_alone(path: Path, flags: tuple[str, ...]) -> None:
    if not (clang := shutil.which("clang")):
        pytest.skip("clang is not installed")
    # A header alone is a main file whose functions nothing uses; some of those that it declares are in the front ends.
    unused = ("-Wno-unused-function", "-Wno-undefined-internal") if path.suffix == ".h" else ()
    command = (clang, "@compile_flags.txt", *flags, "-fsyntax-only", "-Werror", *unused, str(path))
    run = subprocess.run(command, cwd=BPF, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


def test_each_flag_that_decides_what_is_compiled_is_known_to_such_tools() -> None:
    asked = {
        name
        for path in OURS
        for line in re.findall(r"^#(?:ifdef|ifndef|if|elif) (.*)", path.read_text(), re.MULTILINE)
        for name in re.findall(r"\b[A-Z][A-Z0-9_]+\b", line)
        if not name.startswith(("SCHEDTOP_", "_"))
    }
    assert asked <= set(re.findall(r"#define (\w+)", (INCLUDE / "flags.h").read_text())) | {"SELECTED"}


def test_no_struct_of_ours_has_a_name_of_the_kernels_interface() -> None:
    """bcc's headers define the structs of uapi/linux/bpf.h, each release more of them."""
    for path in OURS:
        assert re.findall(r"^struct (bpf_\w+) \{", path.read_text(), re.M) == [], path
