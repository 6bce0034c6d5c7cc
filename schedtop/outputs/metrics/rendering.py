"""Metrics as text and OpenMetrics, each made once an interval, when somebody asks for it."""

from __future__ import annotations

import gzip
from http import HTTPStatus
from typing import NamedTuple

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder, gzip_accepted

from schedtop.outputs.metrics.families import SchedtopCollector
from schedtop.outputs.metrics.http import answer
from schedtop.outputs.metrics.totals import Published

OPEN_METRICS = "application/openmetrics-text"

_FORMATS = {False: choose_encoder(""), True: choose_encoder(OPEN_METRICS)}
"""By whether it is OpenMetrics. There are no others, so that no client can have more of them made."""

GZIP_LEVEL = 6


class Encoding(NamedTuple):
    """How a client wants its answer."""

    is_open_metrics: bool
    is_packed: bool


def encoding_of(accept: str, accept_encoding: str) -> Encoding:
    """What fits a client's wishes; the plain text, if they cannot be understood."""
    try:
        _, content_type = choose_encoder(accept)
    except (TypeError, ValueError):  # the library fails at odd versions
        content_type = ""
    return Encoding(content_type.startswith(OPEN_METRICS), gzip_accepted(accept_encoding))


class Renderer:
    """For one thread, which shares among its clients what was made for the first of them."""

    def __init__(self, *, per_cpu: bool) -> None:
        self._published: Published | None = None
        self._texts: dict[bool, bytes] = {}
        self._answers: dict[Encoding, bytes] = {}
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(SchedtopCollector(lambda: self._published, per_cpu=per_cpu))

    def answer(self, published: Published, encoding: Encoding) -> bytes:
        """The whole answer of HTTP; the same bytes until something else is published."""
        if published is not self._published:
            self._published, self._texts, self._answers = published, {}, {}
        if encoding not in self._answers:
            self._answers[encoding] = self._made(encoding)
        return self._answers[encoding]

    def _made(self, encoding: Encoding) -> bytes:
        encoder, content_type = _FORMATS[encoding.is_open_metrics]
        text = self._texts.get(encoding.is_open_metrics) or encoder(self._registry)
        self._texts[encoding.is_open_metrics] = text
        if not encoding.is_packed:
            return answer(HTTPStatus.OK, text, content_type)
        return answer(HTTPStatus.OK, gzip.compress(text, GZIP_LEVEL), content_type, "Content-Encoding: gzip")
