"""`schedtop metrics`: serves what is counted to Prometheus."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from grp import getgrnam
from pathlib import Path
from typing import Any

import click

from schedtop.commands.opening import scope_of, settings_of, source_of
from schedtop.history.view import ViewSettings
from schedtop.model.source import Source, SourceError
from schedtop.outputs.metrics.host_names import HostNames
from schedtop.outputs.metrics.listener import UnixListener, listen_tcp
from schedtop.outputs.metrics.server import Endpoint
from schedtop.outputs.metrics.totals import Totals
from schedtop.run.errors import complain
from schedtop.run.garbage import set_aside
from schedtop.run.opening import opening_words
from schedtop.run.progress import progress
from schedtop.run.signals import Signals
from schedtop.run.threads import in_thread
from schedtop.sources.activity.source import LiveActivity

MOST_SERIES = 1000

UNIX = "unix:"
"""What stands before the path of a UNIX socket."""

Address = tuple[socket.AddressFamily, tuple[Any, ...]]


def run(signals: Signals, options: dict[str, Any]) -> int:
    """What the command does, by its options; gives the exit status."""
    if options["top"] > MOST_SERIES:
        raise click.BadParameter(f"{options['top']} is more than {MOST_SERIES}", param_hint="'--top'")
    options.setdefault("group", None)
    activity = _activity_of(options)
    with bound(options) as endpoint:
        settings = settings_of(options)
        source = source_of(options, options["interval"])
        opening = opening_words(options["source"])
        in_thread(lambda: serve(signals, source, endpoint, opening, settings, options, activity), signals)
    return signals.status


def _activity_of(options: dict[str, Any]) -> LiveActivity | None:
    """What counts activity, if that is asked for; not yet open. Raises UsageError."""
    if not options["activity"]:
        return None
    for option, refused in (("source", ("proc", "synthetic")), ("pidns", None)):
        value = options[option]
        if value in refused if refused else value:
            raise click.UsageError(f"--activity does not go with --{option} {value}: what tasks do is not told there")
    return LiveActivity(scope_of(options), source=options["source"])


@contextmanager
def bound(options: dict[str, Any]) -> Iterator[Endpoint]:
    """The endpoint at the place that the options name, not yet answering. Raises ClickException."""
    listen = options["listen"]
    is_unix = listen.startswith(UNIX)
    if is_unix and options["host_name"]:
        raise click.BadParameter("no name is asked for at a UNIX socket", param_hint="'--host-name'")
    if options["socket_group"] is not None and not is_unix:
        raise click.BadParameter(f"{listen} is no UNIX socket", param_hint="'--socket-group'")
    with ExitStack() as after:
        try:
            if is_unix:
                unix = UnixListener(_path_of(listen), _group_of(options["socket_group"]))
                after.callback(unix.remove)
                listener, names = unix.socket, None
            else:
                listener, names = _listen_tcp(listen, options)
        except OSError as error:
            raise click.ClickException(f"cannot listen on {listen}: {error.strerror}") from error
        yield Endpoint(listener, names, interval_ns=options["interval"], per_cpu=options["per_cpu"])


def _path_of(listen: str) -> Path:
    path = Path(listen.removeprefix(UNIX))
    if not path.name or "\0" in listen:
        raise click.BadParameter(f"{listen!r} names no file, like unix:/run/schedtop/metrics", param_hint="'--listen'")
    return path


def _group_of(name: str | None) -> int | None:
    try:
        return None if name is None else getgrnam(name).gr_gid
    except (KeyError, ValueError):
        raise click.BadParameter(f"there is no group {name!r}", param_hint="'--socket-group'") from None


def _listen_tcp(listen: str, options: dict[str, Any]) -> tuple[socket.socket, HostNames]:
    """A socket that listens at an address, and which names of it are good. Raises BadParameter, OSError."""
    family, address = resolve(listen)
    is_remote = not ipaddress.ip_address(address[0].partition("%")[0]).is_loopback
    if is_remote and not options["allow_remote"]:
        words = f"{listen} can be reached from other hosts: add --allow-remote if that is meant"
        raise click.BadParameter(words, param_hint="'--listen'")
    names = HostNames((listen.rpartition(":")[0].strip("[]"), *options["host_name"]))
    listener = listen_tcp(family, address)
    if is_remote:
        complain(f"warning: {listen} can be reached from other hosts, and there is no password: see to a firewall")
        names.ask_for_full_name()
    return listener, names


def resolve(listen: str) -> Address:
    """The socket address of `HOST:PORT`, `[IPv6]:PORT`, or `:PORT` for all addresses. Raises BadParameter."""
    host, colon, port = listen.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not (port.isascii() and port.isdigit()) or (":" in host and not bracketed):
        raise click.BadParameter(
            f"{listen!r} is neither HOST:PORT, like 127.0.0.1:9435 or [::1]:9435, nor unix:PATH",
            param_hint="'--listen'",
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
    activity: LiveActivity | None = None,
) -> None:
    """Opens the source and publishes its Frames until a signal comes. Raises SourceError, also when it just ends."""

    endpoint.start()
    after = ExitStack()
    try:
        with progress(opening):
            source.__enter__()
        try:
            if activity:
                after.enter_context(activity)
            set_aside()
            totals = Totals(source.host, settings, options["by"], options["top"])
            where = _where(options["listen"], endpoint)
            for number, frame in enumerate(source.frames(signals.stop)):
                endpoint.publish(totals.add(frame, activity.latest() if activity else None))
                notify("READY=1\nWATCHDOG=1" if number == 0 else "WATCHDOG=1")
                if number == 0:
                    complain(f"serving {where}")
        finally:
            after.close()
            source.__exit__(None, None, None)
    finally:
        endpoint.close()
    if not signals.stop.is_set():
        raise SourceError("the source ended by itself")


def _where(listen: str, endpoint: Endpoint) -> str:
    if listen.startswith(UNIX):
        return f"/metrics at {listen}"
    return f"http://{listen.rpartition(':')[0] or '*'}:{endpoint.port}/metrics"


def notify(state: str) -> None:
    """Tells systemd, if it has started us with a way to be told: sd_notify(3). Its silence is no failure of ours."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if path[:1] not in ("/", "@"):
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        channel.sendto(state.encode(), ("\0" + path[1:]) if path[0] == "@" else path)
