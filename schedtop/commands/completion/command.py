"""`schedtop completion`: the scripts that complete command lines."""

from __future__ import annotations

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="SHELL")
def completion(shell: str) -> int:
    """Prints the script that completes command lines of schedtop in SHELL: bash, zsh or fish.

    `source <(schedtop completion bash)` in ~/.bashrc, the same with zsh in ~/.zshrc after compinit, or
    `schedtop completion fish | source` in ~/.config/fish/config.fish.
    """
    from importlib.resources import files  # it imports much, and each start would pay

    from schedtop.run.headless import write_stdout

    write_stdout((files("schedtop") / "completions" / f"schedtop.{shell}").read_text(encoding="utf-8"))
    return 0
