"""BTF, from a small hand-made blob and from damaged ones (format: Documentation/bpf/btf.rst)."""

import struct
from pathlib import Path

import pytest

from schedtop.sources.kernel.btf import Btf, BtfError

INT, PTR, ARRAY, STRUCT, UNION, ENUM, TYPEDEF, CONST, FUNC_PROTO = 1, 2, 3, 4, 5, 6, 8, 10, 13


class Blob:
    """Puts types and strings together as a compiler does."""

    def __init__(self) -> None:
        self.types = b""
        self.strings = b"\0"
        self.count = 0

    def name(self, text: str) -> int:
        if not text:
            return 0
        self.strings += text.encode() + b"\0"
        return len(self.strings) - len(text) - 1

    def add(
        self, name: str, kind: int, size_or_type: int, words: tuple[int, ...] = (), members: int = 0, flag: int = 0
    ) -> int:
        info = flag << 31 | kind << 24 | members
        self.types += struct.pack(f"<{3 + len(words)}I", self.name(name), info, size_or_type, *words)
        self.count += 1
        return self.count

    def struct(self, name: str, fields: list[tuple[str, int, int]], kind: int = STRUCT, flag: int = 0) -> int:
        words = tuple(word for field, type_id, bits in fields for word in (self.name(field), type_id, bits))
        return self.add(name, kind, 64, words, len(fields), flag)

    def prototype(self, arguments: int) -> int:
        return self.add("", FUNC_PROTO, 0, (0, 1) * arguments, arguments)

    def bytes(self) -> bytes:
        header = struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(self.types), len(self.types), len(self.strings))
        return header + self.types + self.strings


def example() -> Blob:
    blob = Blob()
    number = blob.add("int", INT, 4, (0x20,))
    blob.add("comm_array", ARRAY, 0, (number, number, 16))
    inner = blob.struct("", [("nested", number, 32), ("deep", number, 64)], UNION)
    entity = blob.struct("sched_entity", [("on_rq", number, 0), ("sched_delayed", number, 80)])
    alias = blob.add("entity_t", TYPEDEF, blob.add("", CONST, entity))
    blob.struct("task_struct", [("pid", number, 640), ("", inner, 1024), ("se", alias, 2048)])
    blob.struct("packed", [("low", number, 3 << 24 | 8), ("high", number, 5 << 24 | 16)], flag=1)
    # A struct and an enum of one name, as the kernel has them.
    blob.struct("twice", [("x", number, 8)])
    blob.add("twice", ENUM, 4, (blob.name("ONE"), 1, blob.name("SEVEN"), 7), 2)
    blob.add("btf_trace_sched_switch", TYPEDEF, blob.add("", PTR, blob.prototype(5)))
    blob.add("just_int", TYPEDEF, number)
    return blob


@pytest.fixture
def btf() -> Btf:
    return Btf(example().bytes())


def test_fields_of_a_struct(btf: Btf) -> None:
    assert btf.offset("task_struct", "pid") == 80


def test_integers_are_as_wide_as_this_kernel_has_them(btf: Btf) -> None:
    blob = example()
    byte = blob.add("u8", TYPEDEF, blob.add("unsigned char", INT, 1, (8,)))
    blob.struct("newer", [("on_rq", byte, 424)])
    assert Btf(blob.bytes()).integer_bytes("newer", "on_rq") == 1
    assert btf.integer_bytes("task_struct", "se.on_rq") == 4
    with pytest.raises(BtfError, match=r"task_struct\.se is no integer"):
        btf.integer_bytes("task_struct", "se")


def test_fields_inside_an_unnamed_union(btf: Btf) -> None:
    assert btf.offset("task_struct", "nested") == 128 + 4
    assert btf.offset("task_struct", "deep") == 128 + 8


def test_a_path_leads_through_typedefs_and_qualifiers(btf: Btf) -> None:
    assert btf.offset("task_struct", "se.sched_delayed") == 256 + 10


def test_bit_field_sizes_are_not_part_of_the_offset(btf: Btf) -> None:
    assert btf.offset("packed", "low") == 1
    assert btf.offset("packed", "high") == 2


def test_a_field_that_is_missing_is_named(btf: Btf) -> None:
    assert btf.has_field("task_struct", "pid")
    assert not btf.has_field("task_struct", "throttled")
    assert not btf.has_field("task_struct", "pid.x")
    with pytest.raises(BtfError, match=r"task_struct has no field se\.nothing"):
        btf.offset("task_struct", "se.nothing")


def test_types_of_one_name_are_told_apart_by_kind(btf: Btf) -> None:
    assert btf.offset("twice", "x") == 1
    assert btf.enumerator("twice", "SEVEN") == 7


def test_missing_types_and_enumerators_are_named(btf: Btf) -> None:
    with pytest.raises(BtfError, match="no EIGHT"):
        btf.enumerator("twice", "EIGHT")
    with pytest.raises(BtfError, match="no rq"):
        btf.type_id("rq")


def test_a_name_that_ends_like_another_is_not_taken_for_it(btf: Btf) -> None:
    with pytest.raises(BtfError):
        btf.type_id("struct")
    with pytest.raises(BtfError):
        btf.type_id("task_str")


def test_arguments_of_a_tracepoint_are_counted(btf: Btf) -> None:
    assert btf.argument_count("btf_trace_sched_switch") == 5
    assert btf.has_typedef("btf_trace_sched_switch")
    assert not btf.has_typedef("btf_trace_sched_nothing")


def test_a_typedef_of_something_else_takes_no_arguments(btf: Btf) -> None:
    with pytest.raises(BtfError, match="not a function"):
        btf.argument_count("just_int")


def test_a_kernel_without_btf_says_so(tmp_path: Path) -> None:
    with pytest.raises(BtfError, match="the kernel has no BTF"):
        Btf.of_kernel(tmp_path / "vmlinux")


@pytest.mark.parametrize("size", [0, 1, 23, 24, 60, 200])
def test_data_that_is_cut_off_is_refused(size: int) -> None:
    with pytest.raises(BtfError, match="cut off"):
        Btf(example().bytes()[:size])


def test_the_other_byte_order_is_refused() -> None:
    data = bytearray(example().bytes())
    data[0], data[1] = data[1], data[0]
    with pytest.raises(BtfError, match="byte order"):
        Btf(bytes(data))


def test_types_that_do_not_end_where_they_should_are_refused() -> None:
    blob = example()
    blob.struct("too_long", [("a", 1, 0)])
    blob.types = blob.types[:-4]
    with pytest.raises(BtfError, match="damaged"):
        Btf(blob.bytes())


def test_a_reference_out_of_range_is_damage() -> None:
    blob = Blob()
    blob.add("lost", TYPEDEF, 99)
    with pytest.raises(BtfError, match="damaged"):
        Btf(blob.bytes()).argument_count("lost")


def test_a_circle_ends() -> None:
    blob = Blob()
    blob.add("circle", TYPEDEF, 2)
    blob.add("", CONST, 1)
    with pytest.raises(BtfError, match="circles"):
        Btf(blob.bytes()).argument_count("circle")


def test_every_flipped_byte_gives_an_answer_or_a_btf_error() -> None:
    whole = example().bytes()
    for at in range(len(whole)):
        data = bytearray(whole)
        data[at] ^= 0xFF
        try:
            btf = Btf(bytes(data))
            btf.offset("task_struct", "se.sched_delayed")
            btf.argument_count("btf_trace_sched_switch")
            btf.enumerator("twice", "SEVEN")
        except BtfError:
            continue


def test_btf_gives_the_place_of_a_per_cpu_variable() -> None:
    blob = Blob()
    number = blob.add("int", INT, 4, (32,))
    other = blob.add("other", 14, number, (0,))
    count = blob.add("count", 14, number, (0,))
    blob.add("elsewhere", 14, number, (0,))
    blob.add(".data..percpu", 15, 64, (other, 8, 4, count, 24, 4), 2)
    btf = Btf(blob.bytes())
    assert btf.per_cpu_offset("count") == 24
    with pytest.raises(BtfError, match="elsewhere"):
        btf.per_cpu_offset("elsewhere")
