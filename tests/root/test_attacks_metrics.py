"""Attacks of ordinary users on a `schedtop metrics` that runs as root, while somebody else scrapes it."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from loads import ended, python
from test_metrics_prometheus import PROMETHEUS, prometheus, wait_for

NOBODY = 65534
DAEMON = 1
"""A group that nobody is in."""

SCRAPES, PATIENCE_S = 8, 5.0

CROWD = """
import resource, socket, sys, time
port, number, how = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
resource.setrlimit(resource.RLIMIT_NOFILE, (number + 50, number + 50))
request = b"GET /metrics HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n" if how == "deaf" else b"GET /" + 100000 * b"a"
crowd = {}
while True:
    while len(crowd) < number:
        one = socket.socket()
        if how == "deaf":
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        one.setblocking(False)
        try:
            one.connect(("127.0.0.1", port))
        except BlockingIOError:
            pass
        crowd[one] = 0
    for one, said in list(crowd.items()):
        try:
            if how == "slow":
                crowd[one] += one.send(request[said:said + 1])
            elif how == "deaf" and not said:
                crowd[one] = one.send(request)
            if how != "deaf" and not one.recv(100):
                raise OSError
        except BlockingIOError:
            continue
        except OSError:
            del crowd[one]
            one.close()
    time.sleep(1 if how == "slow" else 0.1)
"""
"""So many clients that say nothing, a byte a second, or do not read what they asked for; new ones for those cut off."""

LOOP = """
import socket, sys
while True:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as client:
        client.sendall(b"GET /metrics HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n")
        while client.recv(1 << 20):
            pass
"""


@dataclass(frozen=True, slots=True)
class Served:
    """A running command, and where it said that it serves."""

    pid: int
    where: str

    @property
    def port(self) -> int:
        return int(self.where.rpartition("/")[0].rpartition(":")[2])


@contextmanager
def served(listen: str, *options: str, live: bool = True, cpus: int = 2) -> Iterator[Served]:
    """`live`: of the running kernel, else of a made-up host with so many CPUs."""
    source = [] if live else ["--source", "synthetic"]
    command = [sys.executable, "-m", "schedtop", "metrics", "--listen", listen, "--interval", "0.5s"]
    environment = os.environ | {"SCHEDTOP_SYNTHETIC_CPUS": str(cpus)}
    with subprocess.Popen([*command, *source, *options], stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stderr
            said = next(line for line in process.stderr if "serving " in line)
            yield Served(process.pid, said.split("serving ")[1].strip())
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 143
        finally:
            process.kill()


def status(port: int, host: str | None = None, address: str = "127.0.0.1") -> int:
    """Of a scrape; 0: no answer in time."""
    connection = http.client.HTTPConnection(address, port, timeout=PATIENCE_S)
    try:
        connection.request("GET", "/metrics", headers={"Host": host} if host else {})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def statuses(port: int) -> list[int]:
    """Of scrapes one after the other, as Prometheus makes them."""
    found = []
    for _ in range(SCRAPES):
        found.append(status(port))
        time.sleep(0.2)
    return found


@pytest.mark.beside
@pytest.mark.parametrize("number", [16, 200, 2000])
@pytest.mark.parametrize("how", ["silent", "slow"])
def test_clients_that_ask_nothing_do_not_stop_scrapes(number: int, how: str) -> None:
    with served("127.0.0.1:0") as server, ended(python(CROWD, str(server.port), str(number), how, user=NOBODY)):
        time.sleep(1)
        assert statuses(server.port) == [200] * SCRAPES


@pytest.mark.beside
def test_clients_that_read_no_answer_do_not_stop_scrapes() -> None:
    with (
        served("127.0.0.1:0", live=False, cpus=512) as server,
        ended(python(CROWD, str(server.port), "200", "deaf", user=NOBODY)),
    ):
        time.sleep(1)
        assert statuses(server.port) == [200] * SCRAPES


def run_s(pid: int) -> dict[int, float]:
    """CPU time of each thread, in seconds."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return {int(task.name): int((task / "schedstat").read_text().split()[0]) / 1e9 for task in tasks}


@pytest.mark.beside
@pytest.mark.parametrize(("number", "cpus"), [(16, 2), (4, 512)])
def test_clients_in_a_loop_take_little_of_a_cpu(number: int, cpus: int) -> None:
    """A tenth is what answers may take, and a made-up host of 512 CPUs takes some to make up."""
    with served("127.0.0.1:0", live=cpus == 2, cpus=cpus) as server:
        own = used_in(server, 3)
        with ended(*(python(LOOP, str(server.port), user=NOBODY) for _ in range(number))):
            time.sleep(4)  # what may be taken at once is gone by then
            loops = used_in(server, 3)
            assert status(server.port) == 200
    print(f"{100 * own:.1f} % without, {100 * loops:.1f} % with {number} clients in a loop")
    assert loops - own < 0.3


def used_in(server: Served, seconds: float) -> float:
    """The part of a CPU that it takes meanwhile, with threads that have ended."""
    begin, begin_s = cpu_s(server.pid), time.monotonic()
    time.sleep(seconds)
    return (cpu_s(server.pid) - begin) / (time.monotonic() - begin_s)


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.beside
def test_what_answers_has_no_raised_priority() -> None:
    with served("127.0.0.1:0") as server:
        before = run_s(server.pid)
        for _ in range(300):
            status(server.port)
        used = {tid: s - before.get(tid, 0) for tid, s in run_s(server.pid).items()}
        answering = max(used, key=lambda tid: used[tid])
        assert os.getpriority(os.PRIO_PROCESS, answering) == 0
        assert os.getpriority(os.PRIO_PROCESS, server.pid) < 0, "what counts must not wait"
        session = Path(f"/proc/{server.pid}/autogroup")
        # It reads as nothing where the task is in no session's group (the root group's, in a container).
        if session.exists() and (group := session.read_text()):
            assert group.endswith("nice 0\n"), "the session's would count for all threads"


@pytest.mark.beside
@pytest.mark.parametrize("listen", ["127.0.0.1:0", "0.0.0.0:0"])
def test_pages_with_names_that_point_here_read_nothing(listen: str) -> None:
    with served(listen, "--allow-remote", "--host-name", "metrics.example.com", live=False) as server:
        port = server.port
        for foreign in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example"):
            assert status(port, foreign) == 421
        ours = ["localhost", "127.0.0.1", "[::1]", "192.0.2.7", socket.gethostname(), "Metrics.Example.com"]
        assert {name: status(port, f"{name}:{port}") for name in ours} == dict.fromkeys(ours, 200)


@pytest.mark.beside
def test_full_name_of_the_host_is_known_where_others_reach_it(tmp_path: Path) -> None:
    """By the file of names alone, in a mount namespace of its own."""
    hosts = tmp_path / "hosts"
    name = socket.gethostname()
    hosts.write_text(f"127.0.0.1 localhost\n127.0.1.1 {name}.corp.example {name}\n")
    command = f"mount --bind {hosts} /etc/hosts && exec {sys.executable} -m schedtop metrics --source synthetic"
    process = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", f"{command} --listen 0.0.0.0:0 --allow-remote"],
        stderr=subprocess.PIPE,
        text=True,
    )
    with process, ended(process):  # type: ignore[arg-type]
        assert process.stderr
        said = next((line for line in process.stderr if "serving " in line), "")
        port = int(said.rpartition("/")[0].rpartition(":")[2])
        assert wait_for(lambda: status(port, f"{name}.corp.example:{port}") == 200)
        assert status(port, f"{name}.evil.example:{port}") == 421


READ = """
import socket, sys
with socket.socket(socket.AF_UNIX) as client:
    client.connect(sys.argv[1])
    client.sendall(b"GET /metrics HTTP/1.1\\r\\nHost: any\\r\\n\\r\\n")
    print(client.recv(12).decode())
"""


def read_as(path: Path, *groups: int) -> str:
    """What nobody gets from a UNIX socket, as a member of these groups: the status, or the error."""
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", READ, str(path)],
        capture_output=True, text=True, user=NOBODY, group=NOBODY, extra_groups=groups,
    )  # fmt: skip
    return run.stdout.strip() or run.stderr.splitlines()[-1].partition(":")[0]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A path that all can reach."""
    for directory in (tmp_path, *tmp_path.parents[:3]):
        if directory != Path("/tmp"):
            directory.chmod(0o755)
    return tmp_path / "metrics.sock"


@pytest.mark.beside
def test_unix_socket_is_for_its_group_alone(place: Path) -> None:
    with served(f"unix:{place}", "--socket-group", "daemon", live=False) as server:
        assert server.where == f"/metrics at unix:{place}"
        found = place.lstat()
        assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (0, DAEMON, 0o660)
        assert read_as(place) == "PermissionError"
        assert read_as(place, DAEMON) == "HTTP/1.1 200"
        assert status_of_group(server.pid) == {"0"}, "the process has not kept the group"
    assert not place.exists()


def status_of_group(pid: int) -> set[str]:
    return set(re.findall(r"^Gid:\t(.*)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[0].split())


@pytest.mark.beside
def test_socket_of_a_killed_server_is_replaced_and_no_other_file(place: Path) -> None:
    command = [sys.executable, "-m", "schedtop", "metrics", "--source", "synthetic", "--listen", f"unix:{place}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as killed:
        assert killed.stderr and "serving" in killed.stderr.readline()
        run = subprocess.run(command, capture_output=True, text=True)
        assert (run.returncode, "in use" in run.stderr) == (1, True), "somebody listens"
        killed.kill()
    assert place.is_socket()
    with served(f"unix:{place}", live=False):
        assert read_as(place) == "PermissionError"
    with socket.socket(socket.AF_UNIX) as others:
        others.bind(str(place))
    os.chown(place, NOBODY, NOBODY)
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1 and run.stderr.count("\n") == 1 and "no socket of this user's" in run.stderr
    assert place.is_socket()


@pytest.mark.beside
def test_prometheus_misses_no_scrape_while_it_is_attacked(tmp_path: Path) -> None:
    if PROMETHEUS is None:
        pytest.skip("prometheus is not installed")
    with served("0.0.0.0:0", "--allow-remote") as server:
        port = str(server.port)
        crowds = [python(CROWD, port, "500", how, user=NOBODY) for how in ("silent", "slow")]
        with (
            prometheus(tmp_path, f"{socket.gethostname()}:{port}") as scraper,
            ended(*crowds, *(python(LOOP, port, user=NOBODY) for _ in range(4))),
        ):
            time.sleep(8)
            now_s = time.time()
            assert scraper.number("count_over_time(up[6s])", now_s) >= 3
            assert scraper.number("min_over_time(up[6s])", now_s) == 1


FIRE = "import os\nos.setsid()\nwhile True: pass"


@pytest.mark.stress
def test_host_on_fire_is_served_under_attack() -> None:
    """Forty busy tasks, each in a session of its own, which autogroup gives as much as all of ours."""
    with served("127.0.0.1:0") as server:
        first = intervals(server.port)
        loops = [python(LOOP, str(server.port), user=NOBODY) for _ in range(4)]
        with ended(*(python(FIRE) for _ in range(40)), *loops):
            assert wait_for(lambda: intervals(server.port) > first + 2, 60)


def intervals(port: int) -> int:
    """How many have been counted; 0: no answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/metrics")
        found = re.search(rb"^schedtop_intervals_total (\S+)", connection.getresponse().read(), re.MULTILINE)
        return int(float(found[1])) if found else 0
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
