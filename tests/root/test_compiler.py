"""What bcc is kept from doing: code for the values of maps that are large."""

import subprocess

import pytest

from schedtop.base.environment import child_environment
from schedtop.sources.kernel.bcc_child import DISTRIBUTION
from schedtop.sources.kernel.program_text import program_text, source_directory

PRINT = """
import ctypes, sys, bcc
module, lib = bcc.BPF(text=sys.argv[1]), bcc.lib
value, text = ctypes.create_string_buffer(64), ctypes.create_string_buffer(256)
print("compiled", flush=True)
lib.bpf_table_leaf_snprintf.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_ulonglong, ctypes.c_void_p
]
number = lib.bpf_table_id(module.module, b"large")
sys.exit(lib.bpf_table_leaf_snprintf(module.module, number, text, len(text), value))
"""

PROGRAM = """
struct numbers { u64 of[8]; };
BPF_F_TABLE("array", u32, struct numbers, large, 1, BPF_F_MMAPABLE);
int program(void *ctx)
{
    u32 zero = 0;
    struct numbers *found = large.lookup(&zero);

    return found ? found->of[0] : 0;
}
"""


@pytest.mark.beside
@pytest.mark.parametrize(("declared", "printed"), [("", True), ("UNPRINTED(large);", False)])
def test_bcc_makes_no_code_that_prints_a_map_declared_unprinted(declared: str, printed: bool) -> None:
    directory = source_directory()
    done = subprocess.run(
        [DISTRIBUTION, "-I", "-c", PRINT, program_text(directory, "memory.h") + declared + PROGRAM],
        env=child_environment(BCC_KERNEL_SOURCE=str(directory)),
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
    )
    assert done.stdout == "compiled\n", done.stderr
    # libbcc ends the process when it is to call code that it has not made.
    assert (done.returncode == 0) == printed, done.stderr
