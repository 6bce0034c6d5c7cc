"""The metrics over HTTP, through the client library's own application. No client can keep the collector waiting."""

from __future__ import annotations

import os
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from socketserver import TCPServer, ThreadingMixIn
from types import TracebackType
from typing import Any
from wsgiref.simple_server import ServerHandler, WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import make_wsgi_app

from schedtop import __version__
from schedtop.base.units import NS_PER_S
from schedtop.outputs.metrics.families import SchedtopCollector
from schedtop.outputs.metrics.totals import Published

Respond = Callable[[str, list[tuple[str, str]]], Any]

MOST_CLIENTS = 16
"""How many are served at a time; one more is turned away."""

CLIENT_S = 10.0
"""How long a client may take for request and answer together."""

POLL_S = 0.2
"""How often it looks for clients that take too long, while there are any."""

STALE_INTERVALS, STALE_S = 3, 10.0
"""Data that are older are not served: so many intervals, and at least so long."""


class Endpoint:
    """Serves what was published last, in threads of its own. Binding raises OSError."""

    def __init__(
        self, family: socket.AddressFamily, address: tuple[Any, ...], *, interval_ns: int, per_cpu: bool
    ) -> None:
        self._thread: threading.Thread | None = None
        self._published: tuple[Published, float] | None = None
        self._stale_s = max(STALE_S, STALE_INTERVALS * interval_ns / NS_PER_S)
        registry = CollectorRegistry(auto_describe=False)
        registry.register(SchedtopCollector(self._latest, per_cpu=per_cpu))
        self._metrics = make_wsgi_app(registry)
        self._rendering = threading.Lock()
        self._server = _Server(family, address)
        self._server.set_app(self._respond)
        self.port: int = self._server.server_address[1]

    def start(self) -> None:
        """Begins to answer."""
        self._thread = threading.Thread(target=self._server.serve, name="schedtop-http", daemon=True)
        self._thread.start()

    def publish(self, data: Published) -> None:
        """From now on serves this."""
        self._published = data, time.monotonic()

    def close(self) -> None:
        """Ends; clients that are being served are cut off with the process."""
        if self._thread:
            self._server.end()
            self._thread.join()
        self._server.server_close()

    def _latest(self) -> Published | None:
        published = self._published
        return published[0] if published else None

    def _problem(self) -> str:
        """Why there is nothing to serve; empty if there is."""
        published = self._published
        if published is None:
            return "no data yet: the kernel programs are being made, or the first interval is under way"
        age_s = time.monotonic() - published[1]
        return f"no fresh data: the last ones are {age_s:.0f} seconds old" if age_s > self._stale_s else ""

    def _respond(self, environ: dict[str, Any], start_response: Respond) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path == "/":
            return _plain(start_response, "200 OK", f"schedtop {__version__}: metrics are at /metrics")
        if path not in ("/metrics", "/-/healthy"):
            return _plain(start_response, "404 Not Found", "not found: metrics are at /metrics")
        if problem := self._problem():
            return _plain(start_response, "503 Service Unavailable", problem)
        if path == "/-/healthy":
            return _plain(start_response, "200 OK", "healthy")
        # One at a time: whoever asks very often must not take the interpreter from the collector.
        with self._rendering:
            try:
                answer: Iterable[bytes] = self._metrics(environ, start_response)
            except (TypeError, ValueError):
                # The library fails at odd versions in what a client accepts.
                answer = self._metrics(environ | {"HTTP_ACCEPT": "text/plain"}, start_response)
            return answer


def _plain(start_response: Respond, status: str, words: str) -> list[bytes]:
    body = f"{words}\n".encode()
    start_response(status, [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))])
    return [body]


class _Answer(ServerHandler):
    server_software = "schedtop"

    def log_exception(self, exc_info: Any) -> None:
        """One line instead of a traceback; a client that is gone, or too slow, is none."""
        if not isinstance(exc_info[1], OSError):
            _say(f"a scrape failed: {exc_info[0].__name__}: {exc_info[1]}")


class _Request(WSGIRequestHandler):
    timeout = CLIENT_S
    server_version, sys_version = "schedtop", ""

    def handle(self) -> None:
        """One request, as the base class does it, but with our answer's handler."""
        self.raw_requestline = self.rfile.readline(65537)
        if len(self.raw_requestline) > 65536:
            self.requestline = self.request_version = self.command = ""
            self.send_error(414)
            return
        if not self.parse_request():
            return
        files: tuple[Any, Any] = self.rfile, self.wfile  # narrower types than what wsgiref itself passes
        answer = _Answer(*files, self.get_stderr(), self.get_environ(), multithread=True)
        answer.request_handler = self  # type: ignore[attr-defined]  # wsgiref's own way to log
        answer.run(self.server.get_app())  # type: ignore[attr-defined]

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a scrape a second would fill the journal."""

    def address_string(self) -> str:
        """Without asking a name server."""
        return str(self.client_address[0])


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 2 * MOST_CLIENTS
    timeout = 0  # of handle_request: it is called when there is something, or nothing to wait for

    def __init__(self, family: socket.AddressFamily, address: tuple[Any, ...]) -> None:
        self.address_family = family
        self._clients: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._awake, self._wake = os.pipe2(os.O_CLOEXEC)
        super().__init__(address, _Request)

    def serve(self) -> None:
        """Answers until `end`. Without clients it sleeps: the base class would wake up several times a second."""
        with selectors.DefaultSelector() as selector:
            for waited_for in (self.fileno(), self._awake):
                selector.register(waited_for, selectors.EVENT_READ)
            while not self._ending.is_set():
                selector.select(POLL_S if self._clients else None)
                self.handle_request()
                self.service_actions()

    def end(self) -> None:
        """Has `serve` end."""
        self._ending.set()
        os.write(self._wake, b"\0")

    def server_close(self) -> None:
        """Ends listening, after `serve` has ended."""
        super().server_close()
        for descriptor in (self._awake, self._wake):
            os.close(descriptor)

    def server_bind(self) -> None:
        """Binds; the base class would ask a name server for the name of the address."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serves a client in a thread, if there are not too many."""
        with self._lock:
            full = len(self._clients) >= MOST_CLIENTS
            if not full:
                self._clients[request] = time.monotonic() + CLIENT_S
        if full:
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Closes, and counts it no longer."""
        with self._lock:
            self._clients.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Ends a connection that takes too long. A timeout of the socket alone would wait for every single byte."""
        now = time.monotonic()
        with self._lock:
            for client, deadline in self._clients.items():
                if now > deadline:
                    _cut(client)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no news; anything else is one line."""
        kind, error, _trace = _current()
        if not isinstance(error, OSError):
            _say(f"a client could not be served: {kind.__name__}: {error}")


def _cut(client: socket.socket) -> None:
    with suppress(OSError):  # it has just gone by itself
        client.shutdown(socket.SHUT_RDWR)


def _current() -> tuple[type[BaseException], BaseException | None, TracebackType | None]:
    kind, error, trace = sys.exc_info()
    return kind or BaseException, error, trace


def _say(words: str) -> None:
    if sys.stderr is not None:
        print(f"schedtop: {words}", file=sys.stderr, flush=True)
