"""Water-filling: by weight, never more than is wanted, and all that is there is given out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedtop.entitlement.filling import ROOT, Claims, fill, fill_tree, tree_of


def test_capacity_is_shared_by_weight() -> None:
    assert fill([(1024, 1), (335, 1)], 1.0) == pytest.approx([1024 / 1359, 335 / 1359])


def test_what_one_does_not_want_goes_to_the_others_by_weight() -> None:
    assert fill([(1024, 0.1), (1024, 1), (512, 1)], 1.0) == pytest.approx([0.1, 0.6, 0.3])


def test_nothing_gets_more_than_it_wants() -> None:
    assert fill([(1024, 0.1), (15, 0.2)], 1.0) == pytest.approx([0.1, 0.2])
    assert fill([], 1.0) == []


@given(
    st.lists(st.tuples(st.integers(1, 88761), st.floats(0, 1)), min_size=1, max_size=12),
    st.floats(0, 4),
)
def test_the_water_stands_at_one_level(claims: list[tuple[float, float]], capacity: float) -> None:
    given_out = fill(claims, capacity)
    assert sum(given_out) == pytest.approx(min(capacity, sum(most for _, most in claims)), abs=1e-9)
    levels = [share / weight for share, (weight, _) in zip(given_out, claims, strict=True)]
    for share, (_, most), level in zip(given_out, claims, levels, strict=True):
        assert share <= most + 1e-12
        # What did not get all that it wanted stands as high as any other.
        assert share >= most - 1e-9 or level >= max(levels) - 1e-9


def test_a_group_counts_as_one_and_shares_what_it_got() -> None:
    tree = tree_of([("a",), ("a",), ()])
    claims = Claims([1024, 1024, 1024], [1, 1, 1], {"a": 1024}, {})
    given_out, groups = fill_tree(tree, claims, 1.0)
    assert given_out == pytest.approx([0.25, 0.25, 0.5])
    assert groups == pytest.approx({ROOT: 1.0, "a": 0.5})


def test_a_quota_bounds_a_group_and_leaves_the_rest() -> None:
    tree = tree_of([("a", "b"), ("c",)])
    claims = Claims([1024, 1024], [1, 1], {"a": 4096, "b": 1024, "c": 1024}, {"b": 0.2})
    given_out, groups = fill_tree(tree, claims, 1.0)
    assert given_out == pytest.approx([0.2, 0.8])
    assert groups["a"] == pytest.approx(0.2)
