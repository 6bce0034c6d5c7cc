"""Which fields of struct rq are read on which kernel: by the names that its BTF has."""

from pathlib import Path

import pytest

from schedtop.checks import host
from schedtop.sources.kernel.btf import KERNEL_BTF, Btf
from schedtop.sources.kernel.proxies import NO_LENGTHS, NOTE, proxies
from schedtop.sources.kernel.queue_fields import counts_delayed, queue_flags, queue_lengths
from tests.unit.sources.kernel.test_btf import ENUM, INT, PTR, Blob

NR, CURRENT, CFS = 32, 4096, 1024
KERNELS = {
    "5.4 to 6.11": ("nr_running h_nr_running idle_h_nr_running", "", {"FAIR": "h_nr_running"}),
    "6.12": ("nr_running h_nr_running idle_nr_running", "sched_delayed", {"FAIR": "h_nr_running"}),
    "6.13": (
        "nr_running h_nr_running idle_nr_running idle_h_nr_running h_nr_delayed",
        "sched_delayed",
        {"FAIR": "h_nr_running", "DELAYED": "h_nr_delayed"},
    ),
    "between": (
        "nr_running h_nr_queued h_nr_delayed",
        "sched_delayed",
        {"FAIR": "h_nr_queued", "DELAYED": "h_nr_delayed"},
    ),
    "6.14 and later": (
        "nr_queued h_nr_queued h_nr_runnable h_nr_idle",
        "sched_delayed",
        {"FAIR": "h_nr_runnable", "FAIR_ALL": "h_nr_queued"},
    ),
}


def kernel(counts: str, entity: str, *, without: str = "", helper: bool = True, donor: int = 0) -> Btf:
    """BTF of a kernel whose cfs_rq has these counts, 32 bits each from bit 32 on.

    `without`: a field left out; `donor`: the bit where rq.donor is, rq.curr is at 8064.
    """

    def fields(*wanted: tuple[str, int, int]) -> list[tuple[str, int, int]]:
        return [field for field in wanted if field[0] != without]

    blob = Blob()
    number = blob.add("unsigned int", INT, 4, (0x20,))
    pointer = blob.add("", PTR, 0)
    names = [(name, number, 32 * (1 + place)) for place, name in enumerate(counts.split())]
    cfs = blob.struct("cfs_rq", fields(*names, ("curr", pointer, CURRENT), ("rq", pointer, CURRENT + 64)))
    contexts = [("donor", pointer, donor), ("curr", pointer, 8064)] if donor else []
    blob.struct("rq", fields(("nr_running", number, NR), ("cfs", cfs, CFS), ("cpu", number, 9000), *contexts))
    inside = [("cfs_rq", pointer, 640), *((name, number, 80) for name in entity.split())]
    se = blob.struct("sched_entity", fields(*inside))
    blob.struct("task_struct", [("se", se, 2048)])
    if helper:
        blob.add("bpf_func_id", ENUM, 4, (blob.name("BPF_FUNC_probe_read_kernel"), 113), 1)
    return Btf(blob.bytes())


def offsets(flags: list[str]) -> dict[str, int]:
    pairs = (flag.removeprefix("-D").split("=") for flag in flags)
    return {name.removesuffix("_OFFSET"): int(value) for name, value in pairs}


@pytest.mark.parametrize("name", KERNELS)
def test_runnable_tasks_are_counted_whatever_the_fields_are_called(name: str) -> None:
    counts, entity, chosen = KERNELS[name]
    found = offsets(queue_flags(kernel(counts, entity)))
    places = {f"QUEUE_{key}": (CFS + 32 * (1 + counts.split().index(field))) // 8 for key, field in chosen.items()}
    assert found == {
        "TASK_CFS_RQ": (2048 + 640) // 8,
        "CFS_RQ_RQ": (CURRENT + 64) // 8,
        "RQ_CPU": 9000 // 8,
        "QUEUE_ALL": NR // 8,
        "QUEUE_FAIR_CURRENT": (CFS + CURRENT) // 8,
        **places,
    }
    assert counts_delayed(kernel(counts, entity)) == (name == "6.12")


@pytest.mark.parametrize("field", ["nr_running", "cfs_rq", "rq", "cpu", "curr", "cfs"])
def test_queue_lengths_need_every_field(field: str) -> None:
    # nr_running is a field of rq here, not of cfs_rq.
    assert queue_flags(kernel("nr_queued h_nr_queued h_nr_runnable", "sched_delayed", without=field)) == []


def test_a_count_of_a_group_alone_is_not_taken_for_that_of_the_cpu() -> None:
    assert queue_flags(kernel("nr_running", "")) == []
    assert queue_flags(kernel("nr_queued", "")) == []


def test_queue_lengths_need_the_helper() -> None:
    assert queue_flags(kernel("h_nr_running", "", helper=False)) == []


def test_queue_fields_of_this_kernel_are_found() -> None:
    if not KERNEL_BTF.exists():
        pytest.skip("this kernel has no BTF")
    assert "QUEUE_FAIR" in offsets(queue_flags(Btf.of_kernel(KERNEL_BTF)))


@pytest.mark.parametrize(
    ("donor", "command_line", "active"),
    [
        (0, "quiet", False),  # before 6.12
        (8064, "quiet", False),  # without CONFIG_SCHED_PROXY_EXEC both contexts are one
        (8000, "quiet", True),
        (8000, "quiet sched_proxy_exec=0", False),
        (8000, "sched_proxy_exec=off sched_proxy_exec=1", True),
    ],
)
def test_with_proxy_execution_lengths_are_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, donor: int, command_line: str, active: bool
) -> None:
    told = tmp_path / "cmdline"
    told.write_text(command_line + "\n")
    btf = kernel(*KERNELS["6.14 and later"][:2], donor=donor)
    assert proxies(btf, told) is active
    assert host.proxy_execution(btf, told).details == {"active": active}
    monkeypatch.setattr("schedtop.sources.kernel.queue_fields.proxies", lambda btf: proxies(btf, told))
    flags, why, notes = queue_lengths(btf)
    assert (not flags, why, notes) == (active, NO_LENGTHS if active else "", (NOTE,) if active else ())
