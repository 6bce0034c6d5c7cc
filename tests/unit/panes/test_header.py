"""What the three lines on top say of losses."""

from dataclasses import fields

import pytest

from schedtop.model.counts import Loss
from schedtop.panes.header import LOSS_WORDS, loss_text


def test_every_kind_of_loss_has_words() -> None:
    assert {*LOSS_WORDS} == {field.name for field in fields(Loss)}


@pytest.mark.parametrize(
    ("name", "one", "many"),
    [
        ("waits_unseen", "1 wait unseen", "2 waits unseen"),
        ("switches_unseen", "1 switch unseen", "2 switches unseen"),
        ("late_ticks", "1 late tick", "2 late ticks"),
        ("tasks_untracked", "1 task untracked", "2 tasks untracked"),
        ("lives_unseen", "1 short-lived task unseen", "2 short-lived tasks unseen"),
    ],
)
def test_one_loss_is_in_the_singular(name: str, one: str, many: str) -> None:
    assert [loss_text(Loss(**{name: count})) for count in (1, 2)] == [one, many]
    assert loss_text(Loss(**{name: 2}, events_missed=1), 1) == f"{many}, +1"


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", sorted(LOSS_WORDS))
def test_no_single_loss_has_a_plural(name: str, level: int) -> None:
    words = loss_text(Loss(**{name: 1}), level).split()
    assert words[0] == "1"
    assert not words[-1 if level else 1].endswith("s")
