"""What a task of a mix does, at random, until it is killed: worker.py SEED DEPTH. It imports nothing of ours.

The same seed makes the same decisions; how long each takes is up to the host.
"""

import os
import random
import signal
import sys
import threading
import time

_FAMILY = 3
"""So many children that stay does one of these have, so many generations of them there are."""


def spin(seconds: float) -> None:
    """Takes CPU time of this thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def work(chance: random.Random) -> None:
    """One thing that a thread does with a CPU."""
    match chance.choice(("spin", "spin", "hog", "sleep", "sleep", "naps", "yield")):
        case "spin":
            spin(chance.uniform(0.0001, 0.01))
        case "hog":
            spin(chance.uniform(0.05, 0.4))
        case "sleep":
            time.sleep(chance.uniform(0.001, 0.1))
        case "naps":
            for _ in range(chance.randrange(200)):
                time.sleep(chance.uniform(0, 0.0005))
        case "yield":
            for _ in range(chance.randrange(500)):
                os.sched_yield()


def start_short(chance: random.Random) -> None:
    """Children that are gone at once: without doing anything, after some work, or as another program."""
    for _ in range(chance.randrange(1, 20)):
        kind, seconds = chance.choice(("exit", "spin", "exec")), chance.uniform(0, 0.003)
        if os.fork():
            continue
        if kind == "exec":
            os.execv("/bin/true", ["true"])
        spin(seconds if kind == "spin" else 0)
        os._exit(0)


def start_lasting(chance: random.Random, depth: int) -> None:
    """Children that stay, forked without a pause."""
    seeds = [chance.random() for _ in range(_FAMILY)]
    for seed in seeds:
        if not os.fork():
            live(random.Random(seed), depth + 1)


def start_thread(chance: random.Random) -> None:
    """Another thread; with this one it fights for the interpreter."""
    own = random.Random(chance.random())

    def run() -> None:
        while True:
            work(own)

    threading.Thread(target=run, daemon=True).start()


def exec_by_thread(chance: random.Random, depth: int) -> None:
    """A thread becomes the leader of another program; what the two had by then is written down."""
    leader, file = os.getpid(), f"{os.environ['SCHEDTOP_CHECK_EXECS']}/{os.getpid()}"
    task = f"/proc/self/task/{leader}"

    def read(path: str) -> str:
        with open(path) as opened:
            return opened.read()

    def run() -> None:
        spin(0.002)
        while read(f"{task}/stat").rpartition(")")[2].split()[0] != "S":  # it waits for us
            time.sleep(0.001)
        with open(file, "a") as told:
            told.write(f"{read(f'{task}/schedstat').strip()} {read('/proc/thread-self/schedstat').strip()}\n")
        again = [sys.executable, "-I", "-S", __file__, str(chance.random()), str(depth), file]
        os.execv(sys.executable, again)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def live(chance: random.Random, depth: int) -> None:
    """What a process does until it is killed."""
    families = 0
    while True:
        match chance.choices(("work", "short", "family", "thread", "exec", "exec by thread"), (90, 4, 2, 1, 1, 1))[0]:
            case "work":
                work(chance)
            case "short":
                start_short(chance)
            case "family" if depth < _FAMILY - 1 and not families:
                families += 1
                start_lasting(chance, depth)
            case "thread" if threading.active_count() < 3:
                start_thread(chance)
            case "exec by thread":
                exec_by_thread(chance, depth)
            case "exec":
                os.execv(sys.executable, [sys.executable, "-I", "-S", __file__, str(chance.random()), str(depth)])


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the dead
    if len(sys.argv) > 3:
        with open(sys.argv[3], "a") as written:
            written.write("done\n")
    live(random.Random(sys.argv[1]), int(sys.argv[2]))
