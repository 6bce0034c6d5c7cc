"""A scope as the C expression that the kernel programs are compiled with, evaluated here as C would."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedtop.model.source import SourceError
from schedtop.sources.kernel.front_end import FrontEnd
from schedtop.sources.scope import Scope

BTF = FrontEnd("btf", (), {})
TRACEPOINT = FrontEnd("tracepoint", (), {})


def selects(scope: Scope, comm: bytes = b"", **slot: int) -> bool:
    """Whether the expression holds for a slot; what follows its name in memory is not part of it."""
    flag = next(flag for flag in scope.flags(BTF) if flag.startswith("-DSELECTED(s)="))
    expression = flag.partition("=")[2]
    memory = comm.ljust(16, b"\0")[:16] + b"\xff" * 16
    expression = re.sub(
        r"\*\(u64 \*\)\(\(s\)->comm \+ (\d+)\)",
        lambda match: str(int.from_bytes(memory[int(match[1]) : int(match[1]) + 8], "little")),
        expression,
    )
    expression = re.sub(r"\(s\)->(\w+)", lambda match: str(slot.get(match[1], 0)), expression)
    expression = re.sub(r"(?<=[0-9a-f])(ULL|u)\b", "", expression).replace("TASK_IN_CGROUP", "32")
    return bool(eval(expression.replace("||", " or ").replace("&&", " and ")))


def test_empty_scope_adds_no_code() -> None:
    assert Scope().flags(BTF) == ()
    assert not Scope()
    assert str(Scope()) == ""


def test_parts_must_all_hold_and_one_value_of_each_is_enough() -> None:
    scope = Scope(tids=(5, 6), tgids=(1,), comms=("ng",))
    assert selects(scope, b"nginx", tid=6, tgid=1)
    assert not selects(scope, b"nginx", tid=7, tgid=1)
    assert not selects(scope, b"nginx", tid=5, tgid=2)
    assert not selects(scope, b"sshd", tid=5, tgid=1)


@given(st.binary(max_size=15).map(lambda name: name.replace(b"\0", b"x")), st.text(min_size=1, max_size=17))
def test_a_name_has_a_part_as_the_filter_on_the_screen_sees_it(name: bytes, part: str) -> None:
    wanted = part.encode("utf-8", "ignore").lower()[:15]
    if not wanted or b"\0" in wanted:
        return
    folded = bytes(byte | 0x20 if 0x41 <= byte <= 0x5A else byte for byte in name)
    assert selects(Scope(comms=(wanted.decode("utf-8", "ignore") or "x",)), name) == (
        (wanted.decode("utf-8", "ignore") or "x").lower().encode()[:15] in folded
    )


@pytest.mark.parametrize("name", [b"aB@Z[c", b"ab`z{c", b"nginx: worker p", b"0123456789abcde"])
def test_case_is_ignored_of_letters_alone(name: bytes) -> None:
    assert selects(Scope(comms=(name.decode().upper(),)), name)
    assert selects(Scope(comms=(name.decode(),)), name) and not selects(Scope(comms=("@z",)), b"ab`z{c")


def test_groups_are_those_of_the_task() -> None:
    scope = Scope(cgroup=("/a/b", 77), pid_namespace=4026531999)
    assert selects(scope, flags=32 | 1, pid_namespace=4026531999)
    assert not selects(scope, flags=1, pid_namespace=4026531999)
    assert not selects(scope, flags=32, pid_namespace=4026531836)
    assert "-DSELECTED_CGROUP=77ULL" in scope.flags(BTF)
    assert "-DSELECTED_CGROUP_LEVEL=2" in scope.flags(BTF)
    assert str(scope) == "cgroup:/a/b pidns:4026531999"


def test_scope_beyond_the_tracepoints_is_refused() -> None:
    with pytest.raises(SourceError, match="--cgroup needs"):
        Scope(cgroup=("/", 1)).flags(TRACEPOINT)
    with pytest.raises(SourceError, match="--pidns needs"):
        Scope(pid_namespace=1).flags(TRACEPOINT)
    assert Scope(tgids=(1,)).flags(TRACEPOINT)
