"""What the numbers of a slow wait mean: one decoding for all of its readers."""

import numpy as np
import pytest

from schedtop.model.rows import SLOW_WAIT_DTYPE, WAIT_KINDS, Rows
from schedtop.model.waits import (
    BEGINNINGS,
    CAUSE_BY_BEGINNING,
    CAUSES,
    Beginning,
    Cause,
    Domain,
    Evidence,
    Explanation,
    Reason,
    explanations,
    reason,
)


def wait(**fields: int) -> Rows:
    rows = np.zeros(1, SLOW_WAIT_DTYPE)
    for name, value in fields.items():
        rows[name] = value
    return rows


def test_kinds_of_the_histograms_are_beginnings() -> None:
    assert set(WAIT_KINDS) < set(BEGINNINGS)


def test_numbers_of_older_recordings_keep_their_words() -> None:
    assert BEGINNINGS == ("wakeup", "preemption", "throttled", "yield", "fork")
    first = ("wakeup", "preemption", "yield", "throttled", "stolen", "idle-cpu", "fork", "interrupts")
    assert (*first, "behind-rt", "behind-deadline", "lower-weight") == CAUSES


def test_each_beginning_has_the_cause_of_its_name() -> None:
    assert [CAUSES[cause] for cause in CAUSE_BY_BEGINNING] == [*BEGINNINGS]


def test_a_row_is_decoded() -> None:
    row = wait(kind=Beginning.YIELD, cause=Cause.IDLE_CPU, evidence=Evidence.PINNED, domain=Domain.NUMA)[0]
    assert reason(row) == Reason(Beginning.YIELD, Cause.IDLE_CPU, Evidence.PINNED, Domain.NUMA)


@pytest.mark.parametrize("number", [-1, 99])
def test_causes_of_a_later_version_decode_to_nothing(number: int) -> None:
    row = wait(kind=number, cause=number, evidence=number, domain=number)[0]
    assert reason(row) == Reason(None, None, None, None)


@pytest.mark.parametrize(
    ("cause", "evidence", "expected"),
    [
        (Cause.WAKEUP, Evidence.NONE, Explanation.QUEUEING),
        (Cause.PREEMPTION, Evidence.NONE, Explanation.QUEUEING),
        (Cause.FORK, Evidence.NONE, Explanation.QUEUEING),
        (Cause.YIELD, Evidence.NONE, Explanation.YIELD),
        (Cause.THROTTLED, Evidence.NONE, Explanation.THROTTLED),
        (Cause.THROTTLED, Evidence.INFERRED, Explanation.THROTTLED),
        (Cause.STOLEN, Evidence.NONE, Explanation.STOLEN),
        (Cause.INTERRUPTS, Evidence.NONE, Explanation.INTERRUPTS),
        (Cause.IDLE_CPU, Evidence.NONE, Explanation.IDLE_CPU),
        (Cause.IDLE_CPU, Evidence.PINNED, Explanation.PINNED),
        (Cause.IDLE_CPU, Evidence.NOT_BALANCED, Explanation.NOT_BALANCED),
        (Cause.IDLE_CPU, 99, Explanation.IDLE_CPU),
        (99, Evidence.PINNED, Explanation.UNKNOWN),
        (-1, -1, Explanation.UNKNOWN),
    ],
)
def test_cause_and_evidence_make_an_explanation(cause: int, evidence: int, expected: Explanation) -> None:
    assert explanations(wait(cause=cause, evidence=evidence)).tolist() == [expected]
