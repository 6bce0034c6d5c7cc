"""Tests against the real kernel: they need root, and are counted as skipped (with the reason) without it."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from loads import load_share

from schedtop.model.frame import Frame, merge
from schedtop.sources.kernel.cache_directory import DIRECTORY_VARIABLE
from schedtop.sources.kernel.front_end import BY_CLOCK
from schedtop.sources.scheduler.source import LiveSource

NS_PER_MS = 1_000_000

# An emulated processor would be busy with readings alone.
_INTERVAL_NS = (200 if load_share() == 1 else 1000) * NS_PER_MS


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks everything here, and skips it for ordinary users."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.root)
            if item.get_closest_marker("beside"):
                item.add_marker(pytest.mark.flaky(reruns=1, reruns_delay=3))
            if os.geteuid():
                item.add_marker(pytest.mark.skip(reason="needs root: real BPF programs"))


@pytest.fixture(scope="session", autouse=True)
def tracefs() -> None:
    """Mounts tracefs where a container has not."""
    path = Path("/sys/kernel/tracing")
    if os.geteuid() == 0 and not (path / "events").is_dir():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", str(path)], check=False)


@pytest.fixture(scope="session", autouse=True)
def kept_programs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compiled once for all tests of a run (scripts/tests.sh), and not kept where a user's programs are."""
    if DIRECTORY_VARIABLE not in os.environ:
        directory = tmp_path_factory.mktemp("programs")
        directory.chmod(0o700)
        os.environ[DIRECTORY_VARIABLE] = str(directory)


@pytest.fixture(scope="session")
def session_nice() -> tuple[Path, str]:
    """The nice value of the session that the tests run in (CONFIG_SCHED_AUTOGROUP), and where it can be set."""
    file = Path("/proc/self/autogroup")
    return file, file.read_text().rpartition(" ")[2] if file.exists() else ""


@pytest.fixture(autouse=True)
def session_as_before(session_nice: tuple[Path, str]) -> Iterator[None]:
    """A schedtop that a test kills cannot give the priority of its session back, which is ours."""
    file, before = session_nice
    yield
    if before and os.geteuid() == 0 and file.read_text().rpartition(" ")[2] != before:
        file.write_text(before)


MOSTLY_BTF = ["btf", pytest.param("tracepoint", marks=pytest.mark.stress)]
"""What is made of the events is the same for both front ends; the long version tries both."""


@pytest.fixture(params=["btf", "tracepoint"])
def front_end(request: pytest.FixtureRequest) -> str:
    """Both ways to see the events."""
    return str(request.param)


@pytest.fixture(params=["btf", pytest.param(BY_CLOCK, marks=pytest.mark.stress), "tracepoint"])
def any_front_end(request: pytest.FixtureRequest) -> str:
    """The same, and with BTF both ways to measure a wait: the second for `make stress` and for guests."""
    return str(request.param)


@pytest.fixture(params=MOSTLY_BTF)
def mostly_btf(request: pytest.FixtureRequest) -> str:
    """For files whose front_end it becomes."""
    return str(request.param)


class Collector:
    """Collects the live Frames of a `with` block in a thread of its own."""

    def __init__(self, source: LiveSource) -> None:
        self.source = source
        self.frames: list[Frame] = []
        self.failure: BaseException | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            for frame in self.source.frames(self._stop):
                self.frames.append(frame)
        except BaseException as error:
            self.failure = error

    def __enter__(self) -> Collector:
        self._thread.start()
        time.sleep(0.05)  # the first reading
        # Where that takes its time, the load must not begin in the middle of it.
        while load_share() < 1 and not self.frames and self._thread.is_alive():
            time.sleep(0.05)
        return self

    def __exit__(self, *exc: object) -> None:
        # The end of the block must be in a Frame, however late the ticks are.
        end_ns = time.monotonic_ns() + 10 * NS_PER_MS
        deadline = time.monotonic() + 30
        while not (self.frames and self.frames[-1].end_ns > end_ns) and time.monotonic() < deadline:
            time.sleep(0.01)
        self._stop.set()
        self._thread.join(20)
        if self.failure:
            raise self.failure

    @property
    def frame(self) -> Frame:
        """All of it as one Frame."""
        return merge(self.frames)


@pytest.fixture
def collect() -> Callable[..., object]:
    """A context manager that collects from the live kernel: `with collect("btf", threshold_ns=...) as collector`."""

    @contextmanager
    def start(
        front_end: str = "auto", interval_ns: int = _INTERVAL_NS, threshold_ns: int = 5 * NS_PER_MS
    ) -> Iterator[Collector]:
        with LiveSource(interval_ns, threshold_ns, front_end) as source, Collector(source) as collector:
            yield collector

    return start
