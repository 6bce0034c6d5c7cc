"""`schedtop completion`: the scripts that complete command lines."""

from __future__ import annotations

from importlib.resources import files

from schedtop.run.stdout import write_stdout


def run(shell: str) -> int:
    """Prints the script for a shell; gives the exit status."""
    write_stdout((files("schedtop") / "completions" / f"schedtop.{shell}").read_text(encoding="utf-8"))
    return 0
