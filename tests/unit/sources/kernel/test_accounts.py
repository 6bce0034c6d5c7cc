"""By which kernels' BTF waits are measured by the kernel's own accounting."""

from pathlib import Path

import pytest

from schedtop.sources.kernel.accounts import account_flags
from schedtop.sources.kernel.btf import Btf
from tests.unit.sources.kernel.test_btf import ENUM, INT, PTR, Blob

JIFFIES64 = 118


@pytest.fixture
def schedstat(tmp_path: Path) -> Path:
    path = tmp_path / "schedstat"
    path.write_text("81237 411 7\n")
    return path


def kernel(without: str = "", jiffies: bool = True) -> Btf:
    """BTF of a kernel that has all of it; `without`: a field left out."""

    def fields(*wanted: tuple[str, int, int]) -> list[tuple[str, int, int]]:
        return [field for field in wanted if field[0] != without]

    blob = Blob()
    number, pointer = blob.add("unsigned long", INT, 8, (0x40,)), blob.add("", PTR, 0)
    names = ("pcount", "run_delay", "last_arrival", "last_queued")
    info = blob.struct("sched_info", fields(*((name, number, 64 * place) for place, name in enumerate(names))))
    entity = blob.struct("sched_entity", fields(("cfs_rq", pointer, 640)))
    blob.struct("task_struct", [("se", entity, 2048), ("sched_info", info, 8000)])
    blob.struct("cfs_rq", fields(("rq", pointer, 4096)))
    blob.struct("rq", fields(("clock", number, 6400), ("cpu", number, 7200)))
    if jiffies:
        blob.add("bpf_func_id", ENUM, 4, (blob.name("BPF_FUNC_jiffies64"), JIFFIES64), 1)
    return Btf(blob.bytes())


def values(flags: list[str]) -> dict[str, int]:
    return {name: int(value) for name, value in (flag.removeprefix("-D").split("=") for flag in flags)}


def test_accounting_is_found_with_its_clock(schedstat: Path) -> None:
    found = values(account_flags(kernel(), schedstat))
    assert found["TASK_RUN_DELAY_OFFSET"] == (8000 + 64) // 8
    assert found["TASK_LAST_QUEUED_OFFSET"] == (8000 + 3 * 64) // 8
    assert found["TASK_CFS_RQ_OFFSET"] == (2048 + 640) // 8
    assert found["RQ_CLOCK_OFFSET"] == 6400 // 8
    assert found["BPF_JIFFIES64"] == JIFFIES64
    assert 1_000_000_000 % found["JIFFY_NS"] < 1000, "a whole number of ticks a second"


@pytest.mark.parametrize("field", ["run_delay", "last_queued", "pcount", "cfs_rq", "rq", "clock", "cpu"])
def test_a_kernel_that_lacks_one_field_is_measured_by_clock(schedstat: Path, field: str) -> None:
    assert account_flags(kernel(without=field), schedstat) == []


def test_without_jiffies_only_their_flags_are_missing(schedstat: Path) -> None:
    """Kernel 5.5."""
    found = values(account_flags(kernel(jiffies=False), schedstat))
    assert "RQ_CLOCK_OFFSET" in found
    assert not {"BPF_JIFFIES64", "JIFFY_NS"} & found.keys()


@pytest.mark.parametrize("text", ["0 0 0\n", "", "a b c\n"])
def test_accounting_that_is_off_is_not_believed(schedstat: Path, text: str) -> None:
    schedstat.write_text(text)
    assert account_flags(kernel(), schedstat) == []


def test_without_proc_it_is_not_believed(tmp_path: Path) -> None:
    assert account_flags(kernel(), tmp_path / "schedstat") == []
