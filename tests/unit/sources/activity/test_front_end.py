"""How the programs of activity begin on kernels that lack a helper."""

from __future__ import annotations

from typing import cast

import pytest

from schedtop.sources.activity.front_end import _task_flags
from schedtop.sources.kernel.btf import Btf, BtfError


class Known:
    """What a kernel's BTF says of task_struct and of helpers."""

    def __init__(self, **helpers: int) -> None:
        self.helpers = helpers

    def offset(self, struct: str, field: str) -> int:
        return len(struct) + len(field)

    def enumerator(self, enum: str, name: str) -> int:
        if name not in self.helpers:
            raise BtfError(f"enum {enum} has no {name}")
        return self.helpers[name]


@pytest.mark.parametrize(
    ("helpers", "flag"),
    [({"BPF_FUNC_get_current_task_btf": 158}, "-DGET_CURRENT_TASK_BTF=158"), ({}, "-DCOPIED_FIELDS")],
)
def test_fields_are_copied_where_the_task_may_not_be_loaded_from(helpers: dict[str, int], flag: str) -> None:
    flags = _task_flags(cast("Btf", Known(**helpers)))
    assert flags[-1] == flag
    assert sum("CURRENT_TASK" in one or "COPIED" in one for one in flags) == 1
