"""The flame graph: widths that add up, names that cannot do harm, one picture for one set of stacks, bounded size."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from schedtop.outputs.flame import flame_svg
from schedtop.outputs.flame.tree import MOST_DEPTH, MOST_FRAMES, boxes_of, flame_of

SVG = "{http://www.w3.org/2000/svg}"
MS = 1_000_000

STACKS = [
    (("web", "web-7", "main", "poll", "-", "schedule", "[sleeping]"), 60 * MS),
    (("web", "web-7", "main", "write", "-", "schedule", "[uninterruptible]"), 30 * MS),
    (("web", "web-8", "main", "poll", "-", "schedule", "[sleeping]", "woken by irq-3"), 9 * MS),
    (("web", "web-8", "main", "-", "[runnable]"), 1 * MS),
]


def boxes(svg: str) -> list[tuple[str, str, float, float, float]]:
    """Class, title, x, y and width of every box of a picture."""
    found = []
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        kind, _, letter = (group.get("class") or "").partition(" ")
        rect, title = group.find(f"{SVG}rect"), group.find(f"{SVG}title")
        if kind == "box" and rect is not None and title is not None:
            x, y, width = (float(rect.get(name) or "nan") for name in ("x", "y", "width"))
            found.append((letter, title.text or "", x, y, width))
    return found


def random_stacks(count: int, seed: int = 1) -> Iterator[tuple[tuple[str, ...], int]]:
    chance = random.Random(seed)
    for _ in range(count):
        functions = tuple(f"function_{chance.randrange(50)}" for _ in range(chance.randrange(1, 30)))
        yield (
            (f"p{chance.randrange(9)}", f"t-{chance.randrange(99)}", *functions, "-", "schedule"),
            chance.randrange(1, MS),
        )


def test_a_box_says_its_time_and_share_and_is_as_wide() -> None:
    found = {title: (letter, width) for letter, title, _, _, width in boxes(flame_svg(STACKS, title="off-CPU"))}
    full = found["all (100 ms, 100 %)"][1]
    assert found["web-7 (90.0 ms, 90.0 %)"] == ("t", pytest.approx(0.9 * full, abs=0.002))
    assert found["poll (60.0 ms, 60.0 %)"][0] == "u"
    assert found["schedule_[k] (30.0 ms, 30.0 %)"] == ("k", pytest.approx(0.3 * full, abs=0.002))
    assert found["[sleeping] (60.0 ms, 60.0 %)"][0] == found["[uninterruptible] (30.0 ms, 30.0 %)"][0] == "b"
    assert found["[runnable] (1.00 ms, 1.0 %)"][0] == "r"
    assert found["woken by irq-3 (9.00 ms, 9.0 %)"][0] == "w"
    assert "-" not in {title.split(" (")[0] for title in found}


def test_names_after_the_hyphen_are_the_kernels_and_say_so() -> None:
    assert boxes_of(("p", "t-1", "read", "-", "read", "[sleeping]"))[2:] == [
        ("read", "user"),
        ("read_[k]", "kernel"),
        ("[sleeping]", "blocked"),
    ]
    # A task may have any name.
    assert [kind for _, kind in boxes_of(("-", "[idle]", "main", "-", "read"))] == ["task", "task", "user", "kernel"]
    # As flamegraph.pl's tools write it.
    assert boxes_of(("p", "t", "main", "schedule_[k]"))[3] == ("schedule_[k]", "kernel")


def test_widths_add_up_and_lie_within_the_caller() -> None:
    found = boxes(flame_svg(random_stacks(200), title="off-CPU"))
    assert len(found) > 500
    for _, title, x, y, width in found:
        called = [box for box in found if box[3] == y + 18 and x - 0.01 <= box[2] < x + width - 0.01]
        assert sum(box[4] for box in called) <= width + 0.01 * (1 + len(called)), title
    flame = flame_of(random_stacks(200), "all", 0.0)
    by_depth = [[frame for frame in flame.frames if frame.depth == depth] for depth in range(flame.height)]
    assert [sum(frame.value for frame in level) for level in by_depth[:3]] == [flame.total] * 3
    for level in by_depth:
        ends = [frame.start + frame.value for frame in level]
        assert all(frame.start >= end for frame, end in zip(level[1:], ends, strict=False))


def test_the_same_stacks_give_the_same_picture() -> None:
    stacks = [*random_stacks(100)]
    picture = flame_svg(stacks, title="off-CPU")
    random.Random(2).shuffle(stacks)
    assert flame_svg(stacks, title="off-CPU") == picture
    halves = [(names, half) for names, value in stacks for half in (value // 2, value - value // 2)]
    assert flame_svg(halves, title="off-CPU") == picture


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>",
        "]]><script>alert(1)</script>",
        '" onload="alert(1)',
        "&lt;&amp;",
        "a\x00b\x1b[31m\x07\r\n\ud800\udcff\ufffe\uffff\u202e",
        "{{ 7 * 7 }}{% raw %}",
        "std::map<std::string, std::vector<int>>::operator[](int&&)",
        "x" * 100_000,
    ],
)
def test_hostile_names_stay_names(name: str) -> None:
    about = {"host": name}
    svg = flame_svg(
        [((name, name, name, "-", name, name), 5)], title=name, subtitle=[name, name], root=name, about=about
    )
    svg.encode()
    root = ElementTree.fromstring(svg)
    assert len(list(root.iter(f"{SVG}script"))) == 1
    assert not [key for element in root.iter() for key in element.attrib if key.startswith("on")]
    assert len(svg) < 30_000 + 2 * len(name)
    title = boxes(svg)[0][1]
    assert title.startswith(name[:200]) or not name.isprintable()


def test_flame_graph_fetches_nothing() -> None:
    svg = flame_svg(STACKS, title="off-CPU")
    assert set(re.findall(r"https?://[^\"' ]+", svg)) == {"http://www.w3.org/2000/svg"}
    assert "url(" not in svg and "href" not in svg and "@import" not in svg


def test_flame_graph_names_its_origin() -> None:
    words = ["host db1 · kernel 6.18", "scope: pid 7; waits of 1 ms and more; lost: 3 waits"]
    root = ElementTree.fromstring(flame_svg(STACKS, title="Off-CPU", subtitle=words, about={"tool_version": "1"}))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert "Off-CPU" in texts and set(words) <= set(texts)
    metadata = root.find(f"{SVG}metadata")
    assert metadata is not None and metadata.text == '{"tool_version": "1"}'


def test_empty_flame_graph_says_so() -> None:
    svg = flame_svg([(("p", "t"), 0)], title="off-CPU")
    assert "there are no stacks" in svg and not boxes(svg)


def test_flame_graph_leaves_out_and_counts_narrow_boxes() -> None:
    stacks = [(("p", "t", "wide"), 1000 * MS), *((("p", "t", f"narrow{n}", "above"), MS // 100) for n in range(7))]
    svg = flame_svg(stacks, title="off-CPU")
    assert not [title for _, title, *_ in boxes(svg) if "narrow" in title or "above" in title]
    assert "not drawn: 7 boxes of less than 255 µs each" in svg


def test_counts_are_no_durations() -> None:
    assert boxes(flame_svg([(("p",), 1200)], title="switches", unit="switches"))[0][1] == "all (1200, 100 %)"


def test_many_stacks_take_seconds_and_bounded_room() -> None:
    stacks = [*random_stacks(100_000)]
    before = time.process_time()
    svg = flame_svg(stacks, title="off-CPU")
    # Some 3 s here: that it is not quadratic is the point.
    assert time.process_time() - before < 60
    assert len(svg) < 10_000_000
    deep = flame_svg([(tuple(f"f{n}" for n in range(5000)), MS)], title="off-CPU")
    assert len(boxes(deep)) == 1 + MOST_DEPTH


def test_flame_graph_bounds_its_boxes_without_holes() -> None:
    chance = random.Random(3)
    stacks = [(("p", f"t{n}", *(f"f{n}" for _ in range(90))), chance.randrange(900, 1100)) for n in range(500)]
    flame = flame_of(stacks, "all", 0.0)
    assert flame.left_out and len(flame.frames) <= MOST_FRAMES
    assert flame.left_out_value + sum(frame.value for frame in flame.frames if frame.depth == 2) == flame.total
    assert all(frame.value >= flame.least for frame in flame.frames)
