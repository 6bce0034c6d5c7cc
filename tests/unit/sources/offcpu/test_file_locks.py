"""Who has the locks for which others wait, by /proc/locks."""

from __future__ import annotations

from pathlib import Path

from schedtop.offcpu.measurement import LockHolder
from schedtop.sources.offcpu.file_locks import lock_holders

LOCKS = """\
1: FLOCK  ADVISORY  WRITE 100 00:1f:77 0 EOF
1: -> FLOCK  ADVISORY  WRITE 200 00:1f:77 0 EOF
1:  -> FLOCK  ADVISORY  READ 201 00:1f:77 0 EOF
2: POSIX  ADVISORY  WRITE 101 fe:00:9 0 EOF
3: OFDLCK ADVISORY  WRITE -1 fe:00:10 0 EOF
3: -> POSIX  ADVISORY  WRITE 202 fe:00:10 0 9
4: POSIX  ADVISORY  WRITE 101 fe:00:11 0 EOF
4: -> POSIX  ADVISORY  WRITE 200 fe:00:11 0 9
garbage
"""


def test_holders_by_the_process_that_waits(tmp_path: Path) -> None:
    (tmp_path / "locks").write_text(LOCKS)
    (tmp_path / "100").mkdir()
    (tmp_path / "100" / "comm").write_text("holder\n")
    found = lock_holders({200, 201, 202, 101, 300}, tmp_path)
    assert found == {
        200: (LockHolder(100, "holder"), LockHolder(101, "")),
        201: (LockHolder(100, "holder"),),
        202: (LockHolder(0, ""),),
    }
    assert found[200][0].name == "holder-100" and "does not name" in found[202][0].name
    assert lock_holders({200}, tmp_path / "none") == {}
