"""What is published is rendered once for each encoding, and not before somebody asks."""

from __future__ import annotations

import gzip
import threading

import pytest

from schedtop.history.view import ViewSettings
from schedtop.outputs.metrics.rendering import Encoding, Renderer, encoding_of
from schedtop.outputs.metrics.totals import Published, Totals
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource

ALL = [Encoding(is_open, packed) for is_open in (False, True) for packed in (False, True)]


@pytest.fixture
def two() -> tuple[Published, Published]:
    source = SyntheticSource(Scenario(cpus=2, frames=2))
    first, second = source.frames(threading.Event())
    totals = Totals(source.host, ViewSettings(), "cgroup", 10)
    return totals.add(first), totals.add(second)


@pytest.mark.parametrize("encoding", ALL)
def test_answer_is_made_once_an_interval(two: tuple[Published, Published], encoding: Encoding) -> None:
    renderer = Renderer(per_cpu=True)
    first = renderer.answer(two[0], encoding)
    assert renderer.answer(two[0], encoding) is first
    assert b"schedtop_intervals_total 2.0" in text_of(renderer.answer(two[1], encoding))
    assert b"schedtop_intervals_total 1.0" in text_of(first)


def test_packed_text_is_the_plain_one(two: tuple[Published, Published]) -> None:
    renderer = Renderer(per_cpu=True)
    for is_open in (False, True):
        packed, plain = (renderer.answer(two[0], Encoding(is_open, packed)) for packed in (True, False))
        assert text_of(packed) == text_of(plain) and len(packed) < len(plain) / 3
        assert b"Content-Length: %d\r\n" % len(text_of(plain)) in plain


def text_of(answer: bytes) -> bytes:
    head, _, body = answer.partition(b"\r\n\r\n")
    return gzip.decompress(body) if b"Content-Encoding: gzip" in head else body


PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;"
    "q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


@pytest.mark.parametrize(
    ("accept", "accept_encoding", "encoding"),
    [
        ("", "", Encoding(False, False)),
        (PROMETHEUS, "gzip", Encoding(True, True)),
        ("*/*", "deflate, gzip", Encoding(False, True)),
        ("text/html", "br", Encoding(False, False)),
        ("application/openmetrics-text; version=x", "gzip", Encoding(False, True)),
    ],
)
def test_wishes(accept: str, accept_encoding: str, encoding: Encoding) -> None:
    assert encoding_of(accept, accept_encoding) == encoding


def test_wishes_lead_to_four_answers_at_most() -> None:
    """Each version and escaping that a client thinks up would be another rendering."""
    wishes = [
        f"{kind};version={version};escaping={escaping}"
        for kind in ("text/plain", "application/openmetrics-text")
        for version in ("0.0.1", "0.0.4", "1.0.0", "1.0.1", "2.0.0", "9")
        for escaping in ("allow-utf-8", "underscores", "dots", "values")
    ]
    assert {encoding_of(wish, packed) for wish in wishes for packed in ("", "gzip")} == set(ALL)
