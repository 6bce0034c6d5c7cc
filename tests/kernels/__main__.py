"""Boots stock kernels in virtual machines and runs the collector's tests inside: `make test-kernels`, or

    .venv/bin/python -m tests.kernels [--kernels 5.10,6.1,newest] [--cpus 2,2/64] [--compile-inside]
    [--quick | --exact] [--only A,B] [--minutes N [--go-on]] [--mirror Debian=ADDRESS]
    [--control] [--installed-qemu] [--accel tcg,thread=single] [--bare] [--append preempt=full]

As root, because bcc, which compiles for the guests, wants to be. The results go into docs/kernels.md, a row for each
kernel, number of CPUs and front end. Exits with 1 if a test has failed, and with 2 if a kernel could not be tried.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

from schedtop.base.cpu_lists import cpu_list
from tests.apt import mirror, mirrors
from tests.kernels import control, guest_root, machine, table, unfinished
from tests.kernels.chosen import FRONT_ENDS, chosen, front_end_of
from tests.kernels.emulator import Emulator, find
from tests.kernels.machine import Processors, Silent
from tests.kernels.packages import NEWEST, Archive, Kernel, Unavailable

KERNELS = ("5.10", "6.1", "6.12", "6.18", NEWEST)
PAGE = guest_root.ROOT / "docs/kernels.md"
SILENCE_S = 300.0
"""A guest that says nothing for so long is taken for dead."""

BOOTS = 2
"""An emulated machine stands still now and then (docs/kernels-found.md): so often it is booted in all, and its row says
why."""


def main() -> None:
    """One machine after the other: they share this one's processors."""
    options = _arguments()
    if os.geteuid():
        sys.exit("make test-kernels: bcc compiles for root only: use sudo")
    place = _place()
    archive, failed, untried = Archive(place, mirrors() | dict(options.mirror)), False, False
    try:
        emulator = find(archive, place, options.accel, options.installed_qemu)
    except Unavailable as error:
        sys.exit(f"make test-kernels: {error}")
    print(f"qemu {emulator}, -accel {emulator.accel}", flush=True)
    for series in options.kernels:
        for cpus in options.cpus:
            try:
                kernel = archive.kernel(series)
                if options.control or not control.has_stood(place, emulator):
                    control.stands_patching(kernel, cpus, place, emulator, options.bare)
                results, told = _tried(kernel, cpus, place, emulator, options)
            except (Unavailable, Silent) as error:
                untried = True
                print(f"kernel {series}, {cpus} CPUs: {error}", flush=True)
                continue
            failed |= any(result.failed for result in results.values())
            tried = {name: result for name, result in results.items() if result.tests}
            if options.bare or options.append:  # no row: it is about the emulation, or another kernel in a way
                continue
            table.write(PAGE, [result.row(told | {"front end": name}) for name, result in tried.items()])
    if not (options.bare or options.append):
        print(f"the results are in {PAGE}")
    sys.exit(1 if failed else 2 if untried else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make test-kernels", description=__doc__.split("\n", 1)[0])
    default = ",".join(KERNELS)
    parser.add_argument("--kernels", type=_words, default=list(KERNELS), metavar="A,B", help=f"default {default}")
    parser.add_argument(
        "--cpus", type=_processors, default=[Processors(2, 2)], metavar="N,N/M", help="default 2; 2/64: two of 64"
    )
    parser.add_argument("--compile-inside", action="store_true", help="bcc runs in the guest: minutes for each program")
    parser.add_argument("--quick", action="store_true", help="only the tests that matter most")
    parser.add_argument("--exact", action="store_true", help="only the tests of waits, run time, wakers and quotas")
    parser.add_argument("--minutes", type=float, default=0.0, metavar="N", help="a guest ends after so long")
    parser.add_argument("--go-on", action="store_true", help="with what such a guest had no time for; one row of both")
    parser.add_argument("--mirror", type=mirror, action="append", default=[], metavar="LABEL=ADDRESS",
                        help="where Debian's packages are; by default what apt says here")  # fmt: skip
    parser.add_argument("--only", default="", metavar="A,B", help="only tests with one of these in their names")
    parser.add_argument(
        "--control",
        action="store_true",
        help="first, even if this qemu has stood it before: does it stand patched code? (a boot)",
    )
    parser.add_argument("--installed-qemu", action="store_true", help="not a newer one of backports")
    parser.add_argument("--accel", default="", help="instead of tcg, with one thread before qemu 10")
    parser.add_argument("--bare", action="store_true", help="without nohz=off, clearcpuid=141 (docs/kernels-found.md)")
    parser.add_argument("--append", default="", metavar="WORDS", help="for the kernel's command line; writes no row")
    return parser.parse_args()


def _words(text: str) -> list[str]:
    return text.split(",")


def _processors(text: str) -> list[Processors]:
    return [Processors.parse(word) for word in text.split(",")]


def _place() -> Path:
    """Where kernels and images are kept."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    place = (Path(base) if base.startswith("/") else Path.home() / ".cache") / "schedtop-kernels"
    place.mkdir(parents=True, exist_ok=True)
    return place


def _tried(
    kernel: Kernel, cpus: Processors, place: Path, emulator: Emulator, options: argparse.Namespace
) -> tuple[dict[str, table.Result], dict[str, str]]:
    """Boots a kernel; its results by front end, and what else a row says. Raises Unavailable, Silent."""
    ended_early: list[str] = []
    while True:
        console = place / f"console-{kernel.release}{'-again' * len(ended_early)}.log"
        results, told, silence = _booted(kernel, cpus, place, console, emulator, options)
        for result in results.values():
            result.boots_lost = ended_early
        if not silence:
            return results, told
        print(f"  {silence}; its console: {console}", flush=True)
        if len(ended_early) == BOOTS - 1:
            if not any(result.tests for result in results.values()):
                raise Silent(silence)
            return results, told
        ended_early = [*ended_early, silence]


def _booted(
    kernel: Kernel, cpus: Processors, place: Path, console: Path, emulator: Emulator, options: argparse.Namespace
) -> tuple[dict[str, table.Result], dict[str, str], str]:
    """One boot: what came out of it, what else a row says, and why it fell silent, if it did. Raises Unavailable."""
    print(f"\n{kernel.release} ({kernel.package}), {cpus} CPUs", flush=True)
    file = place / f"unfinished-{kernel.release}-{cpus.online}-{_selection(options)}.json"
    before, tests = unfinished.load(file) if options.go_on else ({}, [])
    results = {name: before.get(name, table.Result()) for name in FRONT_ENDS}
    tests = tests or chosen(options.quick, options.only, options.exact)
    request = {"compile_inside": options.compile_inside, "tests": tests, "control_s": 0}
    disks = (guest_root.root_image(place), guest_root.tree(place, request))
    initramfs = guest_root.initramfs(kernel, place)
    told = {
        "kernel": kernel.release.removesuffix("-cloud-amd64"),
        "package": kernel.package,
        "tests": _selection(options),
        "compiled": "in the guest" if options.compile_inside else "outside",
        "date": date.today().isoformat(),
        "qemu": str(emulator),
        "bcc": _version("/usr/bin/python3", "-Ic", "import bcc; print(bcc.__version__)"),
    }
    left: list[str] = []
    end = time.monotonic() + 60 * (options.minutes or float("inf"))
    with machine.booted(emulator, kernel.image, initramfs, disks, cpus, console, options.bare, options.append) as guest:
        try:
            for message in guest.messages(SILENCE_S * (10 if options.compile_inside else 1)):
                _take(message, told, left, results)
                if time.monotonic() > end:
                    break
        except Silent as silent:
            for test in left:
                results[front_end_of(test)].failed[_short(test)] = f"no result: {silent}"
            return results, told, str(silent)
    unfinished.save(file, results, left)
    for test in left:
        results[front_end_of(test)].left.append(_short(test))
    return results, told, ""


def _selection(options: argparse.Namespace) -> str:
    """Which tests, as the table says it."""
    if options.only:
        return f"only {options.only}"
    return "quick" if options.quick else "exact" if options.exact else "all"


def _take(message: dict[str, Any], told: dict[str, str], left: list[str], results: dict[str, table.Result]) -> None:
    """Puts a message of the guest where it belongs, and shows it."""
    match message["event"]:
        case "booted":
            online, possible = (len(cpu_list(message[name])) for name in ("online", "possible"))
            told["CPUs"] = f"{online} of {possible}" if possible > online else str(online)
            print(f"  {time.strftime('%H:%M:%S')} booted {message['release']} with {told['CPUs']} CPUs", flush=True)
        case "chosen":
            left += message["tests"]
        case "broken":
            results[FRONT_ENDS[0]].failed[message["what"]] = "it cannot be imported"
            print(message["reason"])
        case "test":
            _count(message, results[front_end_of(message["test"])])
            with suppress(ValueError):
                left.remove(message["test"])
            print(f"  {time.strftime('%H:%M:%S')} {message['outcome']}: {_short(message['test'])}", flush=True)
            if message["outcome"] != "passed":
                print(message["reason"], flush=True)


def _count(message: dict[str, Any], result: table.Result) -> None:
    name, reason = _short(message["test"]), message["reason"]
    match message["outcome"]:
        case "passed":
            result.passed.append(name)
        case "rerun":
            result.repeated.append(name)
        case "skipped":
            result.skipped[name] = reason.removeprefix("Skipped: ")
        case _:
            result.failed[name] = _essence(reason)
            if name in result.passed:  # what comes after a test is part of it
                result.passed.remove(name)


def _essence(reason: str) -> str:
    """The line of a failure that says what is wrong."""
    told = [line[1:].strip() for line in reason.splitlines() if line.startswith("E ")]
    return (told or reason.splitlines() or ["no reason given"])[0][:120]


def _short(test: str) -> str:
    """The name of a test, with what its row does not say: `it[btf-clock-storm]` is `it[clock-storm]`."""
    name, _, parameters = test.split("::")[-1].removeprefix("test_").removesuffix("]").partition("[")
    more = re.sub(rf"^({'|'.join(FRONT_ENDS)})(-|$)", "", parameters)
    return f"{name}[{more}]" if more else name


def _version(*command: str) -> str:
    try:
        words = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        words = ""
    found = re.search(r"\d+(\.\d+)+", words)
    return found[0] if found else "unknown"


if __name__ == "__main__":
    main()
