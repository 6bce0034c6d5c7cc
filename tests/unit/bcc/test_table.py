"""The table of tested versions of bcc: a new result takes the place of the old one, and the others stay."""

from __future__ import annotations

from tests.bcc.checks import Outcome
from tests.bcc.table import BEGIN, DOCUMENT, END, row, with_rows

LIBRARIES = ["/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", "/usr/lib/x86_64-linux-gnu/libbcc.so.0.26.0"]
ABOUT = {"version": "0.26.0", "python": "3.11.2", "libraries": LIBRARIES}


def test_a_release_has_one_row_and_others_keep_theirs() -> None:
    empty = f"before\n{BEGIN}\n{END}\nafter\n"
    good = row("Debian 12", Outcome(ABOUT), [], "2026-01-01")
    assert good == "| 0.26.0 | Debian 12 | 3.11.2 | 14 | 5 of 5 | 5 of 5 | the same | 2026-01-01 |"
    failed = Outcome(ABOUT | {"version": "0.37.0", "libraries": ["/usr/lib/libLLVM.so.21.1"]})
    failed.failures["task", "btf"] = "no system call of the load"
    bad = row("Debian sid", failed, ["task btf: totals"], "2026-01-02")
    assert "| 21 | **failed: task** | 5 of 5 | 1 differ |" in bad
    text = with_rows(with_rows(empty, {"Debian 12": good}, "6.1"), {"Debian sid": bad}, "6.2")
    assert text.count(good) == text.count(bad) == 1
    again = with_rows(text, {"Debian sid": good.replace("12", "sid")}, "6.3")
    assert bad not in again and good in again and "On kernel 6.3." in again
    assert again.startswith("before\n") and again.endswith("after\n")


def test_the_document_has_the_versions_that_were_asked_for() -> None:
    rows = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| 0.")]
    assert {"0.18.0", "0.26.0", "0.31.0"} <= {line.split("|")[1].strip() for line in rows}
    assert not any("failed" in line or "differ" in line for line in rows)
