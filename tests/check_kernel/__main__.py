"""`make check-kernel [SECONDS=180]`: random mixes of tasks, and for each live one our numbers beside the kernel's.

    python -m tests.check_kernel [--seconds 180] [--seed N] [--front-end btf|btf-clock|tracepoint]
                                 [--only ACTIONS | --without ACTIONS] [--hotplug]

As root. It says the seed of each round; the same seed makes the same decisions again, though not in the same instants.
Exits with 1 if something differs.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import threading
import time
from contextlib import ExitStack

from schedtop.model.frame import Frame
from schedtop.sources.kernel.front_end import BY_CLOCK, choose_front_end
from schedtop.sources.scheduler.source import LiveSource
from tests.check_kernel.compare import CpuCounts, cpu_differences, differences, kernel_switches
from tests.check_kernel.cpu_switches import CpuSwitches
from tests.check_kernel.mix import ACTIONS, started

FRONT_ENDS = ("btf", BY_CLOCK, "tracepoint")
ROUND_S = 12.0
INTERVAL_NS = 500_000_000
THRESHOLD_NS = 5_000_000
MOST_SHOWN = 12


class Frames:
    """Collects the Frames of a block in a thread of its own: the last one begins after the block has ended."""

    def __init__(self, source: LiveSource, counters: CpuSwitches) -> None:
        self.frames: list[Frame] = []
        self.switches: list[CpuCounts] = []
        """What the kernel's counters said right after each Frame."""
        self._source = source
        self._counters = counters
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        for frame in self._source.frames(self._stop):
            self.switches.append(CpuCounts(self._counters.read(), kernel_switches()))
            self.frames.append(frame)

    def __enter__(self) -> Frames:
        self._thread.start()
        while not self.frames and self._thread.is_alive():
            time.sleep(0.02)
        return self

    def __exit__(self, *exc: object) -> None:
        end_ns = time.monotonic_ns()
        while self._thread.is_alive() and self.frames[-1].end_ns - self.frames[-1].interval_ns < end_ns:
            time.sleep(0.02)
        self._stop.set()
        self._thread.join()


def round_of(
    front_end: str, seed: int, seconds: float, actions: set[str], emulated: bool = False
) -> tuple[str, list[str]]:
    """One mix: what it was, and what differs. `emulated`: so is the processor."""
    by_account = front_end == "btf" and any("RQ_CLOCK_OFFSET" in flag for flag in choose_front_end("btf").flags)
    with ExitStack() as stack, LiveSource(INTERVAL_NS, THRESHOLD_NS, front_end) as source, CpuSwitches() as counters:
        with Frames(source, counters) as collector:
            mix = stack.enter_context(started(random.Random(seed), actions))
            count = mix.play(seconds)
            truth = mix.settle()
        frames = collector.frames
    delay = sum(kernel.run_delay_ns for kernel in truth.values()) / 1e9
    unseen = sum(frame.loss.switches_unseen for frame in frames)
    execs = sum(kernel.execs for kernel in truth.values())
    told = f"{count} actions, {len(truth)} live tasks, {delay:.1f} s of run delay, {unseen} switches unseen"
    told += f", {execs} execs by threads" if execs else ""
    told += f", {counters.why_not}" if counters.why_not else ""
    first, last = collector.switches[0], collector.switches[-1]
    # The counter of a CPU that goes stays away when it comes back.
    steady = {cpu for cpu in last.by_cpu if "hotplug" not in actions or cpu == 0}
    wrong = [*differences(frames, truth, by_account, emulated), *cpu_differences(frames[1:], first, last, steady)]
    return told, wrong


def main() -> int:
    """Rounds until the time is over; 1 if one has found something."""
    options = _arguments()
    if os.geteuid():
        sys.exit("make check-kernel: it loads BPF programs: use sudo")
    actions = set(options.only or ACTIONS) - set(options.without)
    if not options.hotplug and "hotplug" not in options.only:
        actions.discard("hotplug")
    front_ends = [options.front_end] if options.front_end else FRONT_ENDS
    end = time.monotonic() + options.seconds
    found = number = 0
    while time.monotonic() < end or number < len(front_ends):
        seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
        front_end = front_ends[number % len(front_ends)]
        number += 1
        told, wrong = round_of(front_end, seed, ROUND_S, actions)
        print(f"{front_end}, seed {seed}: {told}: {'FOUND' if wrong else 'ok'}", flush=True)
        for line in wrong[:MOST_SHOWN]:
            print(f"  {line}", flush=True)
        if len(wrong) > MOST_SHOWN:
            print(f"  and {len(wrong) - MOST_SHOWN} more", flush=True)
        found += bool(wrong)
    print(f"{number} rounds, {found} found something")
    return 1 if found else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--seed", type=int, help="each round with this seed")
    parser.add_argument("--front-end", choices=FRONT_ENDS)
    parser.add_argument("--only", type=_actions, default=[], metavar="A,B", help=f"of {', '.join(ACTIONS)}")
    parser.add_argument("--without", type=_actions, default=[], metavar="A,B")
    parser.add_argument("--hotplug", action="store_true", help="CPUs go and come: it disturbs all that runs here")
    return parser.parse_args()


def _actions(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(ACTIONS):
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: there are {', '.join(ACTIONS)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
