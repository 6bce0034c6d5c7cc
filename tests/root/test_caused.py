"""The longest wait that schedtop caused, beside loads whose bursts are known: its own, and those of others."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from loads import ended, python

pytestmark = pytest.mark.root

FAKE = """
import hashlib, json, os, sys, threading, time
from schedtop.sources.scheduler.source import LiveSource

burst_ns, front_end = int(sys.argv[1]), sys.argv[2]
stop, done, bursts = threading.Event(), threading.Event(), []

def burn(rounds):
    begin = time.thread_time_ns()
    hashlib.pbkdf2_hmac("sha256", b"", b"", rounds)  # without a pause, and without the interpreter's lock
    return time.thread_time_ns() - begin

def hog():
    os.sched_setaffinity(0, {1})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    rounds = max(1, 20_000 * burst_ns // burn(20_000))
    while not stop.wait(0.1):
        bursts.append(burn(rounds))

with LiveSource(200_000_000, 5_000_000, front_end) as source:
    frames = source.frames(done)
    first = next(frames)
    thread = threading.Thread(target=hog)
    if burst_ns:
        thread.start()
    taken = [next(frames) for _ in range(5)]
    stop.set()
    if burst_ns:
        thread.join()
    taken.append(next(frames))
    done.set()
whole = sum(taken[1:], taken[0])
pairs = whole.pairs[["victim_tid", "other_tid", "waits", "blocked_ns"]].tolist()
print(json.dumps({
    "pid": os.getpid(), "thread": thread.native_id, "bursts": bursts, "pairs": pairs,
    "caused_ns": whole.overhead.longest_caused_wait_ns,
    "each_ns": [one.overhead.longest_caused_wait_ns for one in taken],
}))
"""

HOG = """
import hashlib, os, sys, time
os.sched_setaffinity(0, {1})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
begin = time.thread_time_ns()
hashlib.pbkdf2_hmac("sha256", b"", b"", 20_000)
rounds = 20_000 * int(sys.argv[1]) // (time.thread_time_ns() - begin)
while True:
    time.sleep(0.1)
    hashlib.pbkdf2_hmac("sha256", b"", b"", rounds)
"""

LOOP = "import os\nos.sched_setaffinity(0, {1})\nwhile True: pass"


def report(burst_ns: int, front_end: str) -> dict:
    """What a program that measures, and has bursts of its own, says of itself."""
    done = subprocess.run(
        [sys.executable, "-c", FAKE, str(burst_ns), front_end],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("front_end", ["btf", "tracepoint"])
def test_own_burst_is_the_longest_wait_that_it_caused(front_end: str) -> None:
    loops = [python(LOOP) for _ in range(2)]
    with ended(*loops):
        found = report(20_000_000, front_end)
    victims = {loop.pid for loop in loops}
    ours = [pair for pair in found["pairs"] if pair[0] in victims and pair[1] == found["thread"]]
    assert ours, "nothing waited for the bursts"
    average_ns = max(blocked_ns / waits for _, _, waits, blocked_ns in ours if waits)
    # A burst is CPU time; an interrupt or the hypervisor in its midst only makes the wait longer.
    assert found["caused_ns"] >= max(average_ns, 0.9 * sorted(found["bursts"])[len(found["bursts"]) // 2])
    assert found["caused_ns"] == max(found["each_ns"])


def test_bursts_of_another_program_are_not_ours() -> None:
    burst_ns = 80_000_000
    loops, hog = [python(LOOP) for _ in range(2)], python(HOG, str(burst_ns))
    with ended(*loops, hog):
        found = report(0, "auto")
    blocked = [pair for pair in found["pairs"] if pair[1] == hog.pid and pair[2]]
    assert max(blocked_ns / waits for _, _, waits, blocked_ns in blocked) > burst_ns / 2
    assert found["caused_ns"] < burst_ns / 2
