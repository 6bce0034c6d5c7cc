"""Few slow waits, or none."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from schedtop.base.units import NS_PER_S
from schedtop.history.history import History
from schedtop.history.view import ViewSettings
from schedtop.model.filters import Filter
from schedtop.model.host import Host
from schedtop.model.rows import Rows
from schedtop.panes.verdict_band import verdict_band
from schedtop.verdict.engine import judge
from schedtop.verdict.verdict import Verdict
from tests.unit.verdict.frames import HOST, MS, frame, judged, pinned, tasks


def test_verdict_without_waits_is_quiet() -> None:
    verdict = judged(frame(short_ns=40_000))
    assert (verdict.level, verdict.rule) == ("ok", "calm")
    assert verdict.headline.startswith("Waits are short: p99 is ")
    assert judged(frame(short_ns=2 * MS)).headline.startswith("No wait is slow: p99 is ")
    assert judged(frame(short_ns=2 * MS)).headline.endswith("slow is 5 ms")


def test_a_filter_by_task_says_nothing_of_all_tasks() -> None:
    made = frame(tasks=tasks(max_wait_ns=3 * MS))
    assert judged(made, "ffmpeg").headline == "No slow wait of what the filter shows; its longest is 3.00 ms"
    assert judged(made, "nginx").rule == "nothing-passes"
    assert "p99" in judged(made, "cpu:1").headline


def test_a_filter_by_task_tells_how_much_that_waits_and_runs() -> None:
    """After a command for web one filters by it: `1 slow wait: too few to name a cause` is no answer."""
    both = np.concatenate(
        [tasks(tid=7, comm=b"web", run_ns=300 * MS, run_delay_ns=50 * MS), tasks(tid=8, comm=b"web", run_ns=5 * MS)]
    )
    assert judged(frame(tasks=both), "web").evidence[0] == "web (7) waits 5 % of the time and runs 30 %"
    slow = pinned(1)
    slow["comm"] = b"web"
    one = judged(frame(slow, tasks=both), "web")
    assert (one.rule, one.evidence[0]) == ("rare", "web (7) waits 5 % of the time and runs 30 %")
    assert not any("runs" in words for words in judged(frame(tasks=both)).evidence), "nobody has asked"


def test_of_several_alike_that_a_filter_asks_about_all_are_told() -> None:
    """It was each second another one of them."""
    alike = [tasks(tid=tid, comm=b"crunch", run_ns=500 * MS, run_delay_ns=tid * 10 * MS) for tid in (4, 5, 6)]
    assert judged(frame(tasks=np.concatenate(alike)), "crunch").evidence[0] == (
        "3 crunch wait 5 % of the time each and run 50 %"
    )
    alike[0]["run_delay_ns"] = 25 * MS
    assert judged(frame(tasks=np.concatenate(alike)), "crunch").evidence[0].startswith("crunch (6) waits 6 %")
    alike[0]["run_delay_ns"], alike[0]["comm"] = 40 * MS, b"web"
    assert judged(frame(tasks=np.concatenate(alike)), "web,crunch").evidence[0].startswith("crunch (6) waits 6 %")


def test_the_filter_holds_for_slow_waits() -> None:
    assert judged(frame(pinned(), tasks=tasks()), "ffmpeg").rule == "calm"


def test_a_few_slow_waits_have_no_common_cause() -> None:
    verdict = judged(frame(pinned(4)))
    assert (verdict.level, verdict.rule) == ("notice", "rare")
    assert verdict.headline == "4 slow waits, the longest 8.00 ms: too few to name a cause"
    assert "the affinity mask" in verdict.evidence[0]
    # Short ones are no news.
    assert [judged(frame(pinned(count))).level for count in (1, 2, 3)] == ["ok", "ok", "notice"]
    levels = [judged(frame(pinned(1, wait_ns=ns))).level for ns in (19 * MS, 20 * MS)]
    assert levels == ["ok", "notice"]
    assert judged(frame(pinned(5))).rule == "pinned"
    assert judged(frame(pinned(2, wait_ns=60 * MS))).rule == "pinned"


def test_a_few_slow_waits_of_threads_of_the_kernel_and_of_schedtop_are_no_news() -> None:
    """After a service had been moved away from a real-time task, each of them was a notice."""

    def level(parent: int = 2, comm: bytes = b"app") -> str:
        known = [tasks(tid=tid, comm=comm, parent_tgid=parent) for tid in (101, 102)]
        return judged(frame(pinned(4, comm=comm), tasks=np.concatenate(known))).level

    assert (level(), level(parent=1), level(parent=1, comm=b"schedtop")) == ("ok", "notice", "ok")


def hidden(words: str, **fields: Any) -> Verdict:
    """On a service whose thread logger (71) waits, with a filter."""
    rows = service()
    rows["comm"][1], rows["last_cpu"][:2] = b"logger", 1
    made = frame(pinned(**{"tid": 71, "tgid": 70, "comm": b"logger"} | fields), tasks=rows)
    return judge(History(HOST, [made]).view(ViewSettings(filter=Filter.parse(words))))


def test_a_thread_that_the_filter_hides_is_told_of() -> None:
    verdict = hidden("comm:web")
    assert (verdict.level, verdict.rule) == ("notice", "left-out")
    assert verdict.headline == "The filter hides logger (71) of the same process, which waits up to 8.00 ms"
    assert verdict.action == "Filter by pid:70 instead (key f): all its threads"
    assert hidden("comm:web", tgid=90).rule == "calm", "another process"
    assert hidden("comm:web", count=4).rule == "calm", "few and short"
    assert hidden("comm:web cpu:1").rule == "left-out"
    assert hidden("comm:web cpu:1", cpu=0).rule == "calm", "on another CPU"
    assert hidden("pid:70").rule == "pinned"
    assert hidden("cpu:0").rule == "few", "a filter by CPU hides no thread"


ANY = "sudo schedtop activity"


def service() -> Rows:
    """Two processes of one cgroup, the first with two threads; and a task of another one."""
    rows = np.concatenate([tasks(tid=tid, tgid=tgid) for tid, tgid in ((70, 70), (71, 70), (80, 80), (90, 90))])
    rows["comm"], rows["cgroup_id"] = (b"web", b"web-log", b"web", b"cron"), (7, 7, 7, 9)
    return rows


def calm(host: Host = HOST, words: str = "", **settings: object) -> Verdict:
    made = frame(tasks=service(), end_ns=NS_PER_S)
    found = judge(History(host, [made]).view(ViewSettings(filter=Filter.parse(words), **settings)))  # type: ignore[arg-type]
    assert found.rule == "calm" and found.command in found.action
    return found


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("", ANY),
        ("cpu:1", ANY),
        ("tid:71", "sudo schedtop path --tid 71"),
        ("pid:70", "sudo schedtop path --pid 70"),
        ("80", "sudo schedtop path --pid 80"),
        ("web-log", "sudo schedtop path --pid 70"),
        ("web", "sudo schedtop path --comm web"),
        ("cgroup:web.service pid:70,80", "sudo schedtop path --cgroup /system.slice/web.service"),
        ("pid:70,90", ANY),
    ],
)
def test_where_nothing_waits_the_path_of_what_is_filtered_is_next(words: str, command: str) -> None:
    assert calm(words=words).command == command


@pytest.mark.parametrize(
    ("group", "key", "command"),
    [
        ("thread", (71, 1), "sudo schedtop path --tid 71"),
        ("process", (70,), "sudo schedtop path --pid 70"),
        ("cgroup", (7,), ANY),
        ("thread", (4711, 1), ANY),
    ],
)
def test_where_nothing_waits_the_path_of_what_is_selected_is_next(
    group: str, key: tuple[int, ...], command: str
) -> None:
    assert calm(group=group, selected_task=key).command == command
    # The selection says more than the filter.
    assert calm(words="comm:web,cron", group=group, selected_task=key).command == command


def test_where_nothing_waits_the_scope_says_whose_path_is_next() -> None:
    assert calm(replace(HOST, scope="pid:70")).command == "sudo schedtop path --pid 70"
    assert calm(replace(HOST, scope="comm:a b:c")).command == ANY


def test_a_name_of_a_filter_is_quoted_and_one_that_no_task_can_have_is_not_offered() -> None:
    made = frame(tasks=np.concatenate([tasks(tid=tid, tgid=tid, comm=b"a;reboot") for tid in (1, 2)]))
    assert judged(made, "comm:a;reboot").command == "sudo schedtop path --comm 'a;reboot'"


def test_of_a_recording_no_task_is_there_to_be_followed() -> None:
    assert calm(replace(HOST, recorded_source="btf"), "pid:70").command == ANY


@pytest.mark.parametrize("pid", ["", "70", "4194304"])
def test_the_next_step_fits_into_two_lines_of_a_narrow_screen(pid: str) -> None:
    """With the key that says why, but for the longest numbers."""
    verdict = calm(words="pid:70" if pid else "")
    action = verdict.action.replace("--pid 70", f"--pid {pid}")
    made = replace(verdict, action=action, headline="x" * 60, evidence=("p99 is 40 us",))
    second = "".join(text for text, *_ in verdict_band(made, 78, "v")[1])
    assert action in second
    assert "v why" in second or len(pid) == 7


def test_the_second_line_is_not_left_empty_and_names_no_command_twice() -> None:
    verdict = calm()
    verdict = replace(verdict, evidence=(f"to look closer: {verdict.command}",))
    first, second = ("".join(text for text, *_ in line) for line in verdict_band(verdict, 238, "v"))
    assert verdict.action in second and verdict.command not in first
    assert second.count(verdict.command) == 1 and any(verdict.command in item for item in verdict.evidence)
    told = ["".join(text for text, *_ in line) for line in verdict_band(replace(verdict, evidence=("CPUs idle",)), 238)]
    assert verdict.action in told[0] and "CPUs idle" in told[1]


def test_a_number_and_its_unit_are_not_parted() -> None:
    """`up to 59.6` stood at the end of a line, `ms` on the next one."""
    verdict = Verdict("alarm", "x", f"{'a' * 50} waits up to 59.6 ms; CPU 0 is 94 % idle", ("why",), "do", "")
    lines = ["".join(text for text, *_ in line) for line in verdict_band(verdict, 79)]
    assert lines[0].rstrip().endswith(" to") and lines[1].startswith(" 59.6 ms; CPU")
