"""The parts of `make test-kernels` that need no machine: which kernels and tests, and what becomes of the results."""

import ast
import sys
from dataclasses import replace

import pytest

from tests import ROOT
from tests.kernels.__main__ import _short
from tests.kernels.chosen import _EXACT, chosen, front_end_of
from tests.kernels.control import has_stood, note_stood
from tests.kernels.emulator import Emulator, backport
from tests.kernels.guest_root import _IMPORTED
from tests.kernels.machine import Processors, last_words
from tests.kernels.packages import Unavailable, choose, packages
from tests.kernels.table import BEGIN, END, Result, updated
from tests.kernels.unfinished import load, save

RELEASES = ["5.10.0-9", "5.10.0-46", "6.1.0-0.deb11.52", "6.1.0-50", "6.12.95+deb12", "6.12.107+deb13", "7.3.4+deb13"]
TOLD = {
    "kernel": "6.1.0-50", "package": "6.1.176-1", "CPUs": "2", "front end": "btf", "compiled": "outside",
    "tests": "all", "date": "2026-11-22", "qemu": "7.2", "bcc": "0.26",
}  # fmt: skip


@pytest.mark.parametrize(
    ("series", "release"),
    [("5.10", "5.10.0-46"), ("6.1", "6.1.0-50"), ("6.12", "6.12.107+deb13"), ("newest", "7.3.4+deb13")],
)
def test_the_newest_of_a_series(series: str, release: str) -> None:
    assert choose(series, RELEASES) == release


def test_a_series_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(Unavailable, match=r"no kernel 6\.6 .* 5\.10, 6\.1, 6\.12, 7\.3$"):
        choose("6.6", RELEASES)


def test_a_kernel_in_parts() -> None:
    name = "linux-image-7.3.4+deb13-cloud-amd64"
    depends = (
        "kmod, linux-binary-7.3.4+deb13-cloud-amd64 (= 7.3.4-1), linux-modules-7.3.4+deb13-cloud-amd64 (= 7.3.4-1)"
    )
    parts = packages(f"Package: {name}\nVersion: 7.3.4-1\nDepends: {depends}\n")
    assert parts == [name, *(name.replace("image", part) for part in ("binary", "modules"))]
    assert packages("Package: linux-image-6.1.0-50-cloud-amd64\nDepends: kmod, linux-base (>= 4.3)\n") == [
        "linux-image-6.1.0-50-cloud-amd64"
    ]


def test_every_chosen_test_is_there() -> None:
    for test in chosen(quick=False, words=""):
        path, name = test.split("::")
        functions = ast.walk(ast.parse((ROOT / path).read_text()))
        assert name in {function.name for function in functions if isinstance(function, ast.FunctionDef)}
    assert set(chosen(quick=True, words="")) < set(chosen(quick=False, words=""))
    assert chosen(quick=False, words="ctxt") == ["tests/root/test_ground_truth.py::test_switches_match_ctxt"]


def test_a_guest_has_all_that_schedtop_imports() -> None:
    trees = [ast.parse(path.read_text()) for path in (ROOT / "schedtop").rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    packages_used = {name.partition(".")[0] for name in imported} - {"schedtop", *sys.stdlib_module_names}
    # What draws charts and writes tables stays outside, and bcc comes by itself.
    assert packages_used - {"bcc", "matplotlib", "plotext", "pyarrow"} <= set(_IMPORTED)


def test_the_exact_tests_are_some_of_all_and_each_word_of_theirs_finds_one() -> None:
    exact = chosen(quick=False, words="", exact=True)
    assert set(exact) < set(chosen(quick=False, words="")) and len(set(exact)) == len(exact)
    for word in _EXACT:
        assert any(word in test for test in exact), word


def test_a_name_keeps_what_tells_two_results_apart() -> None:
    names = [
        _short(f"tests/root/test_a.py::test_it{ending}") for ending in ("", "[btf]", "[btf-clock-storm]", "[loops]")
    ]
    assert names == ["it", "it", "it[clock-storm]", "it[loops]"]


def test_what_a_guest_had_no_time_for_is_run_by_the_next(tmp_path) -> None:
    file = tmp_path / "unfinished.json"
    assert load(file) == ({}, [])
    save(file, {"btf": Result(["a"], failed={"b": "wrong"}, left=["c"])}, ["tests/root/test_a.py::test_c"])
    results, left = load(file)
    assert left == ["tests/root/test_a.py::test_c"]
    assert (results["btf"].passed, results["btf"].failed, results["btf"].left) == (["a"], {"b": "wrong"}, [])
    save(file, results, [])
    assert load(file) == ({}, [])


def test_a_row_says_what_there_was_no_time_for() -> None:
    assert Result(["a"], left=["b", "c"]).row(TOLD)["what did not pass at once"] == "no time for 2: b, c"
    assert Result(["a"], left=["b"] * 9).row(TOLD)["what did not pass at once"] == "no time for 9"


def test_each_qemu_is_tried_once_with_as_many_threads(tmp_path) -> None:
    known, other = Emulator("qemu", "10.0.2", "tcg,thread=multi"), Emulator("qemu", "10.0.2", "tcg,thread=single")
    assert not has_stood(tmp_path, known)
    note_stood(tmp_path, known)
    assert has_stood(tmp_path, known)
    assert not has_stood(tmp_path, other)
    assert not has_stood(tmp_path, replace(known, version="10.1"))


def test_a_test_belongs_to_a_front_end() -> None:
    ends = [front_end_of(f"test_it{ending}") for ending in ("[tracepoint]", "[btf]", "")]
    assert ends == ["tracepoint", "btf", "btf"]


def test_rows_take_the_place_of_those_before_them() -> None:
    page = updated(f"above\n{BEGIN}\n{END}\nbelow\n", [Result(["a", "b"]).row(TOLD)])
    failed = Result(["a"], failed={"b": "1 | 2\n<3"}, skipped={"c": "not there"}, repeated=["a", "b"])
    more = [
        failed.row(TOLD | {"kernel": "6.1.0-51"}),
        Result(["a"]).row(TOLD | {"kernel": "5.10.0-46", "CPUs": "2 of 64"}),
    ]
    page = updated(page, more)
    assert page.startswith("above\n") and page.endswith("\nbelow\n")
    lines = [line for line in page.splitlines() if line.startswith("|")]
    assert [line.split(" | ")[0] for line in lines] == ["| kernel", "| ---", "| 5.10.0-46", "| 6.1.0-51"]
    assert "| 1 | 1 | 1 | failed: b (1 / 2 &lt;3); skipped: c (not there); passed the second time: a |" in lines[3]
    assert updated(page, []) == page, "what is read is what was written"


TESTS = ["only yield", "only yield,exec", "quick", "all"]


@pytest.mark.parametrize("order", [TESTS, TESTS[::-1], ["quick", "only yield", "all", "only yield,exec"]], ids=str)
def test_no_row_goes_because_of_a_run_with_other_tests(order: list[str]) -> None:
    page = f"{BEGIN}\n{END}\n"
    for number, tests in enumerate(order, 1):
        page = updated(page, [Result(["a"] * number).row(TOLD | {"tests": tests})])
    rows = [line.split(" | ") for line in page.splitlines()[1:] if line.startswith("| 6.1")]
    assert {row[5]: row[6] for row in rows} == {tests: str(number) for number, tests in enumerate(order, 1)}
    assert len(rows) == len(order)


def test_of_the_same_run_the_newest_row_stays() -> None:
    old, new = (TOLD | {"date": day} for day in ("2026-11-22", "2026-11-23"))
    page = updated(f"{BEGIN}\n{END}\n", [Result(["a"] * 3).row(old)])
    newer = updated(page, [Result(["a"] * 2, {"b": "why"}).row(new | {"kernel": "6.1.0-51"})])
    assert newer.count("| 6.1.0-5") == 1 and "| 6.1.0-51 |" in newer
    assert updated(newer, [Result(["a"] * 3).row(old)]) == newer, "also if it was merged first"
    assert updated(newer, [Result(["a"] * 3).row(new)]) != newer, "of one day that which ran last"


def test_a_page_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="no place for the table"):
        updated("nothing", [])


def test_processors() -> None:
    assert [str(Processors.parse(text)) for text in ("2", "2/64")] == ["2", "2/64"]
    with pytest.raises(ValueError, match="invalid literal"):
        Processors.parse("many")


def test_qemu_comes_from_the_backports_of_this_release() -> None:
    told = (
        " qemu-system-x86 | 1:10.0.13-1 | http://archive trixie/main amd64 Packages\n"
        " qemu-system-x86 | 1:10.0.2-2~bpo12+1 | http://archive bookworm-backports/main amd64 Packages\n"
        " qemu-system-x86 | 1:7.2-7 | http://archive bookworm/main amd64 Packages\n"
    )
    assert backport(told, "bookworm") == "1:10.0.2-2~bpo12+1"
    with pytest.raises(Unavailable, match="trixie-backports has none"):
        backport(told, "trixie")


def test_a_panic_is_told_with_its_oops() -> None:
    console = (
        "[    1.0] Run /init\n\n[   34.1] Oops: int3: 0000 [#1] PREEMPT SMP\n[   34.2] RIP: 0010:__schedule+0x99\n"
        "[   34.3] RIP: 0010:later\n[   34.4] Kernel panic - not syncing: Fatal exception\n[   34.5] Rebooting\n"
    )
    assert last_words(console).split("; ") == [
        "Oops: int3: 0000 [#1] PREEMPT SMP",
        "RIP: 0010:__schedule+0x99",
        "Kernel panic - not syncing: Fatal exception",
    ]
    assert last_words("[ 1.0] one\n[ 2.0] two\n\n") == "two"
    assert last_words("") == "nothing"
