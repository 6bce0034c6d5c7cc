"""What an ordinary user prepares for a schedtop that runs as root does not make it open, follow or write anything."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from schedtop.outputs.files import OutputError, write_file
from schedtop.sources.kernel.symbols import Symbols

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


@pytest.fixture
def trap(tmp_path: Path) -> Iterator[Trap]:
    for directory in (tmp_path, *tmp_path.parents[:2]):
        directory.chmod(0o755)
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


def test_symbol_reader_cannot_reach_devices_and_pipes_of_the_host(symbols: Symbols) -> None:
    """A container's root is root: a link of theirs would lead to our own /dev."""
    assert symbols.remember(os.getpid())
    for name in ("dev", "run"):
        assert os.listdir(f"/proc/{symbols._child.pid}/root/{name}") == []
    assert os.path.exists("/dev/null")


@pytest.mark.parametrize(
    "words",
    [
        ["--securebits", "+no_setuid_fixup"],
        ["--reuid", "65534", "--clear-groups", "--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"],
    ],
)
def test_capability_opens_no_file_that_the_user_may_not(words: list[str], tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.touch(0o600)
    code = f"""
from schedtop.sources.kernel import symbol_child
def may_open():
    try:
        open({str(secret)!r}).close()
    except PermissionError:
        return False
    return True
with symbol_child._rights_of(1000, 1000):
    inside = may_open()
print(inside, may_open())
"""
    run = subprocess.run(["setpriv", *words, sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]


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
