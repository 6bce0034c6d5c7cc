"""A program with a task that sleeps with migration disabled, and finds its CPU taken when it is woken.

Its page fault is inside of a sleepable BPF program, which the kernel runs with migrate_disable()
(bpf_prog_run_pin_on_cpu()): a userfaultfd holds it up until a real-time task has CPU 1. Nothing but that keeps it from
CPU 0, which its affinity mask allows. Prints `ready`, and a line when it is done.
"""

import ctypes
import fcntl
import mmap
import os
import signal
import struct
import threading
import time

ROUNDS = 25
BURST_S, HEAD_START_S = 0.02, 0.004
PAGE = 4096
BPF, USERFAULTFD = 321, 323  # the numbers of the calls, x86-64
PROG_LOAD, PROG_RUN = 5, 10
SYSCALL_PROGRAM, SLEEPABLE, COPY_FROM_USER = 31, 1 << 4, 148
UFFD_API, UFFD_REGISTER, UFFD_ZEROPAGE = 0xC018AA3F, 0xC020AA00, 0xC020AA04

libc = ctypes.CDLL(None, use_errno=True)


def call(number: int, *arguments: object) -> int:
    """A system call. Raises OSError."""
    result = int(libc.syscall(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def reader() -> int:
    """A BPF program that copies a word from the user address in its context."""

    def step(code: int, to: int = 0, source: int = 0, offset: int = 0, number: int = 0) -> bytes:
        return struct.pack("<BBhi", code, source << 4 | to, offset, number)

    program = b"".join(
        [
            step(0x79, 3, 1),  # r3 = ctx->address
            step(0xBF, 1, 10),  # r1 = r10 - 8, r2 = 8
            step(0x07, 1, 0, 0, -8),
            step(0xB7, 2, 0, 0, 8),
            step(0x85, 0, 0, 0, COPY_FROM_USER),
            step(0xB7),  # return 0
            step(0x95),
        ]
    )
    code, licence = ctypes.create_string_buffer(program), ctypes.create_string_buffer(b"GPL")
    places = ctypes.addressof(code), ctypes.addressof(licence)
    attr = struct.pack("<IIQQIIQII", SYSCALL_PROGRAM, len(program) // 8, *places, 0, 0, 0, 0, SLEEPABLE)
    return call(BPF, PROG_LOAD, ctypes.create_string_buffer(attr, 128), 128)


def run(program: int, address: int) -> None:
    """Runs the program once, on the CPU that we are on."""
    context = ctypes.create_string_buffer(struct.pack("<Q", address), 8)
    attr = bytearray(80)
    struct.pack_into("<I", attr, 0, program)
    struct.pack_into("<IIQ", attr, 40, 8, 0, ctypes.addressof(context))
    call(BPF, PROG_RUN, ctypes.create_string_buffer(bytes(attr), 80), 80)


def burst(orders: int) -> None:
    """Has CPU 1 for a while at each order."""
    os.sched_setaffinity(0, {1})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    while os.read(orders, 1):
        end = time.monotonic() + BURST_S
        while time.monotonic() < end:
            pass


def resolve(faults: int, orders: int) -> None:
    """Gives each fault its page, once CPU 1 is taken."""
    os.sched_setaffinity(0, {0})
    while True:
        address = struct.unpack_from("<Q", os.read(faults, 32), 16)[0] & -PAGE
        os.write(orders, b"!")
        time.sleep(HEAD_START_S)
        fcntl.ioctl(faults, UFFD_ZEROPAGE, bytearray(struct.pack("<QQQq", address, PAGE, 0, 0)))


def main() -> None:
    """Each round is a page that is not there yet."""
    signal.alarm(60)
    orders, order = os.pipe()
    hog = os.fork()
    if not hog:
        os.close(order)
        signal.alarm(60)
        burst(orders)
        os._exit(0)
    program, faults = reader(), call(USERFAULTFD, os.O_CLOEXEC)
    fcntl.ioctl(faults, UFFD_API, bytearray(struct.pack("<QQQ", 0xAA, 0, 0)))
    memory = mmap.mmap(-1, ROUNDS * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    fcntl.ioctl(faults, UFFD_REGISTER, bytearray(struct.pack("<QQQQ", base, ROUNDS * PAGE, 1, 0)))
    threading.Thread(target=resolve, args=(faults, order), daemon=True).start()
    print("ready", flush=True)
    input()
    for number in range(ROUNDS):
        os.sched_setaffinity(0, {1})
        os.sched_setaffinity(0, {0, 1})
        run(program, base + number * PAGE)
        time.sleep(BURST_S)
    os.kill(hog, signal.SIGKILL)
    os.waitpid(hog, 0)
    print("done", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
