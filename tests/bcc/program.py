"""`python -m tests.bcc.program ROOT ARGUMENTS...`: schedtop itself, whose child processes have the bcc of another tree.

An empty ROOT: the bcc of this machine. Needs root, for the other tree is another root directory.
"""

from __future__ import annotations

import sys
from pathlib import Path

from schedtop.sources.kernel import compiler, symbols

CHECKOUT = Path(compiler.__file__).resolve().parents[3]

# The kernel's own directories and the checkout, seen from there; -B: nothing is written into it.
_ENTER = """
mount --rbind /proc "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind "$1" "$0/schedtop" || exit 9
shift
export BCC_KERNEL_SOURCE=/schedtop/bpf
exec chroot "$0" /usr/bin/python3 -BI /schedtop/schedtop/sources/kernel/bcc_child.py "$@"
"""


def command_in(root: str, job: str, *arguments: str) -> list[str]:
    """The command that does a job of schedtop's children within another tree."""
    private = ["unshare", "--mount", "--propagation", "private"]
    return [*private, "sh", "-c", _ENTER, root, str(CHECKOUT), job, *arguments]


def main() -> int:
    """Runs schedtop; gives its exit status."""
    root = sys.argv[1]
    if root:
        compiler.bcc_command = symbols.bcc_command = lambda *job: command_in(root, *job)  # type: ignore[attr-defined]
    from schedtop.cli import main as schedtop

    return schedtop(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
