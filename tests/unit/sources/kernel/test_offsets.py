"""What front ends ask of kernels' BTF: the count of interrupts, and the function that makes pointers untrusted."""

from pathlib import Path

import pytest

from schedtop.sources.kernel.btf import Btf, SymbolsHidden
from schedtop.sources.kernel.offsets import INTERRUPTS_UNKNOWN, interrupt_flags, tells_interrupts, verifier_flags
from schedtop.sources.task.front_end import btf_task_front_end
from tests.unit.sources.kernel.test_btf import ENUM, INT, PTR, TYPEDEF, Blob

FUNCTION, VARIABLE, SECTION = 12, 14, 15
NEW_LAYOUT = "-DINTERRUPTS_ARE_DISABLED_BY_COUNT"


def kernel(*variables: tuple[str, int], symbols: Path | None = None, hot: bool = False) -> Btf:
    """BTF of an x86 kernel with these variables of each CPU, each at its offset; `hot`: it has that struct."""
    blob = Blob()
    number, pointer = blob.add("unsigned int", INT, 4, (0x20,)), blob.add("", PTR, 0)
    entity = blob.struct("sched_entity", [("cfs_rq", pointer, 640)])
    names = ("pid", "tgid", "comm", "__state", "on_rq", "min_flt", "maj_flt", "exit_code")
    fields = [(name, number, 32 * place) for place, name in enumerate(names)]
    blob.struct("task_struct", [*fields, ("se", entity, 2048)])
    blob.struct("cfs_rq", [("rq", pointer, 4096)])
    kind = number
    if hot or "pcpu_hot" in dict(variables):
        kind = blob.struct("pcpu_hot", [("current_task", pointer, 0), ("preempt_count", number, 64)])
    blob.add("btf_trace_sched_switch", TYPEDEF, blob.add("", PTR, blob.prototype(5)))
    blob.add("bpf_func_id", ENUM, 4, (blob.name("BPF_FUNC_x"), 1), 1)
    words: tuple[int, ...] = ()
    for name, offset in variables:
        words += (blob.add(name, VARIABLE, kind if name == "pcpu_hot" else number, (1,)), offset, 4)
    if variables:
        blob.add(".data..percpu", SECTION, 0, words, len(variables))
    return Btf(blob.bytes(), symbols)


@pytest.mark.parametrize(
    ("variable", "distance"),
    [
        pytest.param("pcpu_hot", 0x1008 - 0x3000, id="6.2-to-6.14"),
        pytest.param("__preempt_count", -0x2000, id="others"),
    ],
)
def test_the_count_is_found_by_its_distance_from_the_run_queue(variable: str, distance: int) -> None:
    flags = interrupt_flags(kernel((variable, 0x1000), ("runqueues", 0x3000)))
    assert f"-DRQ_TO_PREEMPT_COUNT=({distance}LL)" in flags
    assert tells_interrupts(flags)
    assert NEW_LAYOUT not in flags


def test_the_count_has_another_layout_where_interrupts_are_disabled_by_count() -> None:
    variables = (("__preempt_count", 0x1000), ("local_interrupt_disable_state", 0x2000), ("runqueues", 0x3000))
    assert NEW_LAYOUT in interrupt_flags(kernel(*variables))


@pytest.mark.parametrize(("name", "distance"), [("pcpu_hot", 8 - 0x2000), ("__preempt_count", -0x2000)])
def test_btf_without_variables_leaves_it_to_the_list_of_symbols(tmp_path: Path, name: str, distance: int) -> None:
    symbols = tmp_path / "kallsyms"
    symbols.write_text(f"{0x1000:016x} A {name}\n{0x1004:016x} d not_runqueues\n{0x3000:016x} A runqueues\n")
    btf = kernel(symbols=symbols, hot=name == "pcpu_hot")
    assert f"-DRQ_TO_PREEMPT_COUNT=({distance}LL)" in interrupt_flags(btf)
    assert NEW_LAYOUT not in interrupt_flags(btf)
    symbols.write_text(symbols.read_text() + f"{0x4000:016x} A local_interrupt_disable_state\n")
    assert NEW_LAYOUT in interrupt_flags(btf)


def test_hidden_symbols_tell_nothing(tmp_path: Path) -> None:
    symbols = tmp_path / "kallsyms"
    symbols.write_text(f"{0:016x} A __preempt_count\n{0:016x} A runqueues\n")
    assert interrupt_flags(kernel(symbols=symbols)) == []
    with pytest.raises(SymbolsHidden):
        kernel(symbols=symbols).per_cpu_distance("__preempt_count", "runqueues")


def test_a_kernel_that_does_not_tell_where_it_is_says_so() -> None:
    btf = kernel(("runqueues", 0x3000))
    assert interrupt_flags(btf) == []
    assert btf_task_front_end(btf, "x86_64").unavailable["woken_by"] == INTERRUPTS_UNKNOWN
    known = kernel(("pcpu_hot", 0x1000), ("runqueues", 0x3000))
    assert "woken_by" not in btf_task_front_end(known, "x86_64").unavailable


@pytest.mark.parametrize(
    ("jit", "told"), [("1\n", True), (None, True), ("0\n", False)], ids=["jit", "not-told", "no-jit"]
)
def test_functions_of_the_kernel_are_called_where_programs_are_compiled(
    tmp_path: Path, jit: str | None, told: bool
) -> None:
    blob = Blob()
    task, number = blob.struct("task_struct", []), blob.struct("timespec64", [])
    function = blob.add("bpf_rdonly_cast", FUNCTION, blob.prototype(2))
    if jit is not None:
        (tmp_path / "jit").write_text(jit)
    flags = [f"-DRDONLY_CAST={function}", f"-DTASK_TYPE={task}", f"-DU64_TYPE={number}"] if told else []
    assert verifier_flags(Btf(blob.bytes()), tmp_path / "jit") == flags


def test_before_6_2_there_is_no_such_function() -> None:
    blob = Blob()
    blob.struct("task_struct", [])
    assert verifier_flags(Btf(blob.bytes())) == []
