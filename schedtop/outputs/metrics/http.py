"""Requests and answers of HTTP as bytes; the head of a request is read by the standard library."""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from io import BytesIO

MOST_HEAD = 8192
"""The most bytes of a request's head."""

HEAD_END = b"\r\n\r\n"


class BadRequest(Exception):
    """No request that can be answered; `status` says why."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for. The names in `headers` are in lower case."""

    method: str
    path: str
    headers: dict[str, str]


def is_whole(head: bytes | bytearray) -> bool:
    """Whether the head of a request has ended; line ends without a carriage return are let pass."""
    return HEAD_END in head or b"\n\n" in head


def parse(head: bytes) -> Request:
    """The request of a whole head, without its query. Raises BadRequest."""
    read = _Head(head)
    if read.problem:
        raise BadRequest(read.problem)
    hosts = read.headers.get_all("Host", [])
    # As HTTP/1.1 wants it; what is older need not have one.
    if len(hosts) > 1 or (not hosts and read.request_version == "HTTP/1.1"):
        raise BadRequest(HTTPStatus.BAD_REQUEST)
    headers = {name.lower(): str(value) for name, value in read.headers.items()}
    return Request(read.command, read.path.partition("?")[0], headers)


def answer(status: HTTPStatus, body: bytes, content_type: str, *headers: str) -> bytes:
    """A whole answer, after which the connection is closed."""
    lines = (
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Date: {formatdate(usegmt=True)}",
        "Server: schedtop",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(body)}",
        *headers,
        "Connection: close",
    )
    return "\r\n".join(lines).encode() + HEAD_END + body


def plain(status: HTTPStatus, words: str, *headers: str) -> bytes:
    """An answer of one line."""
    return answer(status, f"{words}\n".encode(), "text/plain; charset=utf-8", *headers)


def without_body(whole: bytes) -> bytes:
    """The answer to HEAD, of that to GET."""
    return whole[: whole.index(HEAD_END) + len(HEAD_END)]


class _Head(BaseHTTPRequestHandler):
    """The standard library's reader, of bytes instead of a connection."""

    def __init__(self, head: bytes) -> None:
        self.rfile = BytesIO(head)
        self.raw_requestline = self.rfile.readline(MOST_HEAD)
        self.problem: HTTPStatus | None = None
        if not self.parse_request() and not self.problem:
            self.problem = HTTPStatus.BAD_REQUEST

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Remembers what the base class would send."""
        self.problem = HTTPStatus(code)
