"""What an ordinary user prepares for a schedtop that runs as root does not make it open, follow or write anything."""

from __future__ import annotations

import ctypes
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from schedtop.outputs.files import OutputError, write_file
from schedtop.sources.kernel.symbols import Symbols

pytestmark = pytest.mark.beside

NOBODY = 65534
_MADE = "import mmap, ctypes; made = mmap.mmap(-1, 4096, prot=7); "
_TOLD = "print(ctypes.addressof(ctypes.c_char.from_buffer(made)), flush=True); input()"


@contextmanager
def attacker(*around: str, before: str = "") -> Iterator[tuple[int, int]]:
    """A process of nobody's with executable memory that is no file's; its pid and the address. `before` is Python."""
    words = [
        "setpriv",
        "--reuid",
        str(NOBODY),
        "--regid",
        str(NOBODY),
        "--clear-groups",
        *around,
        sys.executable,
        "-Ic",
    ]
    with subprocess.Popen([*words, _MADE + before + _TOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout
            line = process.stdout.readline()
            if not line and around:
                pytest.skip("ordinary users may not make namespaces here")
            yield process.pid, int(line)
        finally:
            process.kill()


class Trap:
    """A pipe that root alone may open: whether somebody has begun to read it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path, 0o600)
        self.opened = threading.Event()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._done.wait(0.002):
            try:
                os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
            except OSError:
                continue  # nobody reads
            self.opened.set()

    def close(self) -> None:
        self._done.set()
        self._thread.join()


def let_all_in(tmp_path: Path) -> None:
    """Into a directory of pytest's, which are root's alone; with several workers there is one more on the way."""
    for directory in (tmp_path, *tmp_path.parents[:3]):
        if directory != Path("/tmp"):
            directory.chmod(0o755)


@pytest.fixture
def trap(tmp_path: Path) -> Iterator[Trap]:
    let_all_in(tmp_path)
    made = Trap(tmp_path / "roots-own")
    yield made
    made.close()


@pytest.fixture
def symbols() -> Iterator[Symbols]:
    found = Symbols()
    yield found
    found.close()


def test_the_trap_notices_a_reader(trap: Trap) -> None:
    os.close(os.open(trap.path, os.O_RDONLY | os.O_NONBLOCK))
    reader = os.open(trap.path, os.O_RDONLY | os.O_NONBLOCK)
    assert trap.opened.wait(30)
    os.close(reader)


def test_a_link_in_place_of_a_perf_map_in_a_mount_namespace_of_their_own(symbols: Symbols, trap: Trap) -> None:
    before = "import os, subprocess; subprocess.run(['mount', '-t', 'tmpfs', 'x', '/tmp'], check=True); "
    before += f"os.symlink({str(trap.path)!r}, f'/tmp/perf-{{os.getpid()}}.map'); "
    with attacker("unshare", "--user", "--map-root-user", "--mount", before=before) as (pid, address):
        assert symbols.of(pid, [address])[0].name == ""
        assert not trap.opened.is_set(), "root has opened what only root may open, because a user wanted it"


def test_a_link_in_place_of_a_perf_map_in_tmp(symbols: Symbols, trap: Trap) -> None:
    with attacker(before="import os; path = f'/tmp/perf-{os.getpid()}.map'; " +
                  f"os.symlink({str(trap.path)!r}, path); ") as (pid, address):  # fmt: skip
        try:
            assert symbols.of(pid, [address])[0].name == ""
            assert not trap.opened.is_set()
        finally:
            os.unlink(f"/tmp/perf-{pid}.map")


def test_a_library_that_has_become_a_link_to_a_device(symbols: Symbols, trap: Trap, tmp_path: Path) -> None:
    library = next(Path("/").glob("usr/lib/*/libz.so.1"), None)
    if library is None:
        pytest.skip("no library to copy")
    place = tmp_path / "theirs"
    place.mkdir()
    place.chmod(0o777)
    copy = place / "lib.so"
    copy.write_bytes(library.read_bytes())
    copy.chmod(0o755)
    before = f"f = open({str(copy)!r}, 'rb'); made = mmap.mmap(f.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=7); "
    before += "import os, subprocess; "
    before += f"subprocess.run(['mount', '-t', 'tmpfs', 'x', {str(place)!r}], check=True); "
    before += f"os.symlink({str(trap.path)!r}, {str(copy)!r}); "
    with attacker("unshare", "--user", "--map-root-user", "--mount", before=before) as (pid, address):
        symbols.of(pid, [address, address + 0x2000])
        assert not trap.opened.is_set()


def test_a_user_still_sees_the_symbols_of_what_they_run(symbols: Symbols) -> None:
    with attacker(before="print(ctypes.cast(ctypes.CDLL(None).qsort, ctypes.c_void_p).value, flush=True); ") as (
        pid,
        at,
    ):
        assert "qsort" in symbols.of(pid, [at])[0].name


def reader_of(symbols: Symbols) -> int:
    """The process that reads what others have made: the child's child."""
    assert symbols.remember(os.getpid())
    child = symbols._child.pid
    return int(Path(f"/proc/{child}/task/{child}/children").read_text())


def library(path: Path, build_id_bytes: int) -> Path:
    """A shared object with a function `theirs` and a build id of any length, as a user may make it."""
    source = path.with_suffix(".c")
    source.write_text("int theirs(int a) { return a * 3; }")
    build_id = f"-Wl,--build-id=0x{'ab' * build_id_bytes}"
    subprocess.run(["clang", "-shared", "-fPIC", "-nostdlib", build_id, "-o", path, source], check=True)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("build_id_bytes", [20, 2200, 6000])
def test_a_build_id_of_any_length_overwrites_nothing(symbols: Symbols, tmp_path: Path, build_id_bytes: int) -> None:
    let_all_in(tmp_path)
    made = library(tmp_path / "theirs.so", build_id_bytes)
    told = f"theirs = ctypes.CDLL({str(made)!r}).theirs; "
    told += "print(ctypes.cast(theirs, ctypes.c_void_p).value, flush=True); "
    with attacker(before=told) as (pid, address):
        reader = reader_of(symbols)
        (symbol,) = symbols.of(pid, [address])
        assert (symbol.name, symbol.module) == ("theirs", str(made))
        assert reader_of(symbols) == reader and not symbols.trouble, "it has ended"


@pytest.mark.parametrize("words", [[], ["--securebits", "+no_setuid_fixup"], ["--ambient-caps", "+dac_read_search"]])
def test_what_reads_files_of_others_has_nothing_to_lose(words: list[str]) -> None:
    code = """
import os
from schedtop.sources.kernel.symbols import Symbols
symbols = Symbols()
assert symbols.remember(os.getpid())
child = symbols._child.pid
reader = open(f"/proc/{child}/task/{child}/children").read().strip()
print(open(f"/proc/{reader}/status").read())
print("root:", os.listdir(f"/proc/{reader}/root"))
files = f"/proc/{reader}/fd"
print("open:", sorted(os.readlink(f"{files}/{fd}").partition(":")[0] for fd in os.listdir(files)))
print("net:", os.readlink(f"/proc/{reader}/ns/net") == os.readlink("/proc/self/ns/net"))
"""
    more = ["--inh-caps", "+dac_read_search"] if "--ambient-caps" in words else []
    run = subprocess.run(
        ["setpriv", *more, *words, sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    said = dict(line.split(":", 1) for line in run.stdout.splitlines() if ":" in line)
    assert set(said["Uid"].split()) == set(said["Gid"].split()) == {str(NOBODY)} and not said["Groups"].strip()
    assert {int(said[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert (said["NoNewPrivs"].strip(), said["Seccomp"].strip()) == ("1", "2")
    assert (said["root"].strip(), said["net"].strip()) == ("[]", "False")
    assert "/dev/null" not in said["open"] and "pipe" not in said["open"]


FORBIDDEN = {
    "a file": "open('/proc/self/status')",
    "a socket": "import socket; socket.socket()",
    "a process": "os.fork()",
    "a program": "os.execv('/bin/true', ['true'])",
    "a signal to root's": "os.kill(1, 0)",
    "a priority": "os.setpriority(os.PRIO_PROCESS, 0, 0)",
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_code_in_the_reader_gets(what: str) -> None:
    """Nothing, whatever it tries."""
    code = f"""
import os, socket
from schedtop.sources.kernel.sandbox import give_up_everything
give_up_everything(1 << 30, 64)
try:
    {FORBIDDEN[what]}
except (PermissionError, FileNotFoundError, BlockingIOError):
    print("refused", flush=True)
os._exit(0)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "refused\n", run.stderr


def test_containers_root_names_no_file_of_the_hosts(symbols: Symbols, trap: Trap, tmp_path: Path) -> None:
    """What is mapped was unlinked, and a link stands where /proc/PID/maps seems to say that it is."""
    copy = library(tmp_path / "x.so", 20)
    told = f"copy = {str(copy)!r}; theirs = ctypes.CDLL(copy).theirs; import os; os.unlink(copy); "
    told += f"os.symlink({str(trap.path)!r}, copy + ' (deleted)'); os.symlink({str(trap.path)!r}, copy); "
    told += "print(ctypes.cast(theirs, ctypes.c_void_p).value, flush=True); "
    tmp_path.chmod(0o777)
    with attacker("unshare", "--user", "--map-root-user", "--mount", before=told) as (pid, address):
        (symbol,) = symbols.of(pid, [address])
        assert symbol.name == "theirs", "it is read by what is mapped, not by a name"
        assert not trap.opened.is_set()


def test_a_mapped_device_is_not_opened(symbols: Symbols) -> None:
    """The kernel's list of what the reader was given has regular files, the one socket, and nothing else."""
    told = "import os; fd = os.open('/dev/zero', os.O_RDWR); zero = mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, prot=7); "
    told += "print(ctypes.addressof(ctypes.c_char.from_buffer(zero)), flush=True); "
    with attacker(before=told) as (pid, address):
        reader = reader_of(symbols)
        assert symbols.of(pid, [address])[0].name == ""
        files = [os.stat(f"/proc/{reader}/fd/{fd}").st_mode for fd in os.listdir(f"/proc/{reader}/fd")]
    assert {stat.S_IFMT(mode) for mode in files} <= {stat.S_IFREG, stat.S_IFSOCK}


def test_names_of_a_process_with_a_tmp_of_its_own(symbols: Symbols) -> None:
    """Its perf map is in its own /tmp, under its own number; one of the same name in ours says nothing."""
    before = "import os, subprocess; subprocess.run(['mount', '-t', 'tmpfs', 'x', '/tmp'], check=True); "
    before += "where = ctypes.addressof(ctypes.c_char.from_buffer(made)); "
    before += "open(f'/tmp/perf-{os.getpid()}.map', 'w').write(f'{where:x} 1000 theirs\\n'); "
    with attacker("unshare", "--user", "--map-root-user", "--mount", before=before) as (pid, address):
        ours = Path(f"/tmp/perf-{pid}.map")
        ours.write_text(f"{address:x} 1000 not theirs\n")
        try:
            assert symbols.of(pid, [address + 8])[0].name == "theirs"
        finally:
            ours.unlink()


def test_a_perf_map_of_another_user_is_not_even_read(symbols: Symbols) -> None:
    with attacker() as (pid, address):
        strange = Path(f"/tmp/perf-{pid}.map")
        strange.write_text(f"{address:x} 1000 a lie\n")
        os.chown(strange, 1000, 1000)
        try:
            assert symbols.of(pid, [address])[0].name == ""
            assert "qsort" in symbols.of(os.getpid(), [qsort()])[0].name
        finally:
            strange.unlink()


def qsort() -> int:
    return ctypes.cast(ctypes.CDLL(None).qsort, ctypes.c_void_p).value or 0


def test_root_follows_no_symlink_of_another_user_to_where_it_writes(tmp_path: Path) -> None:
    """`--export-dir /tmp/theirs`, which is a link into a directory of root's by now, or has one on its way."""
    tmp_path.chmod(0o755)
    roots, theirs = tmp_path / "roots", tmp_path / "theirs"
    (roots / "below").mkdir(parents=True)
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    (theirs / "link").symlink_to(roots)
    os.chown(theirs / "link", NOBODY, NOBODY, follow_symlinks=False)
    for directory in (theirs / "link", theirs / "link" / "below", theirs / ".." / "theirs" / "link"):
        with pytest.raises(OutputError, match=r"link is a symlink of another user, which root does not follow$"):
            write_file(directory / "a.json", b"{}")
    assert [*roots.iterdir()] == [roots / "below"] and not [*(roots / "below").iterdir()]
    # Root's own links are those of every host (/var/run).
    (tmp_path / "own").symlink_to("roots/below")
    assert write_file(tmp_path / "own" / "a.json", b"{}").read_bytes() == b"{}"
    assert (roots / "below" / "a.json").stat().st_mode & 0o777 == 0o600


def test_a_directory_that_is_exchanged_while_root_writes_leads_nowhere(tmp_path: Path) -> None:
    roots, theirs = tmp_path / "roots", tmp_path / "theirs"
    roots.mkdir()
    theirs.mkdir()

    def pieces() -> Iterator[bytes]:
        theirs.rename(tmp_path / "away")
        theirs.symlink_to(roots)
        yield b"{}"

    write_file(theirs / "a.json", pieces())
    assert not [*roots.iterdir()]
    assert [path.name for path in (tmp_path / "away").iterdir()] == ["a.json"]
