"""What follows from the release of a kernel."""

from __future__ import annotations

import pytest

from schedtop.model.kernels import has_fair_server, release_of, rt_keeper


@pytest.mark.parametrize(
    ("kernel", "release"),
    [
        ("6.18.44-fc", (6, 18)),
        ("5.10.0-46-amd64", (5, 10)),
        ("7.3-rc1", (7, 3)),
        ("6", None),
        ("mine", None),
        ("", None),
    ],
)
def test_release_is_its_first_two_numbers(kernel: str, release: tuple[int, int] | None) -> None:
    assert release_of(kernel) == release


def test_fair_server_came_with_6_12() -> None:
    assert [has_fair_server(kernel) for kernel in ("6.11.9", "6.12.0", "10.1", "mine")] == [False, True, True, None]
    assert [rt_keeper(kernel) for kernel in ("5.10", "7.0")] == ["sched_rt_runtime_us", "the fair server"]
