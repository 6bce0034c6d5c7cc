"""Clients of the endpoint, all in one thread. What it takes to hold a place, and what it costs us, is bounded.

No client makes another one wait: nothing blocks, a head has to be whole in two seconds, and where places lack, the
oldest client that has not asked for anything yet goes first. Why no library does it: docs/decisions.md.
"""

from __future__ import annotations

import os
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from schedtop.base.session_nice import make_ordinary
from schedtop.outputs.metrics.budget import Budget
from schedtop.outputs.metrics.http import MOST_HEAD, is_whole

MOST_CLIENTS = 128
"""How many may be about to ask, and how many about to read their answer."""

HEAD_S = 2.0
"""How long a client may take to say what it wants, all of it."""

ANSWER_S = 10.0
"""How long it may take to read the answer."""


class _Client:
    """A connection: what it has said, or what is left of its answer."""

    __slots__ = ("connection", "deadline_s", "head", "left")

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.deadline_s = time.monotonic() + HEAD_S
        self.head = bytearray()
        self.left: memoryview | None = None


class Connections:
    """Answers who comes to `listener`, which listens already, with what `answer` makes of a request's head."""

    def __init__(self, listener: socket.socket, answer: Callable[[bytes], bytes]) -> None:
        listener.setblocking(False)
        self._listener, self._answer = listener, answer
        # In the order of their deadlines: each client in one of them.
        self._silent: dict[_Client, None] = {}
        self._answered: dict[_Client, None] = {}
        self._selector = selectors.DefaultSelector()
        self._awake, self._wake = os.pipe2(os.O_CLOEXEC)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="schedtop-http", daemon=True)

    def start(self) -> None:
        """Begins to answer."""
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._awake, selectors.EVENT_READ)
        self._thread.start()

    def close(self) -> None:
        """Ends, and cuts all clients off. The listener stays open."""
        self._ending.set()
        os.write(self._wake, b"\0")
        if self._thread.is_alive():
            self._thread.join()
        for client in (*self._silent, *self._answered):
            self._drop(client)
        self._selector.close()
        for descriptor in (self._awake, self._wake):
            os.close(descriptor)

    def _serve(self) -> None:
        make_ordinary()
        budget = Budget()
        while not self._ending.is_set():
            ready = [key for key, _ in self._selector.select(self._patience_s())]
            for key in ready:
                if key.data in self._silent or key.data in self._answered:
                    self._advance(key.data)
            # After those that are here already, because it may need their places.
            if any(key.fileobj is self._listener for key in ready):
                self._accept()
            self._drop_overdue()
            if rest_s := budget.rest_s():
                self._ending.wait(rest_s)

    def _patience_s(self) -> float | None:
        """Until the next deadline, in seconds; `None`: there is none."""
        first = [next(iter(clients)).deadline_s for clients in (self._silent, self._answered) if clients]
        return max(0.0, min(first) - time.monotonic()) if first else None

    def _accept(self) -> None:
        for _ in range(MOST_CLIENTS):
            try:
                connection, _address = self._listener.accept()
            except BlockingIOError:
                return
            except OSError:  # it has gone again, or there are no descriptors left
                self._make_room(0)
                return
            connection.setblocking(False)
            client = _Client(connection)
            try:
                self._selector.register(connection, selectors.EVENT_READ, client)
            except OSError:  # the kernel watches no more of them for us
                connection.close()
                return
            self._silent[client] = None
            # A client that has asked already is answered here and now, and cannot be driven out.
            self._advance(client)
            self._make_room(MOST_CLIENTS)

    def _make_room(self, most: int) -> None:
        """Drops the oldest one, where there are more than `most` that are silent, or that read."""
        for clients in (self._silent, self._answered):
            if len(clients) > most:
                self._drop(next(iter(clients)))

    def _drop_overdue(self) -> None:
        now_s = time.monotonic()
        for clients in (self._silent, self._answered):
            while clients and (first := next(iter(clients))).deadline_s <= now_s:
                self._drop(first)

    def _drop(self, client: _Client) -> None:
        self._silent.pop(client, None)
        self._answered.pop(client, None)
        self._selector.unregister(client.connection)
        client.connection.close()

    def _advance(self, client: _Client) -> None:
        """Takes what a client says, or gives it some more of its answer."""
        try:
            if client.left is None:
                self._hear(client)
            if client.left is not None:
                client.left = client.left[client.connection.send(client.left) :]
                if not client.left:
                    self._drop(client)
        except BlockingIOError:
            return
        except OSError:  # it has gone
            self._drop(client)
        except Exception as error:
            say(f"a client could not be served: {type(error).__name__}: {error}")
            self._drop(client)

    def _hear(self, client: _Client) -> None:
        """Raises OSError if it has nothing more to say."""
        said = client.connection.recv(MOST_HEAD)
        if not said:
            raise ConnectionAbortedError
        client.head += said
        if is_whole(client.head) or len(client.head) > MOST_HEAD:
            client.left = memoryview(self._answer(bytes(client.head)))
            del self._silent[client]
            client.deadline_s = time.monotonic() + ANSWER_S
            self._answered[client] = None
            self._selector.modify(client.connection, selectors.EVENT_WRITE, client)


def say(words: str) -> None:
    """One line on standard error, if there is one."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(f"schedtop: {words}", file=sys.stderr, flush=True)
