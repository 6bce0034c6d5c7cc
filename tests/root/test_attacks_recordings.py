"""A recording that an ordinary user made and root opens takes little memory, or is refused in one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.hostile_recordings import LINES, RECORDINGS, SNAPSHOTS
from tests.peak import run

pytestmark = pytest.mark.beside

NOBODY = 65534
MOST_BYTES = 300_000_000
ATTACKS = (
    "long_name", "cgroups_within_bounds", "events_within_bounds", "nested_lists", "many_rows", "many_cpus",
    "much_packed_lines", "snapshot_of_objects",
)  # fmt: skip
"""The three of the review, and those that took most of what was found after it."""


def of_nobody(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    os.chown(path, NOBODY, NOBODY)
    return str(path)


@pytest.mark.parametrize("name", ATTACKS)
def test_a_recording_of_another_user_takes_no_gigabytes(name: str, tmp_path: Path) -> None:
    usual = of_nobody(tmp_path / "usual.rec", "".join(LINES).encode())
    attack = of_nobody(tmp_path / "attack.rec.gz", (RECORDINGS | SNAPSHOTS)[name]())
    for words in (("report",), ("diff", usual)):
        base = run("-m", "schedtop", *words, usual)
        ended = run("-m", "schedtop", *words, attack)
        assert ended.peak_bytes - base.peak_bytes < MOST_BYTES
        assert ended.status == 0 or (ended.said.startswith("schedtop: ") and ended.said.count("\n") == 1)
