"""What is remembered beside values that do not change: once computed, bounded, and gone with its owner."""

import gc

from schedtop.base.remembered import Remembered


class Owner:
    """Anything that has an identity."""


def test_a_result_is_computed_once_for_each_owner_and_key() -> None:
    remembered: Remembered[Owner, object] = Remembered(4)
    one, other = Owner(), Owner()
    first = remembered.get(one, "a", object)
    assert remembered.get(one, "a", object) is first
    assert remembered.get(one, "b", object) is not first
    assert remembered.get(other, "a", object) is not first


def test_a_result_may_ask_for_others_of_the_same_owner() -> None:
    remembered: Remembered[Owner, int] = Remembered(4)
    owner = Owner()
    assert remembered.get(owner, "sum", lambda: sum(remembered.get(owner, key, lambda: 1) for key in range(3))) == 3
    assert remembered.count(owner) == 4


def test_the_latest_results_of_an_owner_are_kept() -> None:
    remembered: Remembered[Owner, object] = Remembered(3)
    owner = Owner()
    results = [remembered.get(owner, key, object) for key in range(5)]
    assert remembered.count(owner) == 3
    assert remembered.get(owner, 4, object) is results[4]
    assert remembered.get(owner, 0, object) is not results[0]


def test_an_owner_takes_its_results_with_it() -> None:
    remembered: Remembered[Owner, Owner] = Remembered(3)
    owner = Owner()
    result = Owner()
    remembered.get(owner, "a", lambda: result)
    before = len(gc.get_referrers(result))
    del owner
    gc.collect()
    assert len(gc.get_referrers(result)) < before
