"""Constants of the kernel side: how they are read from C, and that nothing in Python has numbers of its own."""

import ast
import re
from pathlib import Path

import pytest

import schedtop
from schedtop import task
from schedtop.capture import events as capture
from schedtop.model import interrupts, queue_lengths, rows
from schedtop.offcpu import measurement as offcpu
from schedtop.sources.interrupts.front_end import softirqs, vectors
from schedtop.sources.kernel import constants
from schedtop.sources.kernel.constants import INTERRUPTS, SCHEDULER, Header, constants_of, header_constants
from schedtop.sources.kernel.program_text import source_directory
from schedtop.sources.scheduler import blamed
from schedtop.sources.scheduler import source as live
from schedtop.sources.task import tables as task_tables

PACKAGE = Path(schedtop.__file__).parent
HEADERS = sorted(str(path.relative_to(source_directory())) for path in source_directory().glob("*/*.h"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#define PLAIN 12", {"PLAIN": 12}),
        ("#define SHIFTED (1 << 24) /* why */", {"SHIFTED": 1 << 24}),
        ("#define LESS -14\n#define WIDE (1ULL << 63)", {"LESS": -14, "WIDE": 1 << 63}),
        ("#define MASK (0x10 | 0xfU)\n#define MODE 0170000", {"MASK": 0x1F, "MODE": 0o170000}),
        ("#define FIRST 3\n#define NEXT (FIRST + 1)", {"FIRST": 3, "NEXT": 4}),
        ("enum some {\n\tALL, /* a, b */\n\tONE,\n\tSIX = 6,\n\tSEVEN\n};", {"ALL": 0, "ONE": 1, "SIX": 6, "SEVEN": 7}),
        ("enum some {\n\tA,\n\tCOUNT,\n\tLAST = COUNT,\n};", {"A": 0, "COUNT": 1, "LAST": 1}),
        ('#define GUARD\n#define CALL(x) 1\n#define WORD "x"\n#define FLAG FROM_OUTSIDE', {}),
    ],
)  # fmt: skip
def test_numbers_of_c(text: str, expected: dict[str, int]) -> None:
    assert constants_of(text) == expected


def test_a_header_has_also_what_it_includes() -> None:
    assert header_constants("histogram.h")["LATENCY_BUCKETS"] == SCHEDULER.LATENCY_BUCKETS
    with pytest.raises(AttributeError, match=r"scheduler/maps\.h has no constant NONSENSE"):
        _ = SCHEDULER.NONSENSE


@pytest.mark.parametrize(
    ("header", "enum", "names"),
    [
        ("scheduler/maps.h", "WAIT", [*rows.WAIT_KINDS, "throttled"]),
        ("scheduler/maps.h", "WAIT", [began.label for began in blamed.WAIT_KINDS_AS_BEGINNINGS]),
        ("scheduler/maps.h", "GROUP", [name.removesuffix("_id") or "none" for name in live.GROUPINGS]),
        ("scheduler/maps.h", "QUEUE", queue_lengths.QUEUE_KINDS),
        ("interrupts/interrupts.h", "SOFTIRQ", softirqs()),
        ("interrupts/interrupts.h", "VECTOR", vectors()),
        ("offcpu/offcpu.h", "OFF", offcpu.STATES),
        ("task/task.h", "THREAD", task.STATES),
        ("task/task.h", "PEER", [kind.removesuffix("s") for kind in task_tables.PEER_KINDS]),
        ("task/task.h", "IO", task.IO_KINDS),
    ],
)
def test_names_of_a_model_stand_in_the_order_of_their_enum(header: str, enum: str, names: tuple[str, ...]) -> None:
    """A model reads no files: recordings hold these names, or places in this order."""
    in_c = header_constants(header)
    assert [in_c[f"{enum}_{name.upper()}"] for name in names] == list(range(len(names)))


def test_numbers_of_a_model_are_those_of_the_kernel_side() -> None:
    kinds = ("SWITCH", "WAKING", "WAKEUP_NEW", "MIGRATE", "NAME", "LOST")
    in_c = header_constants("capture/capture.h")
    assert [getattr(capture, kind) for kind in kinds] == [in_c[f"CAPTURE_{kind}"] for kind in kinds]
    assert len(rows.WAIT_KINDS) == SCHEDULER.LATENCY_KINDS
    assert queue_lengths.MOST_QUEUED == SCHEDULER.QUEUE_SLOTS - 1
    assert interrupts.MOST_SOURCES == INTERRUPTS.MOST_SOURCES
    wakers = header_constants("offcpu/offcpu.h")
    assert (wakers["WAKER_NAMES"], wakers["WAKER_STACKS"]) == (offcpu.Wakers.NAMES, offcpu.Wakers.STACKS)


def test_no_module_that_reads_the_kernel_side_has_a_number_of_its_own_under_its_name() -> None:
    """Assignments such as `WANTED_IDS = 8`, in any module of sources or commands."""
    names = {name for header in HEADERS for name in header_constants(header)}
    copied = [
        f"{path.relative_to(PACKAGE)}: {target.id}"
        for folder in ("sources", "commands")
        for path in (PACKAGE / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Constant, ast.BinOp, ast.UnaryOp, ast.Tuple))
        for listed in node.targets
        for target in (listed.elts if isinstance(listed, ast.Tuple) else [listed])
        if isinstance(target, ast.Name) and target.id.lstrip("_") in names
    ]
    assert copied == []


def test_every_constant_that_python_asks_for_is_there() -> None:
    headers = {name: header for name, header in vars(constants).items() if isinstance(header, Header)}
    asked = {
        found
        for path in PACKAGE.rglob("*.py")
        for found in re.findall(rf"\b({'|'.join(headers)})\.([A-Z]\w+)", path.read_text())
    }
    assert len(asked) > 10
    for header, name in asked:
        assert isinstance(getattr(headers[header], name), int)
