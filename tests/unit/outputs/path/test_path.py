"""Paths as text, JSON, folded lines and a picture, of a recording that is written by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from schedtop.outputs.path.document import SCHEMA, document, to_json
from schedtop.outputs.path.stacks import to_folded, to_svg
from schedtop.outputs.path.text import to_text
from schedtop.path.paths import Paths, find_paths
from schedtop.path.summary import summary_of
from schedtop.path.targets import Targets
from schedtop.path.traits import Traits
from schedtop.path.words import sentence
from tests.unit.path.recordings import EPOLL, FUTEX, Recording
from tests.unit.path.test_walk import HOG, HOLDER, LATE, held_lock


def paths() -> Paths:
    return held_lock().paths(LATE, words=f"tid:{LATE}")


def test_the_first_line_is_one_sentence_that_says_it_all() -> None:
    assert sentence(summary_of(paths())) == (
        "rpc-worker was late by 510 µs in 1 episode: 59 % flusher queued behind backup, 39 % flusher running, "
        "2 % itself queued, its CPU idle"
    )
    assert to_text(find_paths(held_lock().capture, Targets(tids=(HOLDER,)))).splitlines()[0].startswith("flusher was")


def test_an_inversion_is_the_first_line_and_a_field() -> None:
    found = paths()
    assert found.inversion
    known = replace(found, inversion=replace(found.inversion, traits={HOG: Traits(nice=10, cpus=(1,)), LATE: Traits()}))
    lines = to_text(known).splitlines()
    assert lines[0] == (
        "Priority inversion: flusher holds what rpc-worker waits for, and is itself queued behind backup (nice 10, "
        "pinned to CPU 1)"
    )
    assert lines[1] == sentence(summary_of(known))
    assert "  a futex may be a condition: then flusher holds nothing, but is to signal it" in lines
    assert f"  {known.inversion.action}" in lines and known.inversion.command in known.inversion.action
    data = document(known)["inversion"]
    assert (data["action"], data["command"]) == (known.inversion.action, known.inversion.command)
    assert data["headline"] == lines[0] and data["evidence"][0].startswith("flusher was ready to run and had no CPU")
    assert data["late"] == {"tid": LATE, "comm": "rpc-worker", "nice": 0, "policy": None, "cpus": []}
    assert data["holder"] == {"tid": HOLDER, "comm": "flusher", "nice": None, "policy": None, "cpus": None}
    (behind,) = data["behind"]
    assert (behind["tid"], behind["nice"], behind["cpus"], behind["time_ns"]) == (HOG, 10, [1], 300_000)
    assert behind["share"] == 1 and data["share"] == 300_000 / 510_000
    assert document(find_paths(held_lock().capture, Targets(tids=(HOLDER,))))["inversion"] is None


def test_text_has_the_profile_and_the_episode_as_an_indented_path() -> None:
    text = to_text(paths())
    assert "only tid:10  every episode (no minimum)" in text
    lines = text[text.index("The longest episodes") :].splitlines()
    assert lines[2:7] == [
        "510 µs  rpc-worker (10)  at 100 µs",
        "  rpc-worker (10) blocked in futex, until woken by",
        "      200 µs  flusher (20) running, 2 times",
        "      300 µs  flusher (20) queued behind backup",
        "   10.0 µs  rpc-worker (10) queued, its CPU idle",
    ]
    assert "In 0 of them it had itself been woken by the late task" in text


def test_document_adds_up_and_names_everything() -> None:
    data = document(paths())
    assert json.loads(to_json(paths())) == json.loads(json.dumps(data))
    assert (data["schema"], data["scope"], data["min_ns"]) == (SCHEMA, "tid:10", 0)
    assert data["targets"] == [
        {"tid": LATE, "tgid": LATE, "comm": "rpc-worker", "episode_count": 1, "total_ns": 510_000}
    ]
    (episode,) = data["episodes"]
    assert (episode["comm"], episode["length_ns"], episode["where"]) == ("rpc-worker", 510_000, "futex")
    assert sum(segment["time_ns"] for segment in episode["segments"]) == episode["length_ns"] == data["total_ns"]
    queued = episode["segments"][1]
    assert (queued["state"], queued["comm"], queued["offset_ns"]) == ("queued", "flusher", 100_000)
    assert queued["behind"] == [{"tid": HOG, "comm": "backup", "share": 1.0, "time_ns": 300_000}]
    assert queued["via"] == [{"tid": LATE, "comm": "rpc-worker", "where": "futex", "woken_in": None}]
    assert sum(row["time_ns"] for row in data["profile"]) == data["total_ns"]
    assert sum(row["share"] for row in data["profile"]) == 1
    first = data["profile"][0]
    assert (first["comm"], first["state"], first["behind"]) == ("flusher", "queued", {"tid": HOG, "comm": "backup"})
    assert data["same_chain"] == {"count": 0, "of": 1}
    assert data["loss"]["events"] == 0


def test_folded_lines_lead_from_the_late_task_to_what_it_waited_for() -> None:
    assert to_folded(paths()) == (
        "rpc-worker;[blocked in futex];flusher;[queued behind backup] 300\n"
        "rpc-worker;[blocked in futex];flusher;[running] 200\n"
        "rpc-worker;[queued, its CPU idle] 10\n"
    )


def test_the_picture_has_the_same_boxes_and_the_facts() -> None:
    picture = to_svg(paths())
    assert "queued behind backup" in picture and "only tid:10" in picture and SCHEMA in picture


def test_losses_and_limits_are_told_in_every_form_that_people_read() -> None:
    capture = replace(
        held_lock().lose(250, 350, count=40).capture, lost_in_interrupts=3, lost_places=2, refused_places=5
    )
    capture = replace(capture, lost={**capture.lost, 0: np.array([40, 0])}, unavailable={"places": "no BTF"})
    found = find_paths(capture, Targets(tids=(LATE,)), 0)
    text = to_text(found)
    for words in (
        "note: no BTF",
        "40 events",
        "3 events",
        "2 stacks",
        "5 stacks that the kernel does not give",
        "unknown: 40 events were lost",
    ):
        assert words in text
    assert "40 events" in to_svg(found)
    assert document(found)["loss"]["events"] == 40
    assert (document(found)["loss"]["stacks"], document(found)["loss"]["stacks_refused"]) == (2, 5)


def test_waits_for_work_are_told_apart_from_being_late() -> None:
    recording = Recording().name(LATE, "server").switch(100, LATE, HOG, call=EPOLL).wake(300, LATE, HOG)
    idle = recording.switch(300, HOG, LATE, 0).paths(LATE)
    words = "server was not late: it waited for work for 200 µs in 1 episode: 100 %"
    assert sentence(summary_of(idle)).startswith(words)
    nothing = Recording().switch(100, LATE, 0, call=FUTEX).paths(LATE, words="tid:10")
    assert sentence(summary_of(nothing)) == "tid:10 was not late"
    assert "Still blocked at the end, woken by nothing yet: tid 10 (10) in futex for 900 µs" in to_text(nothing)


def test_what_a_client_waits_for_in_epoll_has_a_profile_and_ends_the_sentence() -> None:
    """Its server runs from 100 to 400 and is queued behind another task of its name until 500; it answers at 600."""
    recording = (
        Recording()
        .name(LATE, "client").name(20, "server").name(HOG, "server")
        .switch(50, 0, 20, cpu=1)
        .switch(100, LATE, 0, call=EPOLL)
        .switch(400, 20, HOG, 0, cpu=1)
        .switch(500, HOG, 20, 0, cpu=1)
        .wake(600, LATE, 20, cpu=1)
        .switch(700, 0, LATE)
    )  # fmt: skip
    text = to_text(recording.paths(LATE))
    assert text.splitlines()[0] == (
        "client was late by 100 µs in 1 episode: 100 % itself queued, its CPU idle; for work, or for an answer, it "
        "waited 500 µs: 80 % server running, 20 % server queued behind another server"
    )
    table = text[text.index("Waits for work, or for an answer: 500 µs in all") :].splitlines()
    assert table[2].split() == ["400", "µs", "80.0", "%", "1", "server", "(20)", "woke", "running"]


def test_what_is_unknown_is_told_after_what_is_known() -> None:
    recording = held_lock().lose(210, 490, 1, cpu=1)
    words = sentence(summary_of(recording.paths(LATE)))
    assert words.startswith("rpc-worker was late by 510 µs in 1 episode: 3")
    assert words.endswith("% unknown")
    assert "lost" not in words
