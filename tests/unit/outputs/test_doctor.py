"""What `schedtop doctor` prints: at most 80 columns, never colour alone, and JSON as docs/doctor.md says."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

import schedtop
from schedtop.base.ascii import to_ascii
from schedtop.base.finding import STATES, Finding
from schedtop.checks import self_test
from schedtop.checks.examination import GROUPS, Checked, examine
from schedtop.commands.doctor import config, terminal
from schedtop.model.counts import Loss
from schedtop.outputs import doctor
from schedtop.outputs.doctor import Examination, to_json, to_text

TEXT = (Path(schedtop.__file__).parents[1] / "docs/doctor.md").read_text(encoding="utf-8")
FIELDS = [{"name": "prev_pid", "type": "pid_t", "offset": 24, "size": 4, "used": True}]


def examination(*findings: Finding) -> Examination:
    return Examination("web1", "6.1.0", 10**18, GROUPS, [("kernel", finding) for finding in findings])


@pytest.fixture(scope="module")
def examined() -> list[Checked]:
    """This host, whatever it is."""
    return examine()


OK = Finding("kernel", "ok", "6.1.0, x86_64")
OFF = Finding("psi", "degraded", "switched off", "PSI", advice="boot with psi=1")
NO_RIGHTS = Finding("capabilities", "missing", "no rights", "all", "sudo schedtop", "or capabilities")
NO_BPF = Finding("bpf", "missing", "refused", "all")


def test_the_status_is_that_of_the_kernel_programs() -> None:
    assert [examination(*found).status for found in ((OK,), (OK, OFF), (OK, OFF, NO_BPF))] == [0, 0, 1]


def test_doctor_puts_the_root_cause_first() -> None:
    assert examination(OK, OFF, NO_BPF, NO_RIGHTS).first is NO_RIGHTS
    assert examination(OK, OFF).first is OFF
    assert examination(OK).first is None
    assert to_text(examination(NO_BPF, NO_RIGHTS)).endswith("First: sudo schedtop\n")
    assert "see what is said of bpf above" in to_text(examination(NO_BPF))


def test_text_has_a_sign_and_a_word_for_each_state() -> None:
    text = to_text(examination(OK, OFF, NO_RIGHTS))
    assert "✓ ok        kernel " in text
    assert "! degraded  psi " in text and "lost    PSI" in text and "advice  boot with psi=1" in text
    assert "✗ missing   capabilities " in text and "repair  sudo schedtop" in text
    assert "1 ok, 1 degraded (psi), 1 missing (capabilities)" in text
    assert "\x1b" not in text
    assert re.sub("\x1b\\[[0-9;]*m", "", to_text(examination(OK, OFF, NO_RIGHTS), coloured=True)) == text
    assert to_ascii(text).isascii() and "+ ok" in to_ascii(text) and "x missing" in to_ascii(text)


def test_fields_are_shown_when_they_are_asked_for() -> None:
    found = Finding("sched_switch", "ok", "1 field", details={"fields": FIELDS})
    assert "prev_pid" not in to_text(examination(found))
    assert re.search(r" 24 +4 +\* prev_pid: pid_t", to_text(examination(found), verbose=True))


def test_lines_fit_80_columns_but_for_commands() -> None:
    long = Finding("btf", "degraded", "word " * 60, "lost " * 60, "command " * 20, "advice " * 60)
    lines = to_text(examination(OK, long), verbose=True).split("\n")
    assert [line.strip()[:6] for line in lines if len(line) > 80] == ["repair", "First "]


def test_doctor_fits_this_host_in_80_columns(examined: list[Checked]) -> None:
    found = Examination("host", "1", 0, GROUPS, [(one.group, one.finding) for one in examined])
    wide = [line for line in to_text(found, verbose=True).split("\n") if len(line) > 80 and "repair" not in line]
    assert not [line for line in wide if len(line.split()) > 3]  # a path has no place to break it


def test_doctor_output_cannot_steer_the_terminal() -> None:
    evil = Finding("config", "degraded", "\x1b[2Jevil", "a\nb", "c\rd", "e\x07f", {"path": "\x1b]0;evil"})
    assert "\x1b" not in to_text(examination(evil)) and "\\u001b" not in to_json(examination(evil))


def test_json_is_what_the_docs_say(examined: list[Checked]) -> None:
    found = Examination("host", "1", 0, GROUPS, [(one.group, one.finding) for one in examined])
    data = json.loads(to_json(found))
    section = TEXT.split("## JSON", 1)[1].split("## The findings", 1)[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert [name for row in rows for name in re.findall(r"`(\w+)`", row)] == list(data)
    assert f'`"{doctor.SCHEMA}"`' in section
    named = re.search(r"all lines in order: (.*?) \(", section)
    assert named and re.findall(r"`(\w+)`", named[1]) == list(data["findings"][0])
    assert set(data["counts"]) == set(STATES)


def documented() -> dict[tuple[str, str], set[str]]:
    """The details of each finding by group and name, as the table has them."""
    table, before = {}, set[str]()
    for line in TEXT.split("## The findings", 1)[1].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[0].startswith("`"):
            words = re.sub(r"\(.*?\)", "", cells[3])
            before = before if words == "the same" else set(re.findall(r"`(\w+)`", words))
            table[cells[0].strip("`"), cells[1].strip("`")] = before
    return table


def test_every_finding_and_its_details_are_in_the_docs(examined: list[Checked]) -> None:
    table = documented()
    checked = [*examined, *(Checked("schedtop", finding) for finding in (config(), terminal()))]
    names = [(one.group, one.finding.name) for one in checked]
    assert names == [name for name in table if name[0] != "self_test"]
    for one in checked:
        assert set(one.finding.details) <= table[one.group, one.finding.name], one.finding.name
    assert table["self_test", "losses"] == set()  # they are those of the snapshot
    assert {group for group, _ in table} | {"self_test_proc", "self_test_tracepoint"} == set(GROUPS)


def test_the_allowed_differences_are_those_of_the_docs() -> None:
    rows = {line.split("`")[1]: line for line in TEXT.split("## JSON")[0].splitlines() if line.startswith("| `")}
    switches = 100 * (self_test.SWITCHES_RATIO + self_test.EDGES_S)  # of a second
    assert f"| {switches:.0f} %, and {self_test.LEAST_SWITCHES} " in rows["switches"]
    assert f"| {self_test.LEAST_COUNT} |" in rows["workload_voluntary"]
    delay = f"| {100 * self_test.DELAY_RATIO:.0f} %, or {self_test.LEAST_DELAY_NS // 10**6} ms |"
    assert delay in rows["workload_run_delay"]
    assert f"| {100 * self_test.WAITS_RATIO:.0f} %, or {self_test.LEAST_SWITCHES} " in rows["waits"]
    assert {name for group, name in documented() if group == "self_test"} - {"source"} == set(rows)


@pytest.mark.parametrize(
    ("ours", "state"), [(1000, "ok"), (1010, "ok"), (1011, "degraded"), (1100, "degraded"), (1101, "missing")]
)
def test_a_difference_is_judged_by_its_size(ours: int, state: str) -> None:
    found = self_test.compare("switches", ours, 1000, ratio=0.01, least=3)
    assert (found.state, found.details["difference"]) == (state, ours - 1000)
    assert bool(found.lost) == (state != "ok")


def test_a_wait_that_the_kernel_hid_is_no_fault_of_ours() -> None:
    assert self_test._run_delay(900 * 10**6, 10**9, unseen=0).state == "degraded"
    hidden = self_test._run_delay(400 * 10**6, 10**9, unseen=7)
    assert (hidden.state, hidden.advice) == ("degraded", "") and "7 switches" in hidden.lost
    assert self_test._run_delay(10**9 + 400 * 10**6, 10**9, unseen=7).state == "missing"


def test_a_harmless_loss_is_one_that_exists() -> None:
    assert {*self_test.HARMLESS, *self_test.POLLED} <= {field.name for field in fields(Loss)}
