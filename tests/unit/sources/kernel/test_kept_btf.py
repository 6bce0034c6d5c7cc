"""What the kernel's BTF answered before: used again for the same kernel, never for another one, never from others."""

from pathlib import Path

import pytest

from schedtop.sources.kernel import kept_btf
from schedtop.sources.kernel.btf import Btf, BtfError
from schedtop.sources.kernel.cache_directory import DIRECTORY_VARIABLE
from schedtop.sources.kernel.kept_btf import FILE_NAME, KeptBtf, reading_once, with_kept_btf

READ: list[Path] = []


class Whole:
    """Stands for a BTF that was read: knows one field."""

    def offset(self, struct: str, path: str) -> int:
        if (struct, path) != ("task_struct", "pid"):
            raise BtfError(f"{struct} has no field {path}")
        return 1234


@pytest.fixture
def vmlinux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of BTF; each time that one is read is noted in READ."""

    def of_kernel(path: Path) -> Whole:
        READ.append(path)
        return Whole()

    READ.clear()
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path / "kept"))
    monkeypatch.setattr(Btf, "of_kernel", of_kernel)
    monkeypatch.setattr(kept_btf, "NOTES", tmp_path / "notes")
    (tmp_path / "notes").write_bytes(b"GNU\0a build id")
    path = tmp_path / "vmlinux"
    path.write_bytes(b"types")
    return path


def ask(btf: Btf) -> tuple[int, bool]:
    return btf.offset("task_struct", "pid"), btf.has_field("task_struct", "nothing")


def test_the_btf_is_read_once_for_what_was_asked_before(vmlinux: Path) -> None:
    assert [with_kept_btf(ask, vmlinux) for _ in range(3)] == [(1234, False)] * 3
    assert len(READ) == 1


def test_a_missing_field_has_the_same_error_when_its_answer_was_kept(vmlinux: Path) -> None:
    for _ in range(2):
        with pytest.raises(BtfError, match="rq has no field nowhere"):
            with_kept_btf(lambda btf: btf.offset("rq", "nowhere"), vmlinux)
    assert len(READ) == 1


def test_a_new_question_reads_the_btf_and_keeps_the_answers_before(vmlinux: Path) -> None:
    with_kept_btf(ask, vmlinux)
    with_kept_btf(lambda btf: btf.has_field("task_struct", "tgid"), vmlinux)
    assert len(READ) == 2
    with_kept_btf(lambda btf: (ask(btf), btf.has_field("task_struct", "tgid")), vmlinux)
    assert len(READ) == 2


def test_a_start_reads_the_btf_once_for_several_new_questions(vmlinux: Path) -> None:
    with reading_once():
        with_kept_btf(ask, vmlinux)
        with_kept_btf(lambda btf: btf.has_field("task_struct", "tgid"), vmlinux)
        with_kept_btf(lambda btf: btf.has_field("task_struct", "comm"), vmlinux)
    assert len(READ) == 1
    with_kept_btf(lambda btf: btf.has_field("task_struct", "on_rq"), vmlinux)
    assert len(READ) == 2


@pytest.mark.parametrize("changed", ["notes", "vmlinux"])
def test_another_kernel_is_asked_anew(vmlinux: Path, changed: str) -> None:
    with_kept_btf(ask, vmlinux)
    (vmlinux.parent / changed).write_bytes(b"GNU\0of another build")
    with_kept_btf(ask, vmlinux)
    assert len(READ) == 2


def test_without_a_build_id_answers_hold_until_the_next_boot(vmlinux: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    boot = vmlinux.with_name("boot_id")
    monkeypatch.setattr(kept_btf, "BOOT_ID", boot)
    vmlinux.with_name("notes").unlink()
    boot.write_text("one\n")
    for _ in range(2):
        with_kept_btf(ask, vmlinux)
    assert len(READ) == 1
    boot.write_text("two\n")
    with_kept_btf(ask, vmlinux)
    assert len(READ) == 2


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"kernel": 1}', b"\xff"])
def test_a_damaged_file_is_made_again(vmlinux: Path, damage: bytes) -> None:
    with_kept_btf(ask, vmlinux)
    (vmlinux.parent / "kept" / FILE_NAME).write_bytes(damage)
    for _ in range(2):
        assert with_kept_btf(ask, vmlinux) == (1234, False)
    assert len(READ) == 2


def test_answers_in_a_directory_that_others_can_write_to_are_not_believed(vmlinux: Path) -> None:
    with_kept_btf(ask, vmlinux)
    (vmlinux.parent / "kept").chmod(0o777)
    with_kept_btf(ask, vmlinux)
    assert len(READ) == 2


def test_a_kernel_without_btf_says_so_at_once(tmp_path: Path) -> None:
    with pytest.raises(BtfError, match="the kernel has no BTF"):
        KeptBtf.of_kernel(tmp_path / "nothing")
