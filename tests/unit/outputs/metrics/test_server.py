"""The endpoint: what it answers, and that no client can hold it, or the collector, up."""

from __future__ import annotations

import http.client
import ipaddress
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import click
import pytest

from schedtop.base.units import NS_PER_S
from schedtop.commands.metrics import notify, resolve
from schedtop.history.view import ViewSettings
from schedtop.outputs.metrics import connections
from schedtop.outputs.metrics import server as metrics_server
from schedtop.outputs.metrics.connections import MOST_CLIENTS
from schedtop.outputs.metrics.host_names import HostNames
from schedtop.outputs.metrics.listener import listen_tcp
from schedtop.outputs.metrics.server import Endpoint
from schedtop.outputs.metrics.totals import Published, Totals
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource

COMMAND = [sys.executable, "-m", "schedtop", "metrics", "--source", "synthetic"]


def published(cpus: int = 2) -> Published:
    source = SyntheticSource(Scenario(cpus=cpus, frames=1))
    (frame,) = source.frames(threading.Event())
    return Totals(source.host, ViewSettings(), "cgroup", 10).add(frame)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    listener = listen_tcp(socket.AF_INET, ("127.0.0.1", 0))
    server = Endpoint(listener, HostNames([]), interval_ns=NS_PER_S, per_cpu=True)
    server.start()
    yield server
    server.close()


def get(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, headers=headers)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, {name.lower(): text for name, text in response.getheaders()}, body.decode()


def eventually(condition: Callable[[], bool], timeout_s: float = 30) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_server_answers_known_paths(endpoint: Endpoint) -> None:
    assert get(endpoint.port, "/metrics")[0] == 503, "there is nothing to serve yet"
    assert get(endpoint.port, "/-/healthy")[0] == 503
    endpoint.publish(published())
    status, headers, body = get(endpoint.port, "/metrics")
    assert status == 200 and headers["content-type"].startswith("text/plain; version=0.0.4")
    assert body.startswith("# HELP schedtop_info ")
    assert headers["server"] == "schedtop"
    assert get(endpoint.port, "/-/healthy")[::2] == (200, "healthy\n")
    status, _, body = get(endpoint.port, "/")
    assert status == 200 and "/metrics" in body and body.count("\n") == 1
    assert get(endpoint.port, "/etc/passwd")[0] == 404
    assert get(endpoint.port, "/metrics", "POST")[0] == 405


def test_openmetrics_and_compression_are_negotiated(endpoint: Endpoint) -> None:
    endpoint.publish(published())
    _, headers, body = get(
        endpoint.port, "/metrics", Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5"
    )
    assert headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert body.endswith("# EOF\n")
    connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=30)
    connection.request("GET", "/metrics", headers={"Accept-Encoding": "gzip"})
    response = connection.getresponse()
    assert response.getheader("Content-Encoding") == "gzip" and response.read(2) == b"\x1f\x8b"
    connection.close()


@pytest.mark.parametrize("accept", ["application/openmetrics-text; version=x", "text/plain; version=;;=", "\xff"])
def test_odd_wishes_get_the_plain_text(endpoint: Endpoint, accept: str) -> None:
    endpoint.publish(published())
    status, headers, body = get(endpoint.port, "/metrics", Accept=accept)
    assert status == 200 and headers["content-type"].startswith("text/plain")
    assert "schedtop_context_switches_total" in body


def test_stale_data_are_not_served(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint.publish(published())
    assert get(endpoint.port, "/metrics")[0] == 200
    later = time.monotonic() + 11
    monkeypatch.setattr(metrics_server.time, "monotonic", lambda: later)
    status, _, body = get(endpoint.port, "/metrics")
    assert status == 503 and "11 seconds old" in body


def test_client_that_says_a_byte_at_a_time_is_ended(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_S", 0.5)
    endpoint.publish(published())
    with socket.create_connection(("127.0.0.1", endpoint.port)) as slow:

        def is_cut() -> bool:
            """One byte at a time keeps a socket's own timeout from ever coming."""
            try:
                slow.send(b"G")
            except OSError:
                return True
            return False

        assert eventually(is_cut)
        assert select.select([slow], [], [], 5)[0]


# On a busy machine a request may come later than its connection is taken, and then one goes for it.
@pytest.mark.flaky(reruns=2)
def test_oldest_silent_client_goes_first(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_S", 60.0)
    endpoint.publish(published())
    silent = [socket.create_connection(("127.0.0.1", endpoint.port)) for _ in range(MOST_CLIENTS)]
    assert get(endpoint.port, "/metrics")[0] == 200, "all places are taken"
    assert not select.select(silent, [], [], 0.2)[0], "one that asks at once needs none of them"
    more = [socket.create_connection(("127.0.0.1", endpoint.port)) for _ in range(3)]
    assert eventually(lambda: len(select.select(silent, [], [], 0)[0]) == 3)
    assert select.select([*silent, *more], [], [], 0)[0] == silent[:3]
    for each in (*silent, *more):
        each.close()


def test_slow_client_holds_up_no_other(endpoint: Endpoint) -> None:
    endpoint.publish(published(cpus=512))
    lazy = []
    for _ in range(MOST_CLIENTS + 5):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", endpoint.port))
        client.send(b"GET /metrics HTTP/1.0\r\n\r\n")
        lazy.append(client)
    assert get(endpoint.port, "/metrics")[0] == 200
    endpoint.publish(published())
    for client in lazy:
        client.close()


@pytest.mark.parametrize(
    "rubbish",
    [
        b"\x00\xff\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /" + b"a" * 70_000,
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_rubbish_is_refused_without_a_word(
    endpoint: Endpoint, rubbish: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    endpoint.publish(published())
    with suppress(OSError), socket.create_connection(("127.0.0.1", endpoint.port), timeout=30) as client:
        client.sendall(rubbish)  # it may be cut off at any time
        client.shutdown(socket.SHUT_WR)
        while client.recv(4096):
            pass
    assert get(endpoint.port, "/metrics")[0] == 200
    assert capfd.readouterr() == ("", "")


def test_a_failed_scrape_is_one_line_and_an_error(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    endpoint.publish(published())

    def broken(*_: object) -> bytes:
        raise ZeroDivisionError("no reason")

    monkeypatch.setattr(endpoint._renderer, "answer", broken)
    assert get(endpoint.port, "/metrics")[0] == 500
    assert eventually(lambda: "ZeroDivisionError: no reason" in capfd.readouterr().err)


@pytest.mark.parametrize(
    ("listen", "family", "address", "port"),
    [
        ("127.0.0.1:9435", socket.AF_INET, "127.0.0.1", 9435),
        ("[::1]:0", socket.AF_INET6, "::1", 0),
        ("0.0.0.0:65535", socket.AF_INET, "0.0.0.0", 65535),
    ],
)
def test_addresses(listen: str, family: int, address: str, port: int) -> None:
    found, sockaddr = resolve(listen)
    assert (found, *sockaddr[:2]) == (family, address, port)


def test_a_name_of_this_host_is_loopback_if_it_can_be() -> None:
    _, sockaddr = resolve("localhost:1")
    assert ipaddress.ip_address(sockaddr[0]).is_loopback
    assert not ipaddress.ip_address(resolve(":1")[1][0]).is_loopback


@pytest.mark.parametrize(
    "listen",
    ["", "9435", "localhost", "::1:80", "1.2.3.4:65536", "1.2.3.4:-1", "1.2.3.4:²", "[::1]", "x.invalid:1", "a b:1"],
)
def test_wrong_address_is_refused(listen: str) -> None:
    with pytest.raises(click.BadParameter):
        resolve(listen)


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--listen", "0.0.0.0:0"], 2, "add --allow-remote"),
        (["--listen", "nonsense"], 2, "is neither HOST:PORT"),
        (["--listen", "unix:"], 2, "names no file"),
        (["--listen", "unix:/", "--host-name", "x"], 2, "no name is asked for"),
        (["--listen", "unix:/nowhere/metrics"], 1, "cannot listen on unix:/nowhere/metrics: No such file"),
        (["--listen", "unix:/tmp"], 1, "cannot listen on unix:/tmp: it exists"),
        (["--listen", "unix:/nowhere/metrics", "--socket-group", "no such"], 2, "there is no group 'no such'"),
        (["--socket-group", "root"], 2, "is no UNIX socket"),
        (["--host-name", ""], 2, "the name is empty"),
        (["--top", "5000"], 2, "more than 1000"),
        (["--interval", "1ms"], 2, "outside of"),
        (["--group", "process"], 2, "No such option"),
        (["--listen", "192.0.2.1:0", "--allow-remote"], 1, "cannot listen on 192.0.2.1:0"),
    ],
)
def test_server_that_cannot_bind_is_one_line(arguments: list[str], status: int, words: str) -> None:
    run = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=30)
    assert (run.returncode, run.stdout) == (status, "")
    assert words in run.stderr.splitlines()[-1]
    assert "Traceback" not in run.stderr


def test_a_port_in_use_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        run = subprocess.run([*COMMAND, "--listen", listen], capture_output=True, text=True, timeout=30)
    assert run.returncode == 1
    assert run.stderr == f"schedtop: cannot listen on {listen}: Address already in use\n"


def serving(*arguments: str, **variables: str) -> tuple[subprocess.Popen[str], int, list[str]]:
    """The command once it serves: its port, and what it said before."""
    process = subprocess.Popen(
        [*COMMAND, "--interval", "0.2s", *arguments], stderr=subprocess.PIPE, text=True, env=os.environ | variables
    )
    assert process.stderr
    said = []
    for line in process.stderr:
        if "serving http://" in line:
            return process, int(line.rpartition("/metrics")[0].rpartition(":")[2]), said
        said.append(line)
    raise AssertionError(f"it ended with {process.wait()}: {said}")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_signals_end_it(number: signal.Signals, status: int) -> None:
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("ignored here, as by nohup, and by what is started here")
    process, port, said = serving("--listen", "127.0.0.1:0")
    with process, socket.create_connection(("127.0.0.1", port)):  # a client that says nothing does not matter
        assert get(port, "/metrics")[0] == 200
        process.send_signal(number)
        assert process.wait(30) == status
    assert said == []


def test_a_remote_address_warns() -> None:
    process, port, said = serving("--listen", "0.0.0.0:0", "--allow-remote")
    with process:
        assert get(port, "/metrics")[0] == 200
        process.terminate()
    assert len(said) == 1 and "can be reached from other hosts" in said[0]


def test_ipv6() -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    process, port, said = serving("--listen", "[::1]:0")
    with process:
        with socket.create_connection(("::1", port)) as client:
            client.sendall(b"GET /-/healthy HTTP/1.0\r\n\r\n")
            assert b"200 OK" in client.recv(4096)
        process.terminate()
    assert said == []


def test_a_source_that_fails_ends_the_command() -> None:
    """It must not go on serving the last data as if they were today's."""
    code = (
        "import sys\n"
        "from schedtop.model.source import SourceError\n"
        "from schedtop.sources.synthetic.scheduler import SyntheticSource\n"
        "made = SyntheticSource.frames\n"
        "def frames(self, stop):\n"
        "    yield next(made(self, stop))\n"
        "    if sys.argv.pop() == 'fails': raise SourceError('the kernel went away')\n"
        "SyntheticSource.frames = frames\n"
        "from schedtop.cli import main\n"
        "sys.exit(main(['metrics', '--source', 'synthetic', '--listen', '127.0.0.1:0']))\n"
    )
    for how, words in (("fails", "the kernel went away"), ("ends", "the source ended by itself")):
        run = subprocess.run([sys.executable, "-c", code, how], capture_output=True, text=True, timeout=30)
        assert run.returncode == 1
        assert run.stderr.splitlines()[-1] == f"schedtop: {words}"


@pytest.mark.parametrize("abstract", [False, True])
def test_systemd_is_told(tmp_path: object, monkeypatch: pytest.MonkeyPatch, abstract: bool) -> None:
    name = f"@schedtop-test-{os.getpid()}" if abstract else f"{tmp_path}/notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind("\0" + name[1:] if abstract else name)
        channel.settimeout(10)
        process, _, _ = serving("--listen", "127.0.0.1:0", NOTIFY_SOCKET=name)
        with process:
            assert channel.recv(100) == b"READY=1\nWATCHDOG=1"
            assert channel.recv(100) == b"WATCHDOG=1"
            process.terminate()
    monkeypatch.setenv("NOTIFY_SOCKET", name)
    notify("READY=1")  # nobody listens any more: not our failure
