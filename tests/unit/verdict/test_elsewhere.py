"""Where a verdict says to look when nothing waits for a CPU."""

from dataclasses import replace
from typing import Any

from schedtop.activity.recorded import table_of
from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.frame import Frame
from schedtop.model.host import Host
from schedtop.verdict.elsewhere import NOT_RECORDED, NOTHING
from schedtop.verdict.engine import judge
from tests.unit.activity.made import activity, row
from tests.unit.verdict.frames import MS, frame, judged, pinned, tasks

DUMP = "pg_dump (812): 62.0 % of its time waiting for the disk (fsync)"


def busy(made: Frame, **numbers: Any) -> Frame:
    numbers = {"fsync_ns": 620 * MS} | numbers
    return replace(made, activity=table_of(activity(row(812, 812, process=b"pg_dump", **numbers), syscalls=())))


def test_what_stands_out_is_in_the_headline() -> None:
    verdict = judged(busy(frame(short_ns=40_000)))
    assert (verdict.level, verdict.rule) == ("ok", "calm")
    assert verdict.headline.startswith("Waits are short: p99 is ") and verdict.headline.endswith(f"; {DUMP}")
    assert "schedtop activity" in verdict.action


def test_more_facts_are_evidence() -> None:
    verdict = judged(busy(frame(), major_faults=100, tcp_failures=6, tcp_retransmits=6, reclaim_ns=60 * MS))
    assert verdict.headline.endswith(DUMP)
    assert verdict.evidence[0] == "pg_dump (812): 100 major faults a second: memory is read from the disk"
    assert sum("pg_dump (812)" in words for words in verdict.evidence) == 2


def test_activity_in_which_nothing_stands_out_says_so() -> None:
    verdict = judged(busy(frame(), fsync_ns=1 * MS))
    assert NOTHING in verdict.evidence and "pg_dump" not in verdict.headline


def test_without_activity_the_key_and_the_command_are_named() -> None:
    verdict = judged(frame())
    assert "(key a)" in verdict.action and verdict.command == "sudo schedtop activity"
    assert NOT_RECORDED not in verdict.evidence


def test_a_recording_without_it_says_so() -> None:
    host = Host("host", "6.18", "replay", recorded_source="btf")
    verdict = judge(History(host, [frame()]).view(ViewSettings()))
    assert verdict.rule == "calm" and NOT_RECORDED in verdict.evidence


def test_a_filter_by_task_leaves_out_what_others_do() -> None:
    made = busy(frame(tasks=tasks(max_wait_ns=3 * MS)))
    assert DUMP not in judged(made, "ffmpeg").headline
    assert DUMP in judged(made).headline


def test_a_trouble_is_told_without_it() -> None:
    assert "pg_dump" not in judged(busy(frame(pinned(5)))).sentences()
