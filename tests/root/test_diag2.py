"""Page faults in a guest, not kept."""
import json, os, resource
from pathlib import Path
import pytest
from task_programs import program, kernel_counts
from test_activity import FAULTS, counting, row_of

MORE = """
import mmap
def stat(): 
    f = open("/proc/self/stat").read().rpartition(")")[2].split(); return int(f[7]), int(f[9])
def rss(): return [l for l in open("/proc/self/smaps_rollup").read().splitlines() if l.startswith(("Rss", "AnonHuge", "Shmem", "Private_Dirty"))]
def vm(): return {l.split()[0]: int(l.split()[1]) for l in open("/proc/vmstat") if l.startswith(("pgfault", "pgmajfault", "thp_file_alloc", "thp_fault_alloc"))}
TRUTH = {"a": stat(), "vm": vm()}
shared = mmap.mmap(-1, 4 << 20)
for page in range(0, 4 << 20, 4096): shared[page] = 1
TRUTH["shared"] = stat(); TRUTH["vm2"] = vm()
private = mmap.mmap(-1, 4 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for page in range(0, 4 << 20, 4096): private[page] = 1
TRUTH["private"] = stat(); TRUTH["vm3"] = vm()
r = resource.getrusage(resource.RUSAGE_SELF)
TRUTH["rusage"] = r.ru_minflt, r.ru_majflt
"""

def thp():
    d = Path("/sys/kernel/mm/transparent_hugepage")
    return {n: (d / n).read_text().strip() for n in ("enabled", "shmem_enabled") if (d / n).exists()}

def test_diag_faults():
    out = [thp()]
    with program(MORE) as one:
        one.go()
        out.append(("without", one.kernel, one.truth))
    for only in (("syscalls",), ("memory",)):
        with program(MORE) as one, counting(only=only) as taken:
            one.go()
            row = row_of(taken(), one.pid)
        out.append((only, one.kernel, one.truth, row["minor_faults"], row["major_faults"], row["fault_ns"]))
    pytest.fail("\n".join(map(str, out)))
