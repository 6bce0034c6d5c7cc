"""`schedtop completion`: its options, arguments and help."""

from __future__ import annotations

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="SHELL")
def completion(shell: str) -> int:
    """Prints the completion script of a shell: bash, zsh or fish.

    `source <(schedtop completion bash)` in ~/.bashrc, the same with zsh in ~/.zshrc after compinit, or
    `schedtop completion fish | source` in ~/.config/fish/config.fish.
    """
    from schedtop.commands.completion import run  # late: --help and completion need only what stands above

    return run(shell)
