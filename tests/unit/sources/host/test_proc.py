"""What /proc says, from files made by hand: old kernels, absent CPUs, absent pressure, guests and hosts."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from schedtop.model.counts import Pressure
from schedtop.sources.host import own_cost, proc
from schedtop.sources.host.own_cost import OwnCost
from schedtop.sources.scheduler.process_names import ProcessNames

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")

STAT = b"""\
cpu  18 2 30 400 50 6 7 80 9 1
cpu0 10 1 20 300 40 3 4 50 5 1
cpu2 8 1 10 100 10 3 3 30 4 0
intr 123 0 9 0
ctxt 987654321
btime 1790000000
processes 4242
"""


def test_times_are_per_cpu_in_nanoseconds() -> None:
    reading = proc.parse_stat(STAT, 3)
    # Guest time (5 and 1) is inside user and nice already.
    assert list(reading.busy_ns) == [38 * TICK_NS, 0, 25 * TICK_NS]
    assert list(reading.steal_ns) == [50 * TICK_NS, 0, 30 * TICK_NS]
    assert list(reading.accounted_ns) == [428 * TICK_NS, 0, 165 * TICK_NS]
    assert reading.switches == 987_654_321


def test_a_cpu_without_a_line_is_offline() -> None:
    reading = proc.parse_stat(STAT, 4)
    assert list(reading.online) == [True, False, True, False]
    assert reading.cpus == (0, 2)


def test_a_cpu_beyond_the_possible_ones_is_left_out() -> None:
    reading = proc.parse_stat(STAT, 1)
    assert (list(reading.online), list(reading.busy_ns)) == ([True], [38 * TICK_NS])


@pytest.mark.parametrize(
    ("line", "busy", "steal", "accounted"),
    [
        (b"cpu0 10 1 20 300", 31, 0, 331),
        (b"cpu0 10 1 20 300 40 3 4", 38, 0, 378),
        (b"cpu0 10 1 20 300 40 3 4 50", 38, 50, 428),
        (b"cpu0 10 1 20 300 40 3 4 50 5 1 99 99", 38, 50, 428),
    ],
)
def test_old_kernels_have_fewer_columns_and_future_ones_more(
    line: bytes, busy: int, steal: int, accounted: int
) -> None:
    reading = proc.parse_stat(line + b"\nctxt 1\n", 1)
    times = (reading.busy_ns[0], reading.steal_ns[0], reading.accounted_ns[0])
    assert times == (busy * TICK_NS, steal * TICK_NS, accounted * TICK_NS)


def test_years_of_uptime_fit() -> None:
    ticks = 20 * 365 * 86_400 * os.sysconf("SC_CLK_TCK")
    reading = proc.parse_stat(b"cpu0 0 0 0 %d 0 0 0 0\nctxt %d\n" % (ticks, 2**60), 1)
    assert reading.accounted_ns[0] == ticks * TICK_NS
    assert reading.switches == 2**60


@pytest.mark.parametrize("broken", [b"", b"cpu0 1 2 3 4\n", b"cpu0 1 x 3 4\nctxt 1\n"])
def test_wrong_stat_file_is_an_error(broken: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (the parser's own or int's)
        proc.parse_stat(broken, 1)


def test_the_stat_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "stat").write_bytes(STAT)
    assert proc.read_stat(3, tmp_path / "stat").switches == 987_654_321


def test_counters_of_this_machine_advance() -> None:
    cpus = proc.possible_cpus()
    earlier = proc.read_stat(cpus)
    time.sleep(0.05)
    later = proc.read_stat(cpus)
    assert later.online.any()
    assert later.switches > earlier.switches
    assert (later.accounted_ns >= earlier.accounted_ns).all()
    assert np.array_equal(later.online, earlier.online)
    assert (later.busy_ns + later.steal_ns <= later.accounted_ns).all()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "some avg10=1.00 avg60=0.50 avg300=0.10 total=1234\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=56\n",
            Pressure(1_234_000, 56_000),
        ),
        # Before 5.13 there is no "full" of the CPU.
        ("some avg10=1.00 avg60=0.50 avg300=0.10 total=1234\n", Pressure(1_234_000, 0)),
    ],
)
def test_pressure_is_in_nanoseconds(text: str, expected: Pressure, tmp_path: Path) -> None:
    (tmp_path / "cpu").write_text(text)
    assert proc.read_pressure(tmp_path / "cpu") == expected


def test_pressure_that_cannot_be_read_is_not_zero(tmp_path: Path) -> None:
    assert proc.read_pressure(tmp_path / "absent") is None
    # With psi=0 the file is there and reading it fails; a directory fails alike.
    assert proc.read_pressure(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "count"), [("0\n", 1), ("0-3\n", 4), ("0-1,4-7\n", 8), ("0,2\n", 3), ("0-511\n", 512)]
)
def test_possible_cpus_are_ids_not_a_count(text: str, count: int, tmp_path: Path) -> None:
    (tmp_path / "possible").write_text(text)
    assert proc.possible_cpus(tmp_path / "possible") == count


@pytest.mark.parametrize("text", ["", "\n", "nonsense"])
def test_possible_cpus_without_a_list_are_those_of_the_system(text: str, tmp_path: Path) -> None:
    (tmp_path / "possible").write_text(text)
    assert proc.possible_cpus(tmp_path / "possible") == os.cpu_count()
    assert proc.possible_cpus(tmp_path / "absent") == os.cpu_count()


@pytest.mark.parametrize(
    ("cpuinfo", "expected"),
    [
        ("processor : 0\nflags\t\t: fpu vme hypervisor lahf_lm\n", True),
        ("processor : 0\nflags\t\t: fpu vme lahf_lm\n", False),
        ("processor : 0\nflags\t\t: fpu hypervisor_like\n", False),
        ("processor : 0\nFeatures\t: fp asimd\n", None),
        ("", None),
    ],
)
def test_a_guest_is_told_by_its_flag(cpuinfo: str, expected: bool | None, tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    assert proc.is_virtualised(tmp_path / "cpuinfo", tmp_path / "absent") is expected


def test_a_xen_guest_is_told_by_sysfs(tmp_path: Path) -> None:
    (tmp_path / "type").write_text("xen\n")
    assert proc.is_virtualised(tmp_path / "absent", tmp_path / "type") is True
    assert proc.is_virtualised(tmp_path / "absent", tmp_path / "absent") is None


def test_our_own_cost_grows_with_what_we_do() -> None:
    own = OwnCost()
    earlier = own.now()
    deadline = time.process_time_ns() + 5_000_000
    while time.process_time_ns() < deadline:
        pass
    assert own.now().cpu_ns - earlier.cpu_ns >= 5_000_000
    assert earlier.rss_bytes > 1 << 20
    own.close()


def test_our_own_priority_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    monkeypatch.setattr(own_cost, "slice_of", lambda tid: looks.append(tid) or 7)  # type: ignore[func-returns-value]
    own = OwnCost()
    told = [own.now() for _ in range(own_cost.SLICE_LOOKS + 1)]
    own.close()
    assert {one.nice for one in told} == {os.getpriority(os.PRIO_PROCESS, 0)}
    assert {(one.session_nice, one.slice_ns) for one in told} == {(None, 7)}
    assert len(looks) == 2, "not at each reading"


def test_the_host_is_this_one() -> None:
    host = proc.identify_host("btf")
    assert (host.kernel, host.source) == (os.uname().release, "btf")
    assert host.name


def test_process_names_are_read_once_and_unknown_ones_are_empty(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "comm").write_bytes(b"nginx\n")
    names = ProcessNames(tmp_path)
    assert (names.name(7), names.name(8)) == (b"nginx", b"")
    (tmp_path / "7" / "comm").write_bytes(b"other\n")
    assert names.name(7) == b"nginx"


def test_files_that_are_kept_open_tell_what_holds_now(tmp_path: Path) -> None:
    for name, text in (
        ("stat", "cpu  1 0 0 1 0 0 0 0\ncpu0 1 0 0 1 0 0 0 0\nintr 5 1 2\nctxt 7\n"),
        ("self/statm", "10 2 1 1 0 1 0\n"),
        ("pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=3\n"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    files = proc.HostFiles(2, tmp_path)
    assert (files.stat().switches, files.stat().online.tolist()) == (7, [True, False])
    assert files.pressure() == Pressure(3000, 0)
    assert files.own_cost(5).rss_bytes == 2 * os.sysconf("SC_PAGE_SIZE")
    assert files.own_cost(5).bpf_ns == 5
    # As long as many CPUs and interrupts make it.
    more = "cpu0 2 0 0 1 0 0 0 0\nintr " + "1 " * 20_000 + "\nctxt 8\n"
    (tmp_path / "stat").write_text(more)
    assert files.stat().switches == 8
    files.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        files.stat()


def test_a_kernel_without_pressure_has_none_among_the_open_files(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "stat").write_text("cpu0 1 0 0 1 0 0 0 0\nctxt 7\n")
    (tmp_path / "self" / "statm").write_text("10 2 1 1 0 1 0\n")
    files = proc.HostFiles(1, tmp_path)
    assert files.pressure() is None
    files.close()


@pytest.fixture
def limits(tmp_path: Path) -> Path:
    """The files of a kernel that keeps 5 % of the CPU for others."""
    (tmp_path / "sched_rt_runtime_us").write_text("950000\n")
    (tmp_path / "sched_rt_period_us").write_text("1000000\n")
    return tmp_path


def test_real_time_runtime_is_the_limit_before_6_12(limits: Path) -> None:
    assert proc.rt_ratio(limits, "6.11.2-amd64") == 0.95
    (limits / "sched_rt_runtime_us").write_text("-1\n")
    assert proc.rt_ratio(limits, "6.11.2-amd64") == 1
    assert proc.rt_ratio(limits / "none", "6.11.2-amd64") is None


def test_fair_server_keeps_its_share_whatever_the_runtime_is(limits: Path) -> None:
    (limits / "sched_rt_runtime_us").write_text("-1\n")
    assert proc.rt_ratio(limits, "6.12.0", limits / "not-mounted") == pytest.approx(0.95)
    for cpu in ("cpu0", "cpu1"):
        (limits / "fair" / cpu).mkdir(parents=True)
        (limits / "fair" / cpu / "runtime").write_text("200000000\n")
        (limits / "fair" / cpu / "period").write_text("1000000000\n")
    assert proc.rt_ratio(limits, "7.0.1", limits / "fair") == pytest.approx(0.8)
    (limits / "fair" / "cpu1" / "runtime").write_text("0\n")
    assert proc.rt_ratio(limits, "7.0.1", limits / "fair") is None
    (limits / "fair" / "cpu0" / "runtime").write_text("0\n")
    assert proc.rt_ratio(limits, "7.0.1", limits / "fair") == 1
