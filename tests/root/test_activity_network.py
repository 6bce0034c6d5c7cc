"""Activity of connections against what the kernel counts in a network namespace that a program has for itself."""

from __future__ import annotations

import pytest
from test_activity import seen_of

from schedtop.activity.activity import Activity
from schedtop.model.rows import Rows

pytestmark = pytest.mark.beside

ALONE = """
import ctypes, fcntl, struct
if ctypes.CDLL(None).unshare(0x40000000): os._exit(77)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh22x", b"lo", 0x41))  # SIOCSIFFLAGS: up, running

def counters(name):
    lines = open(f"/proc/thread-self/net/{name}").read().splitlines()
    found = {}
    for names, values in zip(lines[::2], lines[1::2]):
        group, *names = names.split()
        found.update(zip((group + each for each in names), map(int, values.split()[1:])))
    return found

def kernel():
    return counters("snmp") | counters("netstat")

listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(50)
place = listener.getsockname()
"""

RESETS = (
    ALONE
    + """
for number in range(6):
    near = socket.create_connection(place)
    far, _ = listener.accept()
    near.send(b"x" * 100)
    far.send(b"y" * 10)
    far.recv(1)
    (far if number % 2 else near).close()  # with data unread: a reset
    time.sleep(0.01)
    near.close(); far.close()
for number in range(4):
    near = socket.create_connection(place)
    far, _ = listener.accept()
    far.send(b"z" * 500)
    near.recv(1000)
    near.close(); far.close()
time.sleep(0.05)
one, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
other.bind(("127.0.0.1", 0))
for _ in range(12):
    one.sendto(b"d" * 50, other.getsockname())
    other.recv(100)
TRUTH = kernel()
"""
)

LOST = (
    ALONE
    + """
full = socket.socket()
full.bind(("127.0.0.1", 0))
full.listen(0)
first = socket.create_connection(full.getsockname())
second = socket.socket()
second.setblocking(False)
second.connect_ex(full.getsockname())
time.sleep(1.3)
second.close()
TRUTH = kernel()
"""
)


def test_connections_resets_segments_and_datagrams_are_those_of_snmp_and_netstat(front_end: str) -> None:
    one, row, activity = seen_of(RESETS, source=front_end)
    truth = one.truth
    assert (
        (row["tcp_connects"], row["tcp_failures"]) == (truth["Tcp:ActiveOpens"], truth["Tcp:AttemptFails"]) == (10, 0)
    )
    assert truth["TcpExt:TCPAbortOnClose"] == 6
    # Both ends of each are in this process.
    assert row["tcp_resets"] == truth["Tcp:EstabResets"] >= 6
    assert (row["udp_tx_packets"], row["udp_rx_packets"]) == (truth["Udp:OutDatagrams"], truth["Udp:InDatagrams"])
    assert row["tcp_retransmits"] == truth["Tcp:RetransSegs"] == 0
    if front_end == "tracepoint":
        return
    assert row["tcp_accepts"] == truth["Tcp:PassiveOpens"]
    assert truth["Tcp:CurrEstab"] == row["tcp_connections"] == 0
    # The kernel may count what comes before there is a connection, a SYN and its answer, and resets, in snmp alone.
    before = truth["Tcp:PassiveOpens"] + truth["Tcp:OutRsts"]
    assert 0 <= truth["Tcp:InSegs"] - row["tcp_rx_packets"] <= before
    assert 0 <= truth["Tcp:OutSegs"] - row["tcp_tx_packets"] <= before
    assert not activity.loss.any


def test_a_connect_without_an_answer_is_a_failure_with_its_retransmit(front_end: str) -> None:
    one, row, _ = seen_of(LOST, source=front_end)
    assert one.truth["TcpExt:ListenOverflows"] >= 1
    assert row["tcp_retransmits"] == one.truth["TcpExt:TCPSynRetrans"] == one.truth["Tcp:RetransSegs"] >= 1
    assert (row["tcp_connects"], row["tcp_failures"]) == (2, 1)


DEAD = """
import struct
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(20)
for _ in range(5):
    near = socket.create_connection(listener.getsockname())
    near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    near.close()  # a reset, before it is accepted
for _ in range(5):
    far, _ = listener.accept()
    for _ in range(2):
        try: far.send(b"x")
        except OSError: pass
near = socket.create_connection(listener.getsockname())
TRUTH = {}
"""


def test_connections_that_have_ended_are_not_open_whatever_is_done_with_them() -> None:
    _, row, _ = seen_of(DEAD)
    assert (row["tcp_connects"], row["tcp_accepts"]) == (6, 5)
    assert row["tcp_connections"] == 1
    assert row["tcp_resets"] == 5, "the other five have no owner yet"


TURNS = """
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
near = socket.create_connection(listener.getsockname())
far, _ = listener.accept()
turn = threading.Semaphore(0), threading.Semaphore(0)
def work(which, times):
    TRUTH[which] = threading.get_native_id()
    for _ in range(times):
        turn[which].acquire()
        near.send(b"x")
        far.recv(10)
        turn[1 - which].release()
threads = [threading.Thread(target=work, args=args) for args in ((0, 2), (1, 1))]
for thread in threads: thread.start()
turn[0].release()
for thread in threads: thread.join()
"""


def of_thread(rows: Rows, tid: int) -> Rows:
    return rows[rows["tid"] == tid]


def connections(activity: Activity, tid: int) -> int:
    return int(of_thread(activity.connections, tid)["tcp_connections"].sum())


def test_a_connection_is_of_the_thread_that_sent_last() -> None:
    """The first thread, the second, and the first once more."""
    one, row, activity = seen_of(TURNS, only=("network",))
    first, second = one.truth["0"], one.truth["1"]
    assert (row["tcp_connections"], row["tcp_tx_bytes"]) == (2, 3)
    assert (connections(activity, first), connections(activity, second)) == (1, 0)
    segments = [int(of_thread(activity.rows, tid)["tcp_tx_packets"].sum()) for tid in (first, second)]
    assert min(segments) >= 1, "what a connection has sent stays with the thread that had it"
