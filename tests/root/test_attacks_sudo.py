"""What sudo gives away: what root does for whoever called it is no more than they may do themselves."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from test_attacks import let_all_in

from schedtop.base import invoker as invoking
from schedtop.base.invoker import UnclearInvoker, as_invoker, invoker
from schedtop.model.host import Host
from schedtop.model.source import SourceError
from schedtop.outputs.files import OutputError, check_target, write_file
from schedtop.outputs.recording.recorder import Recorder
from schedtop.recording.lines import Header


def caller() -> pwd.struct_passwd:
    """Whoever may be said to have called sudo: under it, that is the one who did."""
    above, user = invoking._parent(os.getppid())
    while above > 0 and not user:
        above, user = invoking._parent(above)
    return pwd.getpwuid(user) if user else pwd.getpwnam("nobody")


pytestmark = pytest.mark.beside

USER = caller()
OTHER = 54321

TELL = """
import json, os, sys
status = dict(line.rstrip().split(":", 1) for line in open("/proc/self/status"))
names = ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapAmb")
print(json.dumps({"environment": dict(os.environ), "files": sorted(os.listdir("/proc/self/fd")), "nice": os.nice(0),
                  **{name: status[name].split() for name in names}}), file=open(sys.argv[1], "w"))
"""
"""A command of a trigger: what it is and has."""


def sudo(**more: str) -> dict[str, str]:
    """The environment that sudo gives to root, called by USER."""
    said = {"SUDO_UID": str(USER.pw_uid), "SUDO_GID": str(USER.pw_gid), "SUDO_USER": USER.pw_name}
    secret = {"HOME": "/root", "USER": "root", "LOGNAME": "root", "XDG_RUNTIME_DIR": "/run/user/0", "TOKEN": "secret"}
    return {"PATH": f".:{os.environ['PATH']}", **secret, **said, **more}


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A directory of USER's."""
    let_all_in(tmp_path)
    made = tmp_path / "theirs"
    made.mkdir()
    os.chown(made, USER.pw_uid, USER.pw_gid)
    return made


@pytest.fixture
def roots(tmp_path: Path) -> Path:
    """A directory that root alone may write to."""
    let_all_in(tmp_path)
    made = tmp_path / "roots"
    made.mkdir()
    return made


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if USER had called sudo."""
    monkeypatch.setenv("SUDO_UID", str(USER.pw_uid))
    monkeypatch.setenv("SUDO_GID", str(USER.pw_gid))


def watch(
    environment: Mapping[str, str], *arguments: str, before: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """A trigger that fires at once."""
    command = [*before, sys.executable, "-m", "schedtop", "watch", "--source", "synthetic", "--on", "switches > 0/s"]
    here = {"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "XDG_CONFIG_HOME": os.environ["XDG_CONFIG_HOME"]}
    return subprocess.run(
        [*command, "--once", "--duration", "5s", *arguments], env={**environment, **here},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def told_by_command(
    directory: Path, environment: Mapping[str, str], *arguments: str, before: tuple[str, ...] = ()
) -> dict[str, object]:
    script = directory / "tell.py"
    script.write_text(TELL)
    out = directory / "told"
    done = watch(environment, "--then", f"run {sys.executable} {script} {out}", *arguments, before=before)
    assert done.returncode == 0 and "failed" not in done.stderr, done.stderr
    told: dict[str, object] = json.loads(out.read_text())
    return told


@pytest.mark.parametrize(
    "before",
    [(), ("setpriv", "--securebits", "+no_setuid_fixup"), ("setpriv", "--inh-caps", "+bpf", "--ambient-caps", "+bpf")],
)
def test_a_command_under_sudo_is_the_users_and_has_nothing_of_roots(theirs: Path, before: tuple[str, ...]) -> None:
    told = told_by_command(theirs, sudo(), before=before)
    assert set(told["Uid"]) == {str(USER.pw_uid)} and set(told["Gid"]) == {str(USER.pw_gid)}  # type: ignore[call-overload]
    assert set(map(int, told["Groups"])) == set(os.getgrouplist(USER.pw_name, USER.pw_gid))  # type: ignore[call-overload]
    assert {int(told[name][0], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}  # type: ignore[index]
    assert told["files"] == ["0", "1", "2", "3"], "3 is the directory that lists them"
    environment = told["environment"]
    assert isinstance(environment, dict)
    about = {name: environment.get(name) for name in ("HOME", "USER", "LOGNAME", "SHELL", "XDG_RUNTIME_DIR", "TOKEN")}
    mine = {"HOME": USER.pw_dir, "USER": USER.pw_name, "LOGNAME": USER.pw_name, "SHELL": USER.pw_shell}
    assert about == {**mine, "XDG_RUNTIME_DIR": None, "TOKEN": None}
    assert all(os.path.isabs(place) for place in environment["PATH"].split(":"))
    assert environment["SCHEDTOP_TRIGGER"] == "switches > 0/s"


def test_root_runs_commands_as_root_where_it_was_asked_to(theirs: Path) -> None:
    assert told_by_command(theirs, sudo(), "--run-as-root")["Uid"] == ["0"] * 4


@pytest.mark.parametrize("uid", ["0", None])
def test_commands_of_root_that_called_itself_are_roots(theirs: Path, uid: str | None) -> None:
    environment = {name: text for name, text in sudo().items() if not name.startswith("SUDO_")}
    told = told_by_command(theirs, environment | ({"SUDO_UID": uid, "SUDO_GID": uid} if uid else {}))
    assert told["Uid"] == ["0"] * 4


@pytest.mark.parametrize(("variable", "said"), [("PKEXEC_UID", str(USER.pw_uid)), ("DOAS_USER", USER.pw_name)])
def test_commands_under_pkexec_and_doas_are_the_users(theirs: Path, variable: str, said: str) -> None:
    environment = {name: text for name, text in sudo().items() if not name.startswith("SUDO_")}
    assert told_by_command(theirs, {**environment, variable: said})["Uid"] == [str(USER.pw_uid)] * 4


def test_a_command_that_the_user_may_not_run_is_said(theirs: Path, roots: Path) -> None:
    tool = roots / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o700)
    done = watch(sudo(), "--then", f"run {tool}")
    assert f"{tool}: failed with status 127: permission denied" in done.stderr


def test_ambient_capabilities_are_not_a_commands(theirs: Path) -> None:
    """The other way to run schedtop: no root, and two capabilities."""
    as_user = ("setpriv", "--reuid", str(USER.pw_uid), "--regid", str(USER.pw_gid), "--clear-groups",
               "--inh-caps", "-all,+bpf,+perfmon", "--ambient-caps", "-all,+bpf,+perfmon")  # fmt: skip
    told = told_by_command(theirs, {"PATH": os.environ["PATH"]}, before=as_user)
    assert {int(told[name][0], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}  # type: ignore[index]


def test_sudo_writes_no_file_where_the_caller_could_not(roots: Path, theirs: Path) -> None:
    for arguments in (["snapshot", "-o", str(roots / "a")], ["record", "-o", str(roots / "a")],
                      ["watch", "--on", "p99 > 1ns", "--then", "export", "--export-dir", str(roots)]):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "schedtop", *arguments, "--source", "synthetic", "--duration", "1s"],
            env={**os.environ, **sudo()}, capture_output=True, text=True, timeout=60, cwd=theirs.parent,
        )  # fmt: skip
        assert done.returncode in (1, 2) and len(done.stderr.splitlines()) == 1, done.stderr
        assert (
            f"{roots}: the directory is not writable to {USER.pw_name}, with whose rights files are written"
            in done.stderr
        )
    assert not [*roots.iterdir()]


@pytest.mark.usefixtures("called")
def test_files_are_made_by_the_rights_of_the_caller(roots: Path, theirs: Path) -> None:
    made = write_file(theirs / "a.json", b"{}").stat()
    assert (made.st_uid, made.st_gid, stat.S_IMODE(made.st_mode)) == (USER.pw_uid, USER.pw_gid, 0o600)
    for place in (roots / "a.json", Path("/etc/cron.d/schedtop"), Path("/root/.ssh/authorized_keys")):
        with pytest.raises(OutputError):
            check_target(place)
        with pytest.raises(OutputError):
            write_file(place, b"{}")
    # What is root's in a directory of theirs they may replace, as they could by themselves; a link leads no further.
    (theirs / "link").symlink_to(roots)
    os.chown(theirs / "link", USER.pw_uid, USER.pw_gid, follow_symlinks=False)
    with pytest.raises(OutputError, match="not writable"):
        write_file(theirs / "link" / "a.json", b"{}")
    assert not [*roots.iterdir()]


@pytest.mark.usefixtures("called")
def test_the_rights_of_other_threads_stay(theirs: Path) -> None:
    def rights() -> tuple[str, str, str]:
        said = dict(line.split(":", 1) for line in Path("/proc/thread-self/status").read_text().splitlines())
        return said["Uid"].split()[3], said["CapEff"].strip(), said["Groups"].strip()

    before = rights()
    with ThreadPoolExecutor(1) as other:
        assert other.submit(rights).result() == before  # it runs by now
        with as_invoker():
            mine, beside = rights(), other.submit(rights).result()
            with as_invoker():  # once more changes nothing
                assert rights() == mine
            assert rights() == mine
        assert mine[:2] == (str(USER.pw_uid), "0" * 16)
        assert before == beside == rights()


@pytest.fixture
def above(monkeypatch: pytest.MonkeyPatch) -> dict[int, tuple[int, int]]:
    """The processes above us: parent and real user of each. There is no sudo in this machine's way of running tests."""
    tree: dict[int, tuple[int, int]] = {}
    monkeypatch.setattr(invoking, "_parent", lambda pid: tree.get(pid, (0, 0)))
    monkeypatch.setattr(os, "getppid", lambda: 30)
    return tree


@pytest.mark.usefixtures("called")
def test_variables_that_su_left_are_not_believed(above: dict[int, tuple[int, int]], theirs: Path) -> None:
    """A shell that another user got by sudo, and `su` in it: what is root's now would be theirs."""
    above.update({30: (20, 0), 20: (10, OTHER), 10: (1, USER.pw_uid)})
    with pytest.raises(UnclearInvoker, match=rf"^SUDO_UID={USER.pw_uid} is not user {OTHER}, who started this: unset"):
        invoker()
    with pytest.raises(OutputError, match="SUDO_UID"):
        write_file(theirs / "a", b"")
    assert not [*theirs.iterdir()]
    above[20] = (10, USER.pw_uid)
    assert invoker() is not None


@pytest.mark.usefixtures("above")
@pytest.mark.parametrize("uid", ["-1", "0x1", "", "4294967295", "9" * 5000, "65534 ", "٣"])
def test_numbers_that_are_none_name_no_user(monkeypatch: pytest.MonkeyPatch, uid: str) -> None:
    monkeypatch.setenv("SUDO_UID", uid)
    assert invoker() is None


@pytest.mark.usefixtures("above")
def test_a_group_that_is_not_the_users_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_GID", "0")
    for uid in (USER.pw_uid, OTHER):
        monkeypatch.setenv("SUDO_UID", str(uid))
        user = invoker()
        assert user and 0 not in (user.gid, *user.groups)


@pytest.mark.usefixtures("called")
def test_discard_takes_away_what_it_made_and_nothing_else(theirs: Path) -> None:
    """The directory becomes another one, in which a file has the name of the recording."""
    recorder = Recorder(theirs / "a", Header(Host("h", "6", "btf"), 0))
    away = theirs.parent / "away"
    theirs.rename(away)
    theirs.mkdir()
    os.link(away / "a", theirs / "a")  # the same file, elsewhere
    recorder.discard()
    assert [*theirs.iterdir()] == [theirs / "a"] and not [*away.iterdir()]


def test_a_mounts_name_is_not_taken_for_cgroups_v1() -> None:
    """What is no blank to the kernel was one to Python: NBSP and others within the name of what is mounted."""
    mounts = "umount -l -R /sys/fs/cgroup; "
    for blank in ("\u00a0", "\u2003", "\x0b", "\x0c", "\x1f", "\x85", "\u2028"):
        mounts += f"mount -t tmpfs 'x{blank}/evil{blank}cgroup{blank}rw,cpu{blank}0{blank}0' /mnt; "
    code = "from schedtop.checks.host import cgroups; from schedtop.sources.host.cgroups import has_v1_cpu_controller; "
    code += "print(has_v1_cpu_controller(), cgroups().details)"
    run = ["unshare", "--mount", "sh", "-c", f'{mounts}exec {sys.executable} -c "$0"', code]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert done.stdout == "False {'version': None, 'cpu_controller': None}\n"


@pytest.mark.parametrize("command", ["replay", "report"])
def test_a_file_that_becomes_a_pipe_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Between the look at it and the opening."""
    from schedtop.commands.evidence import Part, read_evidence
    from schedtop.commands.recorded import open_recording
    from schedtop.model.filters import Filter

    path = tmp_path / "a.rec"
    path.write_bytes(b"{}")
    look = Path.stat

    def look_and_exchange(self: Path, **more: bool) -> os.stat_result:
        status = look(self, **more)
        if self == path:
            path.unlink()
            os.mkfifo(path)
        return status

    def too_long(*_: object) -> None:
        raise TimeoutError("it waits for a writer")

    monkeypatch.setattr(Path, "stat", look_and_exchange)
    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(20)
    try:
        with pytest.raises(SourceError, match="not a regular file"):
            open_recording(path) if command == "replay" else read_evidence(path, Filter(), Part())
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_python_m_schedtop_imports_nothing_from_the_current_directory(tmp_path: Path) -> None:
    for name in ("click", "numpy", "textual", "json", "signal"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'bad')!r}, 'w')\n")
    run = [sys.executable, "-m", "schedtop", "snapshot", "--source", "synthetic", "--duration", "1s"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not (tmp_path / "bad").exists(), done.stderr


STEERING = {
    "DEBUGINFOD_URLS": "http://127.0.0.1:9/",
    "BCC_SYMFS": "/nowhere",
    "CPATH": "/nowhere",
    "LLVM_PROFILE_FILE": "x",
}


def test_no_variable_of_the_caller_steers_a_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever is started while programs are compiled and run: what it was started with has none of them."""
    wrapper = tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\nenv >> {tmp_path}/seen\nexec {sys.executable} "$@"\n')
    wrapper.chmod(0o755)
    for name, text in STEERING.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setattr(sys, "executable", str(wrapper))
    monkeypatch.setenv("SCHEDTOP_CACHE", "")
    from schedtop.checks import compiler, self_test
    from schedtop.sources.kernel.compiler import compile_programs
    from schedtop.sources.kernel.early_compiler import bcc_command
    from schedtop.sources.kernel.symbols import Symbols

    Symbols().close()
    compile_programs("int one(void *context) { return 0; }", (), Path(__file__).parents[2] / "bpf")
    assert compiler.bcc(bcc_command("about")).state == "ok"
    work = self_test.Workload()
    work.start()
    work.end()
    seen = (tmp_path / "seen").read_text()
    assert seen.count("PATH=") >= 3 and not [name for name in STEERING if name in seen]


@pytest.mark.parametrize("kernel_names", [True, False])
def test_no_export_tells_where_code_is(tmp_path: Path, kernel_names: bool) -> None:
    """Neither the kernel's addresses nor those of processes: where nothing has a name there is none."""
    hidden = "/proc/kallsyms"
    code = f"{sys.executable} -c 'import mmap, time; [(mmap.mmap(-1, 4096), time.sleep(0.01)) for _ in range(9999)]' & "
    code += "work=$!; sleep 0.3; "
    if not kernel_names:  # as without CAP_SYSLOG
        (tmp_path / "symbols").write_text("0000000000000000 T _text\n")
        code += f"mount --bind {tmp_path}/symbols {hidden}; "
    kinds = ("json", "text", "folded", "svg") if kernel_names else ("json",)
    for kind in kinds:
        code += f"{sys.executable} -m schedtop offcpu --duration 1s --waker --format {kind} -o {tmp_path}/{kind}; "
    code += f"{sys.executable} -m schedtop task $work --duration 2s --format json -o {tmp_path}/task; kill $work"
    subprocess.run(["unshare", "--mount", "sh", "-c", code], check=True, timeout=180, capture_output=True)
    for kind in (*kinds, "task"):
        text = (tmp_path / kind).read_text()
        assert not re.search(r"0x[0-9a-f]{9,}|\bffff[0-9a-f]{12}\b", text), kind
    said = json.loads((tmp_path / "json").read_text())
    sides = [side for row in said["stacks"] for side in (row["user"], row["kernel"])]
    symbols = [symbol for side in sides for symbol in side["symbols"]]
    assert symbols and max(symbol["offset"] or 0 for symbol in symbols) < 1 << 32
    assert kernel_names or any((symbol["name"], symbol["module"]) == (None, "[kernel]") for symbol in symbols)
    results = [call["result"] for call in json.loads((tmp_path / "task").read_text())["slow_syscalls"]]
    assert all(result is None or abs(result) < 1 << 32 for result in results)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """One that may belong to anybody, with what `sudo make` leaves in it."""
    made = tmp_path / "checkout"
    shutil.copytree(Path(__file__).parents[2] / "scripts", made / "scripts")
    for name in (".venv", "schedtop/__pycache__"):
        (made / name).mkdir(parents=True)
    return made


def set_up(checkout: Path, *arguments: str) -> str:
    environment = {"PATH": os.environ["PATH"], "SUDO_UID": str(USER.pw_uid), "SUDO_GID": str(USER.pw_gid)}
    script = str(checkout / "scripts" / "setup.sh")
    return subprocess.run(
        [script, *arguments], env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_roots_environment_belongs_to_root(checkout: Path) -> None:
    assert set_up(checkout, "where") == ".venv"
    set_up(checkout, "give-back")
    assert {path.stat().st_uid for path in checkout.rglob("*")} == {0}, "root's checkout stays root's"
    os.chown(checkout / ".venv", USER.pw_uid, USER.pw_gid)
    assert set_up(checkout, "where").startswith("/var/lib/schedtop/")
    os.chown(checkout / ".venv", 0, 0)
    os.chown(checkout, USER.pw_uid, USER.pw_gid)
    assert set_up(checkout, "where").startswith("/var/lib/schedtop/")
    set_up(checkout, "give-back")
    assert (checkout / "schedtop/__pycache__").stat().st_uid == USER.pw_uid
    assert (checkout / ".venv").stat().st_uid == 0
