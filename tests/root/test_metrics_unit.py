"""The systemd unit: what it grants is enough, and without any part of it there are no metrics.

Two ways: its capabilities with setpriv on a read-only root, and the unit itself in a systemd of its own, where there is
systemd-nspawn.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from grp import getgrnam
from pathlib import Path

import pytest
from test_metrics_prometheus import free_port, wait_for

from schedtop.sources.kernel.cache_directory import DIRECTORY_VARIABLE

pytestmark = pytest.mark.beside

REPOSITORY = Path(__file__).parents[2]
UNIT = REPOSITORY / "contrib/systemd/schedtop-metrics.service"
BY_SOCKET = REPOSITORY / "contrib/systemd/unix-socket.conf"
NOBODY = 65534


def settings(file: Path = UNIT) -> dict[str, list[str]]:
    """The settings of the unit's [Service] section; one may be given several times."""
    values: dict[str, list[str]] = {}
    section = ""
    for line in file.read_text().splitlines():
        if line.startswith("["):
            section = line
        elif "=" in line and not line.startswith("#") and section == "[Service]":
            name, _, value = line.partition("=")
            values.setdefault(name, []).append(value)
    return values


def capabilities() -> list[str]:
    """As setpriv calls them: `bpf`, `perfmon`."""
    (granted,) = settings()["AmbientCapabilities"]
    assert settings()["CapabilityBoundingSet"] == [granted]
    return [name.removeprefix("CAP_").lower() for name in granted.split()]


def arguments(port: int) -> list[str]:
    """What the unit starts, with our interpreter instead of the installed command."""
    ((program, *rest),) = (line.split() for line in settings()["ExecStart"])
    assert Path(program).name == "schedtop"
    rest[rest.index("--listen") + 1] = f"127.0.0.1:{port}"
    return ["-m", "schedtop", *rest]


@contextmanager
def confined(port: int, granted: list[str], cache: Path) -> Iterator[subprocess.Popen[str]]:
    """The unit's command as an ordinary user with these capabilities, no new privileges, on a read-only root."""
    allowed = ",".join(["-all", *(f"+{name}" for name in granted)])
    privileges = [
        "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs",
        f"--inh-caps={allowed}", f"--ambient-caps={allowed}", f"--bounding-set={allowed}",
    ]  # fmt: skip
    # Everything below the root is read-only, but for the cache.
    script = (
        'set -e; cache=$1; shift; mount --bind "$cache" "$cache"; '
        "while read -r _ _ _ _ path _; do "
        '[ "$path" = "$cache" ] || mount -o remount,bind,ro "$path" 2>/dev/null || true; done </proc/self/mountinfo; '
        '! touch /tmp/schedtop-can-write 2>/dev/null; exec "$@"'
    )
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", str(cache)]
    process = subprocess.Popen(
        [*command, *privileges, sys.executable, *arguments(port)],
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        env=os.environ
        | {DIRECTORY_VARIABLE: str(cache), "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A directory of that user's own, which it can reach."""
    for parent in (tmp_path, *tmp_path.parents):
        if parent.is_relative_to("/tmp") and parent != Path("/tmp"):
            parent.chmod(parent.stat().st_mode | 0o111)
    directory = tmp_path / "cache"
    directory.mkdir(mode=0o700)
    os.chown(directory, NOBODY, NOBODY)
    return directory


def metrics(port: int) -> str:
    """What is served, empty if nothing is."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


def test_unit_grants_enough_rights(cache: Path) -> None:
    port = free_port()
    with confined(port, capabilities(), cache) as process:
        assert wait_for(lambda: metrics(port) or process.poll() is not None, 60)
        status = Path(f"/proc/{process.pid}/status").read_text()
        body = metrics(port)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=20)
    assert process.returncode == 143, said
    assert 'source="btf"' in body and "schedtop_context_switches_total" in body
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["NoNewPrivs"] == "1" and set(fields["Uid"].split()) == {str(NOBODY)}
    assert int(fields["CapEff"], 16).bit_count() == int(fields["CapBnd"], 16).bit_count() == len(capabilities())
    assert list(cache.glob("*.json")), "it could compile, and keep, the kernel programs"


@pytest.mark.parametrize("missing", ["bpf", "perfmon"])
def test_unit_grants_no_capability_that_is_not_needed(cache: Path, missing: str) -> None:
    granted = capabilities()
    assert sorted(granted) == ["bpf", "perfmon"], "each of them must have its test here"
    granted.remove(missing)
    port = free_port()
    with confined(port, granted, cache) as process:
        assert wait_for(lambda: metrics(port) or process.poll() is not None, 60)
        body = metrics(port)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=20)
    assert 'source="proc"' in body, "it serves what everybody may know"
    assert "without privileges" in said.splitlines()[0]


def test_systemd_understands_it(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    # It asks whether the command is there, and the tests do not install it.
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/usr/local/bin/schedtop ", "/bin/true "))
    run = subprocess.run([analyze, "verify", "--man=no", str(unit)], capture_output=True, text=True)
    assert (run.returncode, run.stdout + run.stderr) == (0, "")
    run = subprocess.run(
        [analyze, "security", "--offline=yes", "--threshold=20", "--no-pager", str(unit)],
        capture_output=True,
        text=True,
    )
    print(run.stdout.splitlines()[-1])
    assert run.returncode == 0, f"its exposure is above 2.0:\n{run.stdout}"


DROP_IN = """[Service]
Environment=PYTHONPATH=/opt/schedtop-checkout PYTHONDONTWRITEBYTECODE=1
ExecStart=
ExecStart=/opt/schedtop-venv/bin/python {arguments}
"""
TARGET = "[Unit]\nDescription=Nothing but the unit\nWants=schedtop-metrics.service\n"


@contextmanager
def systemd(directory: Path, words: list[str], *drop_ins: Path) -> Iterator[Path]:
    """A systemd that starts the unit with these arguments, on a copy of this root that forgets; its log."""
    layers, root, log = directory / "layers", directory / "root", directory / "log"
    for path in (layers, root):
        path.mkdir()
    mounts: list[Path] = []
    try:
        mount("-t", "tmpfs", "tmpfs", str(layers))
        mounts.append(layers)
        for name in ("upper", "work"):
            (layers / name).mkdir()
        mount("-t", "overlay", "-o", f"lowerdir=/,upperdir={layers}/upper,workdir={layers}/work", "overlay", str(root))
        mounts.append(root)
        units = root / "etc/systemd/system"
        (units / f"{UNIT.name}.d").mkdir(parents=True)
        shutil.copy(UNIT, units)
        (units / "only.target").write_text(TARGET)
        for drop_in in drop_ins:
            shutil.copy(drop_in, units / f"{UNIT.name}.d/{drop_in.name}")
        (units / f"{UNIT.name}.d/zz-test.conf").write_text(DROP_IN.format(arguments=" ".join(words)))
        with booted(root, log):
            yield log
    finally:
        for path in reversed(mounts):
            subprocess.run(["umount", "--lazy", str(path)], check=False)


def mount(*arguments: str) -> None:
    run = subprocess.run(["mount", *arguments], capture_output=True, text=True)
    if run.returncode:
        pytest.skip(f"no systemd of its own here: {run.stderr.strip()}")


@contextmanager
def booted(root: Path, log: Path) -> Iterator[None]:
    command = [
        "systemd-nspawn", "--quiet", f"--directory={root}", "--register=no", "--keep-unit", "--link-journal=no",
        f"--machine=schedtop-{os.getpid()}", "--capability=CAP_BPF,CAP_PERFMON", "--system-call-filter=bpf",
        f"--bind-ro={sys.prefix}:/opt/schedtop-venv", f"--bind-ro={REPOSITORY}:/opt/schedtop-checkout",
        "--boot", "systemd.unit=only.target", "systemd.log_target=console", "systemd.show_status=no",
    ]  # fmt: skip
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def nspawn(tmp_path: Path) -> Path:
    if shutil.which("systemd-nspawn") is None:
        pytest.skip("systemd-nspawn is not installed (package systemd-container)")
    return tmp_path


def unit_process(listen: str) -> int:
    """The pid of what the unit started, 0 if there is none."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        if words[0].startswith("/opt/schedtop-venv") and listen in words:
            return int(path.name)
    return 0


def test_the_unit_runs_in_a_real_systemd(nspawn: Path) -> None:
    """All of it: filters of system calls, the private cache, notification, a user that is made for it."""
    port = free_port()
    with systemd(nspawn, arguments(port)) as log:
        assert wait_for(lambda: metrics(port) or b"service: Failed" in log.read_bytes(), 90), log.read_text(
            errors="replace"
        )
        assert metrics(port), log.read_text(errors="replace")
        pid = unit_process(f"127.0.0.1:{port}")
        status = Path(f"/proc/{pid}/status").read_text()
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        nice = {os.getpriority(os.PRIO_PROCESS, int(tid)) for tid in os.listdir(f"/proc/{pid}/task")}
        first = metrics(port)
        time.sleep(2.5)
        last = metrics(port)
        kept = list((nspawn / "root/var/cache/private/schedtop-metrics").glob("*.json"))
    assert 'source="btf"' in last and count(last) > count(first)
    assert fields["NoNewPrivs"] == "1" and fields["Seccomp"] == "2" and int(fields["Uid"].split()[0]) >= 61184
    assert int(fields["CapBnd"], 16).bit_count() == len(capabilities())
    assert kept, "the compiled programs are kept"
    assert nice == {0, -15}, "what answers is ordinary, what counts is not"
    assert "schedtop-metrics.service: Deactivated successfully" in log.read_text(errors="replace"), "it ends well"
    # Not at the same time: both would be in one control group.
    (nspawn / "socket").mkdir()
    run_with_a_unix_socket(nspawn / "socket")


def run_with_a_unix_socket(directory: Path) -> None:
    """With the drop-in, as it is but for our interpreter: no network, and a directory that the group can enter."""
    _, line = settings(BY_SOCKET)["ExecStart"]
    words = line.split()[1:]
    listen = words[words.index("--listen") + 1]
    (name,) = settings(BY_SOCKET)["Group"]
    group = getgrnam(name).gr_gid
    with systemd(directory, ["-m", "schedtop", *words], BY_SOCKET) as log:
        assert wait_for(lambda: unit_process(listen), 90), log.read_text(errors="replace")
        pid = unit_process(listen)
        place = Path(f"/proc/{pid}/root{listen.removeprefix('unix:')}")
        assert wait_for(lambda: place.exists() and read_as(place.parent, group), 90), log.read_text(errors="replace")
        assert (place.lstat().st_gid, place.lstat().st_mode & 0o777) == (group, 0o660)
        assert (place.parent.lstat().st_gid, place.parent.lstat().st_mode & 0o777) == (group, 0o750)
        assert not read_as(place.parent, NOBODY)
        assert os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")


READ = """
import os, socket, sys
os.chdir(sys.argv[1])
group = int(sys.argv[2])
os.setgroups([])
os.setresgid(group, group, group)
os.setresuid(65534, 65534, 65534)
with socket.socket(socket.AF_UNIX) as client:
    client.connect("metrics.sock")
    client.sendall(b"GET /metrics HTTP/1.1\\r\\nHost: any\\r\\n\\r\\n")
    print(client.recv(15).decode())
"""


def read_as(directory: Path, group: int) -> bool:
    """Whether nobody, with this group, gets an answer there."""
    command = [sys.executable, "-I", "-S", "-c", READ, str(directory), str(group)]
    return subprocess.run(command, capture_output=True, text=True).stdout == "HTTP/1.1 200 OK\n"


def count(body: str) -> float:
    return next(float(line.split()[1]) for line in body.splitlines() if line.startswith("schedtop_intervals_total "))
