"""`schedtop metrics`: serves what is counted to Prometheus."""

from __future__ import annotations

import ipaddress
import os
import socket
from contextlib import suppress
from typing import Any

import click

from schedtop.commands.opening import settings_of, source_of
from schedtop.history.view import ViewSettings
from schedtop.model.source import Source, SourceError
from schedtop.outputs.metrics.server import Endpoint
from schedtop.outputs.metrics.totals import Totals
from schedtop.run.errors import complain
from schedtop.run.garbage import set_aside
from schedtop.run.opening import opening_words
from schedtop.run.progress import progress
from schedtop.run.signals import Signals
from schedtop.run.threads import in_thread

MOST_SERIES = 1000

Address = tuple[socket.AddressFamily, tuple[Any, ...]]


def run(signals: Signals, options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""
    if options["top"] > MOST_SERIES:
        raise click.BadParameter(f"{options['top']} is more than {MOST_SERIES}", param_hint="'--top'")
    options.setdefault("group", None)
    endpoint = bind(options)
    settings = settings_of(options)
    source = source_of(options, options["interval"])
    opening = opening_words(options["source"])
    in_thread(lambda: serve(signals, source, endpoint, opening, settings, options), signals)
    return signals.status


def bind(options: dict[str, Any]) -> Endpoint:
    """The endpoint at the address that the options name, not yet answering. Raises ClickException."""

    listen = options["listen"]
    family, address = resolve(listen)
    if not ipaddress.ip_address(address[0].partition("%")[0]).is_loopback:
        if not options["allow_remote"]:
            words = f"{listen} can be reached from other hosts: add --allow-remote if that is meant"
            raise click.BadParameter(words, param_hint="'--listen'")
        complain(f"warning: {listen} can be reached from other hosts, and there is no password: see to a firewall")
    try:
        return Endpoint(family, address, interval_ns=options["interval"], per_cpu=options["per_cpu"])
    except OSError as error:
        raise click.ClickException(f"cannot listen on {listen}: {error.strerror}") from error


def resolve(listen: str) -> Address:
    """The socket address of `HOST:PORT`, `[IPv6]:PORT`, or `:PORT` for all addresses. Raises BadParameter."""
    host, colon, port = listen.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not (port.isascii() and port.isdigit()) or (":" in host and not bracketed):
        raise click.BadParameter(
            f"{listen!r} is not HOST:PORT, like 127.0.0.1:9435 or [::1]:9435", param_hint="'--listen'"
        )
    if len(port) > 5 or int(port) > 65535:
        raise click.BadParameter(f"there is no port {port}", param_hint="'--listen'")
    name = host[1:-1] if bracketed else host
    try:
        found = socket.getaddrinfo(name or None, int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "not a name"
        raise click.BadParameter(f"{name!r} is no address of this host: {reason}", param_hint="'--listen'") from error
    # Of several addresses one that only this host can reach, if there is one.
    found.sort(key=lambda info: not ipaddress.ip_address(str(info[4][0]).partition("%")[0]).is_loopback)
    return found[0][0], found[0][4]


def serve(
    signals: Signals,
    source: Source,
    endpoint: Endpoint,
    opening: str,
    settings: ViewSettings,
    options: dict[str, Any],
) -> None:
    """Opens the source and publishes its Frames until a signal comes. Raises SourceError, also when it just ends."""

    endpoint.start()
    try:
        with progress(opening):
            source.__enter__()
        try:
            set_aside()
            totals = Totals(source.host, settings, options["by"], options["top"])
            host = options["listen"].rpartition(":")[0]
            for number, frame in enumerate(source.frames(signals.stop)):
                endpoint.publish(totals.add(frame))
                notify("READY=1\nWATCHDOG=1" if number == 0 else "WATCHDOG=1")
                if number == 0:
                    complain(f"serving http://{host or '*'}:{endpoint.port}/metrics")
        finally:
            source.__exit__(None, None, None)
    finally:
        endpoint.close()
    if not signals.stop.is_set():
        raise SourceError("the source ended by itself")


def notify(state: str) -> None:
    """Tells systemd, if it has started us with a way to be told: sd_notify(3). Its silence is no failure of ours."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if path[:1] not in ("/", "@"):
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        channel.sendto(state.encode(), ("\0" + path[1:]) if path[0] == "@" else path)
