"""What JSON takes in memory is known before it is parsed."""

import json
import tracemalloc

import pytest

from schedtop.base.limits import LINE_BYTES, PARSED_BYTES, READING_BYTES, is_parsable, parsed_bytes, reading_bytes

COUNT = 100_000
TEXTS = {
    "lists": "[" + "[]," * COUNT + "0]",
    "lists of one": "[" + "[0]," * COUNT + "0]",
    "objects": "[" + "{}," * COUNT + "0]",
    "objects of one": "[" + '{"":0},' * COUNT + "0]",
    "objects of one key each": json.dumps([{f"{number:x}": 0} for number in range(COUNT)]),
    "objects of eleven": json.dumps([dict.fromkeys("abcdefghijk", 0)] * 10_000),
    "keys": json.dumps({str(number): number for number in range(COUNT)}),
    "numbers": json.dumps(list(range(10**10, 10**10 + COUNT))),
    "texts": json.dumps([f"{number:04}" for number in range(COUNT)]),
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_objects_take_no_more_than_was_reckoned(text: str) -> None:
    data = text.encode()
    tracemalloc.start(1)
    try:
        json.loads(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    characters = 3 * len(data)
    assert peak <= parsed_bytes(data) + characters
    assert parsed_bytes(data) < 5 * peak


def test_a_line_of_little_things_is_not_parsed() -> None:
    assert not is_parsable(b"[" + b"[]," * 2_000_000 + b"0]", PARSED_BYTES)
    assert is_parsable(b"[" + b"1234567," * 1_000_000 + b"0]", PARSED_BYTES)


def test_a_small_file_takes_at_most_300_mb_and_larger_ones_more() -> None:
    assert reading_bytes(1) == reading_bytes(LINE_BYTES) == READING_BYTES
    assert reading_bytes(10_000_000) < 300_000_000
    assert reading_bytes(64 << 20) > 1 << 30
