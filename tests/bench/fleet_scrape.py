"""What many hosts cost one Prometheus: simulated exporters, the project's rules, and Prometheus' own figures."""

from __future__ import annotations

import gzip
import json
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest

from schedtop.history.view import ViewSettings
from schedtop.outputs.metrics.families import SchedtopCollector
from schedtop.outputs.metrics.totals import Totals
from schedtop.sources.synthetic.scheduler import Scenario, SyntheticSource
from tests.bench.report import Options, Table, Topic, number
from tests.bench.tools import NotHere, find

RULES = Path(__file__).parents[2] / "contrib/prometheus/schedtop.rules.yml"
SCRAPE_S = 15
PAGES = 20
"""The exporters are as many states of one made-up host; each scrape gets the next, so that counters grow."""

_QUERIES = {
    "up": 'sum(up{job="schedtop"})',
    "scrape_median_s": 'quantile(0.5, scrape_duration_seconds{job="schedtop"})',
    "scrape_p99_s": 'quantile(0.99, scrape_duration_seconds{job="schedtop"})',
    "series": "prometheus_tsdb_head_series",
    "resident_bytes": "process_resident_memory_bytes",
    "cpu_share": "rate(process_cpu_seconds_total[1m])",
    "rules_s": "sum(prometheus_rule_group_last_duration_seconds)",
}


def measure(options: Options) -> Topic:
    """Scrapes for two minutes; half a minute of a tenth of the hosts with --quick."""
    hosts, seconds = (100, 45) if options.quick else (1000, 120)
    pages = _pages()
    try:
        with tempfile.TemporaryDirectory() as directory, _exporters(pages) as port:
            figures = _scraped(Path(directory), port, hosts, seconds)
    except NotHere as reason:
        return Topic([Table("One Prometheus and many hosts", ("not measured",), [], [str(reason)])], {})
    table = Table(
        f"One Prometheus and {hosts} simulated hosts of 4 CPUs and 50 groups, scraped each {SCRAPE_S} s",
        ("", "figure"),
        [
            ("hosts that answer", f"{figures['up']:.0f}"),
            ("series", f"{figures['series']:.0f}"),
            ("a page (bytes)", f"{len(pages[-1])}"),
            ("a scrape, median (ms)", number(figures["scrape_median_s"] * 1000)),
            ("a scrape, 99 % (ms)", number(figures["scrape_p99_s"] * 1000)),
            ("all rules, once (ms)", number(figures["rules_s"] * 1000)),
            ("memory of Prometheus (MiB)", f"{figures['resident_bytes'] / 2**20:.0f}"),
            ("CPU of Prometheus", f"{figures['cpu_share']:.1%}"),
        ],
        ["the exporters run on the same CPUs, and are in the time of a scrape"],
    )
    return Topic([table], {"hosts": hosts, "seconds": seconds} | figures)


def _pages() -> list[bytes]:
    source = SyntheticSource(Scenario(cpus=4, tasks=200, frames=PAGES))
    totals = Totals(source.host, ViewSettings(), "process", 50)
    pages = []
    for frame in source.frames(threading.Event()):
        published = totals.add(frame)
        registry = CollectorRegistry(auto_describe=False)
        registry.register(SchedtopCollector(lambda published=published: published, per_cpu=True))
        pages.append(generate_latest(registry))
    return pages


@contextmanager
def _exporters(pages: list[bytes]) -> Iterator[int]:
    """All exporters behind one port, each under a path of its own."""
    packed = [gzip.compress(page, 1) for page in pages]
    began = time.monotonic()

    class Exporter(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = packed[min(int((time.monotonic() - began) / SCRAPE_S), len(packed) - 1)]
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: a thousand lines each round are of no use."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 1024
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Nothing: Prometheus breaks its connections off when it ends."""

    with Server(("127.0.0.1", 0), Exporter) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


def _scraped(directory: Path, exporters: int, hosts: int, seconds: float) -> dict[str, float]:
    targets = [
        {"targets": [f"127.0.0.1:{exporters}"], "labels": {"__metrics_path__": f"/{host}", "instance": f"host-{host}"}}
        for host in range(hosts)
    ]
    (directory / "targets.json").write_text(json.dumps(targets))
    shutil.copy(RULES, directory)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (directory / "prometheus.yml").write_text(
        f"global: {{scrape_interval: {SCRAPE_S}s, evaluation_interval: {SCRAPE_S}s}}\n"
        f"rule_files: [{RULES.name}]\n"
        "scrape_configs:\n"
        "  - {job_name: schedtop, file_sd_configs: [{files: [targets.json]}]}\n"
        f"  - {{job_name: prometheus, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}\n"
    )
    command = [find("prometheus"), f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data"]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, f"--web.listen-address=127.0.0.1:{port}"], cwd=directory, stdout=log, stderr=log
        )
        try:
            time.sleep(seconds)
            return {name: _ask(port, query) for name, query in _QUERIES.items()}
        except OSError as error:
            raise NotHere(f"prometheus does not answer: {(directory / 'log').read_text()[-300:]}") from error
        finally:
            process.terminate()
            process.wait()


def _ask(port: int, query: str) -> float:
    address = f"http://127.0.0.1:{port}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    with urllib.request.urlopen(address, timeout=30) as answer:
        (result,) = json.load(answer)["data"]["result"]
    return float(result["value"][1])
