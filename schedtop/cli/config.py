"""`schedtop config`: its options, arguments and help."""

from __future__ import annotations

import click

from schedtop.cli.options import config_option


@click.command("config")
@click.option("--path", is_flag=True, help="Print only where the file is, or would be.")
@config_option
def config(*, path: bool, no_config: bool) -> int:
    """Prints the config in effect.

    Each key has its meaning, what it takes and its default. The output is a config file itself. Errors in the file go
    to standard error; the status is then 1.
    """
    from schedtop.commands.config import run  # late: --help and completion need only what stands above

    return run(path=path, no_config=no_config)
