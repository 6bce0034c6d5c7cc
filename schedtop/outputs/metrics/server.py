"""The metrics over HTTP: which request gets which answer. No client can keep the collector waiting."""

from __future__ import annotations

import socket
import time
from http import HTTPStatus

from schedtop import __version__
from schedtop.base.units import NS_PER_S
from schedtop.outputs.metrics.connections import Connections, say
from schedtop.outputs.metrics.host_names import HostNames
from schedtop.outputs.metrics.http import BadRequest, Request, is_whole, parse, plain, without_body
from schedtop.outputs.metrics.rendering import Renderer, encoding_of
from schedtop.outputs.metrics.totals import Published

STALE_INTERVALS, STALE_S = 3, 10.0
"""Data that are older are not served: so many intervals, and at least so long."""

METHODS = ("GET", "HEAD")


class Endpoint:
    """Serves what was published last, in a thread of its own, to whoever comes to `listener`."""

    def __init__(self, listener: socket.socket, names: HostNames | None, *, interval_ns: int, per_cpu: bool) -> None:
        """`names`: what `Host` may say; `None`: anything, for no browser comes here."""
        self._listener, self._names = listener, names
        self._published: tuple[Published, float] | None = None
        self._stale_s = max(STALE_S, STALE_INTERVALS * interval_ns / NS_PER_S)
        self._renderer = Renderer(per_cpu=per_cpu)
        self._connections = Connections(listener, self._answer)

    @property
    def port(self) -> int:
        """The port it listens at; not of a UNIX socket."""
        return int(self._listener.getsockname()[1])

    def start(self) -> None:
        """Begins to answer."""
        self._connections.start()

    def publish(self, data: Published) -> None:
        """From now on serves this."""
        self._published = data, time.monotonic()

    def close(self) -> None:
        """Ends; clients that are being served are cut off."""
        self._connections.close()
        self._listener.close()

    def _answer(self, head: bytes) -> bytes:
        try:
            if not is_whole(head):
                raise BadRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            request = parse(head)
            answer = self._respond(request)
        except BadRequest as error:
            return plain(error.status, error.status.phrase)
        except Exception as error:
            say(f"a scrape failed: {type(error).__name__}: {error}")
            return plain(HTTPStatus.INTERNAL_SERVER_ERROR, "schedtop failed: its standard error says why")
        return without_body(answer) if request.method == "HEAD" else answer

    def _respond(self, request: Request) -> bytes:
        host = request.headers.get("host")
        if self._names and host is not None and not self._names.has(host):
            words = "schedtop metrics knows no host of this name: --host-name adds one"
            return plain(HTTPStatus.MISDIRECTED_REQUEST, words)
        if request.method not in METHODS:
            return plain(HTTPStatus.METHOD_NOT_ALLOWED, "GET alone", f"Allow: {', '.join(METHODS)}")
        if request.path == "/":
            return plain(HTTPStatus.OK, f"schedtop {__version__}: metrics are at /metrics")
        if request.path not in ("/metrics", "/-/healthy"):
            return plain(HTTPStatus.NOT_FOUND, "not found: metrics are at /metrics")
        published = self._published
        if published is None:
            words = "no data yet: the kernel programs are being made, or the first interval is under way"
            return plain(HTTPStatus.SERVICE_UNAVAILABLE, words)
        if (age_s := time.monotonic() - published[1]) > self._stale_s:
            words = f"no fresh data: the last ones are {age_s:.0f} seconds old"
            return plain(HTTPStatus.SERVICE_UNAVAILABLE, words)
        if request.path == "/-/healthy":
            return plain(HTTPStatus.OK, "healthy")
        wishes = encoding_of(request.headers.get("accept", ""), request.headers.get("accept-encoding", ""))
        return self._renderer.answer(published[0], wishes)
