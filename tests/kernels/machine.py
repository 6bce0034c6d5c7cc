"""A virtual machine by software emulation: boots a kernel, and reads what its tests say."""

from __future__ import annotations

import ctypes
import json
import mmap
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedtop.model.source import SourceError
from schedtop.sources.kernel.compiler import compile_programs
from schedtop.sources.kernel.program_text import source_directory
from tests.kernels.emulator import Emulator
from tests.kernels.guest import PORT
from tests.kernels.packages import Unavailable

_CX16 = 4 * 32 + 13
"""The kernel's number of the feature; not taken from the processor itself, as numpy insists on it."""
_MEMORY = "2048M"
_STAMP = re.compile(r"^\[ *\d+\.\d+\] ")
_PR_SET_PDEATHSIG = 1
_RDTSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")  # rdtsc; shl rdx, 32; or rax, rdx; ret


@dataclass(frozen=True, slots=True)
class Processors:
    """How many a guest starts with, and how many it could have."""

    online: int
    possible: int

    def __str__(self) -> str:
        return f"{self.online}/{self.possible}" if self.possible > self.online else str(self.online)

    @classmethod
    def parse(cls, text: str) -> Processors:
        """`4`, or `2/64`: two of 64 that the kernel makes room for. Raises ValueError."""
        online, _, possible = text.partition("/")
        return cls(int(online), int(possible or online))


class Silent(Exception):
    """A guest has said nothing for too long, or has died."""


class Guest:
    """A running machine: `messages` are the lines that its tests send, until they end."""

    def __init__(self, connection: socket.socket, process: subprocess.Popen[bytes], console: Path) -> None:
        self._connection, self._process, self._console = connection, process, console
        self._unread = b""

    def messages(self, silence_s: float) -> Iterator[dict[str, Any]]:
        """What the guest says; requests to compile are answered here. Raises Silent."""
        while True:
            message = json.loads(self._line(silence_s))
            if message["event"] == "compile":
                self._connection.settimeout(silence_s)
                self._connection.sendall(json.dumps(_compiled(message)).encode() + b"\n")
                continue
            yield message
            if message["event"] == "ended":
                return

    def _line(self, silence_s: float) -> bytes:
        deadline = time.monotonic() + silence_s
        while b"\n" not in self._unread:
            self._connection.settimeout(1)
            try:
                taken = self._connection.recv(1 << 16)
            except TimeoutError:
                if time.monotonic() > deadline:
                    raise Silent(f"it has said nothing for {silence_s:.0f} s") from None
                if self._process.poll() is None and not self._has_ended():
                    continue
                taken = b""
            if not taken:
                raise Silent(f"it stopped; the last it said: {self.last_words()}")
            self._unread += taken
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _has_ended(self) -> bool:
        return "schedtop-kernels:" in self.last_words()

    def last_words(self) -> str:
        """The end of the kernel's console, or why it panicked."""
        return last_words(self._console.read_text(errors="replace") if self._console.exists() else "")


def last_words(console: str) -> str:
    """The last line of a console; of one with a panic the first oops, where it was, and the panic."""
    lines = [_STAMP.sub("", line).strip() for line in console.split("\n")]
    told = [line for line in lines if line]
    panics = [line for line in told if "Kernel panic" in line]
    if not panics:
        return told[-1] if told else "nothing"
    found = (next((line for line in told if mark in line), "") for mark in ("Oops:", "RIP:"))
    return "; ".join(line for line in (*found, panics[0]) if line)


@contextmanager
def booted(
    emulator: Emulator,
    image: Path,
    initramfs: Path,
    disks: tuple[Path, ...],
    cpus: Processors,
    console: Path,
    bare: bool = False,
    more: str = "",
) -> Iterator[Guest]:
    """A machine that runs as long as the block. The first disk is the root, read-only. Raises Unavailable.

    `bare`: the kernel is not told to keep its ticks and to do without cmpxchg16b; `more`: what else it is told.
    """
    console.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/port"
        command = _command(emulator, image, initramfs, disks, cpus, console, path, bare, more)
        words = Path(directory) / "words"
        with words.open("wb") as sink:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, preexec_fn=_mortal)
        try:
            with _connected(path, process, words) as connection:
                yield Guest(connection, process, console)
        finally:
            process.kill()
            process.wait()


def _mortal() -> None:
    """In the child: it ends with us."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _command(
    emulator: Emulator,
    image: Path,
    initramfs: Path,
    disks: tuple[Path, ...],
    cpus: Processors,
    console: Path,
    port: str,
    bare: bool,
    more: str,
) -> list[str]:
    # The guest cannot measure its clock on a host that is busy, and then runs at another speed. With more than two CPUs
    # one sleeps on now and then although it is called, if it has no tick (docs/kernels-found.md). cmpxchg16b, as qemu
    # emulates it, can leave half a pointer in the flags (docs/kernels-found.md): the kernel is to do without it.
    careful = "" if bare else f" nohz=off clearcpuid={_CX16}"
    clock = f"nowatchdog tsc=reliable tsc_early_khz={_tsc_khz()}"
    line = f"console=ttyS0 panic=-1 mitigations=off {clock}{careful} {more}".rstrip()
    drives = (f"file={disk},format=raw,if=virtio,readonly=on" for disk in disks)
    return [
        *emulator.command, "-machine", "q35", "-cpu", "max", "-m", _MEMORY,
        "-smp", f"{cpus.online},maxcpus={cpus.possible}",
        "-nodefaults", "-display", "none", "-no-reboot", "-serial", f"file:{console}",
        "-kernel", str(image), "-initrd", str(initramfs), "-append", line,
        *(word for drive in drives for word in ("-drive", drive)),
        "-device", "virtio-serial", "-chardev", f"socket,id=port,path={port},server=on,wait=off",
        "-device", f"virtserialport,chardev=port,name={PORT}",
    ]  # fmt: skip


@contextmanager
def _connected(path: str, process: subprocess.Popen[bytes], words: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as connection:
        while True:
            try:
                connection.connect(path)
                break
            except OSError:
                if process.poll() is not None:
                    told = words.read_text(errors="replace").strip().splitlines()
                    raise Unavailable(f"qemu does not start: {told[-1] if told else process.returncode}") from None
                time.sleep(0.1)
        yield connection


def _compiled(request: dict[str, Any]) -> dict[str, str]:
    try:
        return {"compiled": compile_programs(request["text"], tuple(request["flags"]), source_directory()).to_json()}
    except SourceError as error:
        return {"error": str(error)}


def _tsc_khz() -> int:
    """How fast the time stamp counter counts, which is the guest's too."""
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(_RDTSC)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    before, began = read(), time.monotonic_ns()
    time.sleep(0.5)
    after, ended = read(), time.monotonic_ns()
    return int((after - before) * 1_000_000 / (ended - began))
