"""Where kernels tell what binds a task to its CPU."""

import pytest

from schedtop.sources.kernel.bonds import bond_flags
from schedtop.sources.kernel.btf import KERNEL_BTF, Btf
from tests.unit.sources.kernel.test_btf import ENUM, INT, PTR, Blob


def kernel(*fields: str, helper: str = "BPF_FUNC_probe_read_kernel", current: str = "curr") -> Btf:
    """BTF of a kernel that has these of the fields that only some have."""
    blob = Blob()
    number, pointer = blob.add("unsigned int", INT, 4, (0x20,)), blob.add("", PTR, 0)
    entity = blob.struct("sched_entity", [("cfs_rq", pointer, 640)])
    task = [("pid", number, 64), ("se", entity, 2048)]
    queue = [(current, pointer, 128)]
    task += [(name, number, 96) for name in fields if name == "migration_disabled"]
    queue += [(name, number, 192) for name in fields if name == "core_enabled"]
    blob.struct("task_struct", task)
    blob.struct("cfs_rq", [("rq", pointer, 4096)])
    blob.struct("rq", queue)
    blob.add("bpf_func_id", ENUM, 4, (blob.name(helper), 113), 1)
    return Btf(blob.bytes())


def names(btf: Btf) -> set[str]:
    return {flag.removeprefix("-D").partition("_OFFSET")[0] for flag in bond_flags(btf)}


FOUND = {"TASK_CFS_RQ", "CFS_RQ_RQ", "RQ_CURRENT", "TASK_TID"}


def test_a_kernel_tells_of_what_it_has() -> None:
    assert names(kernel()) == FOUND
    assert names(kernel("migration_disabled")) == FOUND | {"TASK_MIGRATION_DISABLED"}
    assert names(kernel("migration_disabled", "core_enabled")) == FOUND | {"TASK_MIGRATION_DISABLED", "RQ_CORE_ENABLED"}


def test_without_the_helper_or_a_way_to_the_task_nothing_is_told() -> None:
    assert bond_flags(kernel("migration_disabled", helper="BPF_FUNC_probe_read")) == []
    assert bond_flags(kernel("migration_disabled", current="donor")) == []


def test_this_kernel_tells() -> None:
    if not KERNEL_BTF.exists():
        pytest.skip("this kernel has no BTF")
    assert names(Btf.of_kernel(KERNEL_BTF)) >= FOUND
