"""Whatever a client says is a request, or is refused with a status; and what it costs is bounded."""

from __future__ import annotations

import time
from contextlib import suppress
from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedtop.outputs.metrics import budget
from schedtop.outputs.metrics.budget import Budget
from schedtop.outputs.metrics.http import BadRequest, Request, is_whole, parse, plain, without_body

LINES = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from(
            [b"Host: a", b"Host:", b"Accept: \xff", b" folded", b"X: =?utf-8?q?=ff?=", b"Expect: 100-continue"]
        ),
    )
)


@given(
    st.sampled_from([b"GET / HTTP/1.1", b"GET  HTTP/1.0", b"GET /", b"A B C D", b"", b"\r", b"GET / HTTP/1.1.1"]), LINES
)
def test_any_head_is_a_request_or_refused(first: bytes, lines: list[bytes]) -> None:
    check(b"\r\n".join((first, *lines, b"", b"")))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_refused(head: bytes) -> None:
    check(head)


def check(head: bytes) -> None:
    """Nothing but a Request or a BadRequest comes of it."""
    with suppress(BadRequest):
        request = parse(head)
        assert all(isinstance(value, str) for value in (request.method, request.path, *request.headers.values()))


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\nHost: a\r\n\r\n", 505),
        (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 200 + b"\r\n", 431),
    ],
)
def test_heads_that_are_refused(head: bytes, status: int) -> None:
    with pytest.raises(BadRequest) as refused:
        parse(head)
    assert refused.value.status == status


def test_request_has_no_query_and_names_in_lower_case() -> None:
    request = parse(b"GET /metrics?name[]=a HTTP/1.1\r\nHOST: a:1\r\n\r\nrest")
    assert request == Request("GET", "/metrics", {"host": "a:1"})
    assert parse(b"HEAD / HTTP/1.0\n\n").headers == {}, "what is older needs no Host"


def test_head_is_whole_at_an_empty_line() -> None:
    assert is_whole(b"GET / HTTP/1.0\r\nA: b\r\n\r\n") and is_whole(bytearray(b"GET /\n\n"))
    assert not is_whole(b"GET / HTTP/1.0\r\nA: b\r\n")


def test_answer_to_head_has_no_body() -> None:
    whole = plain(HTTPStatus.OK, "words")
    assert without_body(whole) + b"words\n" == whole and b"Content-Length: 6\r\n" in without_body(whole)


def test_thread_rests_for_what_it_took_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = {"monotonic": 100.0, "thread_time": 5.0}
    for name in clock:
        monkeypatch.setattr(budget.time, name, lambda name=name: clock[name])
    spent = Budget()
    clock["thread_time"] += 0.25
    assert spent.rest_s() == 0, "a burst is let pass"
    clock["thread_time"] += 0.1
    assert spent.rest_s() == pytest.approx(0.5), "0.05 s too much, at a tenth of a CPU"
    clock["monotonic"] += 0.5
    assert spent.rest_s() == pytest.approx(0, abs=0.011)
    clock["monotonic"] += 1000
    clock["thread_time"] += 0.4
    assert spent.rest_s() == pytest.approx(1.0), "no more is saved up than a burst"


def test_no_more_than_its_share_is_taken_in_the_long_run() -> None:
    spent, begin_s, begin_cpu_s = Budget(), time.monotonic(), time.thread_time()
    while time.monotonic() < begin_s + 4:
        sum(range(1000))
        time.sleep(spent.rest_s())
    used_s = time.thread_time() - begin_cpu_s
    assert used_s < budget.BURST_S + budget.SHARE * (time.monotonic() - begin_s) + 0.05
