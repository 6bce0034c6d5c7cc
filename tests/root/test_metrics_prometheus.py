"""The real Prometheus scrapes us under a load, and says what we and the kernel say."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from loads import ended, python
from scenarios import cgroup

from schedtop.base.units import NS_PER_S
from schedtop.commands.metrics import serve
from schedtop.history.view import ViewSettings
from schedtop.model.frame import Frame, merge
from schedtop.outputs.metrics.families import EDGES_NS
from schedtop.outputs.metrics.host_names import HostNames
from schedtop.outputs.metrics.listener import listen_tcp
from schedtop.outputs.metrics.server import Endpoint
from schedtop.run.signals import Signals
from schedtop.sources.scheduler.source import LiveSource

pytestmark = pytest.mark.beside

PROMETHEUS = shutil.which("prometheus")
DASHBOARD = Path(__file__).parents[2] / "contrib/grafana/schedtop.json"
LOAD = "import os; os.sched_setaffinity(0, {0})\nwhile True: pass"

FORKS = "import os, time\nwhile True:\n    os.fork() or os._exit(0)\n    os.wait()\n    time.sleep(0.02)"
"""New tasks, whatever else the host does."""


class Prometheus:
    """A running server."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, path: str, **parameters: str) -> Any:
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{query}", timeout=20) as answer:
            return json.load(answer)["data"]

    def vector(self, query: str, time_s: float) -> list[tuple[dict[str, str], float]]:
        result = self.ask("query", query=query, time=f"{time_s:.3f}")["result"]
        return [(each["metric"], float(each["value"][1])) for each in result]

    def number(self, query: str, time_s: float) -> float:
        ((_, value),) = self.vector(query, time_s)
        return value


@contextmanager
def prometheus(directory: Path, target: str) -> Iterator[Prometheus]:
    """Prometheus as the distribution has it, scraping one target each second."""
    config = directory / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
        f"scrape_configs: [{{job_name: schedtop, static_configs: [{{targets: ['{target}']}}]}}]\n"
    )
    log = (directory / "prometheus.log").open("wb")
    port = free_port()
    process = subprocess.Popen(
        [str(PROMETHEUS), f"--config.file={config}", f"--storage.tsdb.path={directory}/data",
         f"--web.listen-address=127.0.0.1:{port}"],
        stdin=subprocess.DEVNULL, stdout=log, stderr=log,
    )  # fmt: skip
    try:
        server = Prometheus(f"http://127.0.0.1:{port}")
        assert wait_for(lambda: is_ready(server.url), 60), (directory / "prometheus.log").read_text()
        yield server
    finally:
        process.kill()
        process.wait()
        log.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def is_ready(url: str) -> bool:
    try:
        return urllib.request.urlopen(f"{url}/-/ready", timeout=2).status == 200
    except OSError:
        return False


def wait_for(condition: Callable[[], object], timeout_s: float = 30) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


class Kept(LiveSource):
    """The live kernel; keeps the Frames that it gave."""

    kept: list[Frame]

    def frames(self, stop: threading.Event) -> Iterator[Frame]:
        for frame in super().frames(stop):
            self.kept.append(frame)
            yield frame


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Prometheus, list[Frame], float]]:
    """Twelve seconds of contention, scraped: the server, all Frames, and the time of the last query."""
    if PROMETHEUS is None:
        pytest.skip("prometheus is not installed")
    signals, source = Signals(), Kept(NS_PER_S // 2, 1_000_000)
    source.kept = []
    listener = listen_tcp(socket.AF_INET, ("127.0.0.1", 0))
    endpoint = Endpoint(listener, HostNames([]), interval_ns=NS_PER_S // 2, per_cpu=True)
    options = {"by": "process", "top": 20, "listen": "127.0.0.1:0"}
    arguments = (signals, source, endpoint, "", ViewSettings(), options)
    thread = threading.Thread(target=serve, args=arguments, daemon=True)
    with prometheus(tmp_path_factory.mktemp("prometheus"), f"127.0.0.1:{endpoint.port}") as server:
        with ended(*(python(code) for code in (LOAD, LOAD, FORKS))):
            thread.start()
            assert wait_for(lambda: len(source.kept) >= 24, 60)
            now_s = time.time()
            assert wait_for(lambda: scrapes(server, now_s), 20)
        signals.stop.set()
        thread.join(20)
        yield server, source.kept, now_s


def scrapes(server: Prometheus, now_s: float) -> list[tuple[float, int]]:
    """When each scrape of the last half minute was, and how many intervals had been counted then."""
    result = server.ask("query", query="schedtop_intervals_total[30s]", time=f"{now_s:.3f}")["result"]
    return [(when_s, int(value)) for when_s, value in result[0]["values"]] if result else []


def quantile_ns(server: Prometheus, ratio: float, begin_s: float, end_s: float, selector: str = "") -> float:
    """Between two scrapes. Not by rate(), which adds to each bucket for the time around them."""
    buckets = f"schedtop_runqueue_latency_seconds_bucket{selector}"
    between = f"{buckets} @ {end_s:.3f} - {buckets} @ {begin_s:.3f}"
    return server.number(f"histogram_quantile({ratio}, sum by (le) ({between}))", end_s) * NS_PER_S


@pytest.mark.parametrize("kind", [None, "wakeup", "preemption", "fork"])
@pytest.mark.parametrize("ratio", [0.5, 0.9, 0.99])
def test_its_quantile_is_our_percentile(
    run: tuple[Prometheus, list[Frame], float], ratio: float, kind: str | None
) -> None:
    """The same Frames, so the same bucket: `histogram_quantile` only guesses where within it."""
    server, frames, now_s = run
    moments, scraped = zip(*scrapes(server, now_s), strict=True)
    assert len(scraped) >= 5 and list(scraped) == sorted(scraped)
    same = merge(frames[scraped[0] : scraped[-1]])
    ours_ns = same.latency.histogram(kind).percentile_ns(ratio)
    assert ours_ns is not None
    theirs_ns = quantile_ns(server, ratio, moments[0], moments[-1], f'{{kind="{kind}"}}' if kind else "")
    distance = abs(bisect_left(EDGES_NS, ours_ns) - bisect_left(EDGES_NS, theirs_ns))
    print(f"p{ratio * 100:g} {kind or 'all'}: ours {ours_ns / 1000:.1f} µs, Prometheus {theirs_ns / 1000:.1f} µs")
    assert distance <= 1, (ours_ns, theirs_ns)
    if ratio == 0.99 and kind == "preemption":
        assert theirs_ns > 1_000_000, "two busy loops on one CPU wait for milliseconds"


def test_its_counters_are_the_kernels(run: tuple[Prometheus, list[Frame], float]) -> None:
    server, _, now_s = run
    ours = server.number("sum(increase(schedtop_context_switches_total[30s]))", now_s)
    kernels = server.number("increase(schedtop_kernel_context_switches_total[30s])", now_s)
    assert kernels > 100
    assert ours == pytest.approx(kernels, rel=0.02, abs=50)
    # Two loops share a CPU: together they wait for about as long as it runs.
    delay = {
        metric["group"]: value
        for metric, value in server.vector("increase(schedtop_group_run_delay_seconds_total[30s])", now_s)
    }
    length_s = server.number("increase(schedtop_observed_seconds_total[30s])", now_s)
    assert max(delay, key=lambda group: delay[group]).startswith("python")
    assert sum(delay.values()) > 0.5 * length_s


def test_the_dashboards_panels_have_data(run: tuple[Prometheus, list[Frame], float]) -> None:
    """Prometheus itself takes each expression, and only what did not happen here is empty."""
    server, _, now_s = run
    panels = json.loads(DASHBOARD.read_text())["panels"]
    instance = server.vector("schedtop_info", now_s)[0][0]["instance"]
    empty = []
    for panel in panels:
        for target in panel["targets"]:
            query = target["expr"].replace("$__rate_interval", "30s").replace("$instance", instance)
            if not server.vector(query, now_s):
                empty.append(panel["title"])
    assert set(empty) <= {"Throttled periods", "Lost, by kind", "CPU pressure"}


def test_prometheus_scraped_openmetrics_and_missed_nothing(run: tuple[Prometheus, list[Frame], float]) -> None:
    server, _, now_s = run
    assert server.number("min_over_time(up[5s])", now_s) == 1
    kinds = server.ask("metadata")
    assert kinds["schedtop_runqueue_latency_seconds"][0]["type"] == "histogram"
    # Only OpenMetrics names a counter's family without `_total`, and has a type `info`.
    assert kinds["schedtop_info" if "schedtop_info" in kinds else "schedtop"][0]["type"] == "info"


def test_the_command_counts_what_the_kernel_counts() -> None:
    """From its first interval to its last scrape, against ctxt in /proc/stat."""
    process = subprocess.Popen(
        [sys.executable, "-m", "schedtop", "metrics", "--listen", "127.0.0.1:0", "--interval", "0.2s"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with ended(python(LOAD), python(LOAD)), process:
        assert process.stderr
        line = process.stderr.readline()
        assert "serving http://" in line, line
        url = line.split()[-1]
        first = scrape(url), context_switches()
        time.sleep(5)
        last = scrape(url), context_switches()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 143
    ours = last[0] - first[0]
    assert ours == pytest.approx(last[1] - first[1], rel=0.1, abs=400), "up to an interval at both ends"


def test_a_quota_is_told_by_its_cgroup() -> None:
    """A busy loop with a third of a CPU, against the group's own cpu.stat, by its path."""
    with cgroup("schedtop-metrics", quota=0.3) as directory, ended(hog := python(LOAD)):
        (directory / "cgroup.procs").write_text(str(hog.pid))
        command = [sys.executable, "-m", "schedtop", "metrics", "--listen", "127.0.0.1:0", "--interval", "0.2s"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr
            url = process.stderr.readline().split()[-1]
            name = f'schedtop_cgroup_throttled_periods_total{{cgroup="/{directory.name}"}}'
            run = f'schedtop_group_run_seconds_total{{by="cgroup",group="/{directory.name}"}}'
            assert wait_for(lambda: samples(url, name) == samples(url, run) == 1, 30), "it has series of its own"
            first = scrape(url, name), throttled_periods(directory), scrape(url, run), run_seconds(hog.pid)
            time.sleep(3)
            last = scrape(url, name), throttled_periods(directory), scrape(url, run), run_seconds(hog.pid)
            process.terminate()
    assert last[1] - first[1] > 10
    assert last[0] - first[0] == pytest.approx(last[1] - first[1], abs=5), "up to an interval at both ends"
    assert last[2] > first[2]
    assert last[2] - first[2] == pytest.approx(last[3] - first[3], abs=0.2), "and so have its tasks"


WRITES = """
import os, time
null = os.open("/dev/null", os.O_WRONLY)
while True:
    os.write(null, bytes(100))
    time.sleep(0.001)
"""


@pytest.mark.beside
def test_activity_is_told_by_its_cgroup() -> None:
    """A program that writes all the time, against /proc/PID/io, by the path of its group."""
    with cgroup("schedtop-activity") as directory, ended(writer := python(WRITES)):
        (directory / "cgroup.procs").write_text(str(writer.pid))
        command = [sys.executable, "-m", "schedtop", "metrics", "--activity", "--listen", "127.0.0.1:0"]
        with subprocess.Popen([*command, "--interval", "0.2s"], stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr
            url = process.stderr.readline().split()[-1]
            of_group = f'{{by="cgroup",group="/{directory.name}"}}'
            names = [f"schedtop_activity_{name}_total{of_group}" for name in ("writes", "write_bytes")]
            assert wait_for(lambda: samples(url, names[0]) == 1, 30), "it has a series of its own"
            first = [scrape(url, name) for name in names], written(writer.pid)
            time.sleep(2)
            last = [scrape(url, name) for name in names], written(writer.pid)
            process.terminate()
    for place in (0, 1):
        kernel = last[1][place] - first[1][place]
        assert kernel > 500
        assert last[0][place] - first[0][place] == pytest.approx(kernel, rel=0.3), "up to an interval at both ends"


def written(pid: int) -> tuple[int, int]:
    """Calls that wrote, and what they wrote."""
    fields = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(fields["syscw"]), int(fields["wchar"])


def run_seconds(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def throttled_periods(directory: Path) -> int:
    lines = (directory / "cpu.stat").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("nr_throttled "))


def lines_of(url: str, start: str) -> list[str]:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return [line for line in answer.read().decode().splitlines() if line.startswith(start)]


def samples(url: str, start: str) -> int:
    return len(lines_of(url, start))


def scrape(url: str, start: str = "schedtop_context_switches_total{") -> float:
    """The sum of the samples that begin so."""
    return sum(float(line.split()[-1]) for line in lines_of(url, start))


def context_switches() -> int:
    stat = Path("/proc/stat").read_text()
    return next(int(line.split()[1]) for line in stat.splitlines() if line.startswith("ctxt "))
