"""`schedtop watch`: its options, arguments and help."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import NS_PER_S
from schedtop.cli.options import source_options, trigger_options
from schedtop.cli.types import Duration, Number

if TYPE_CHECKING:
    from schedtop.run.signals import Signals

NOT_FIRED = 3
"""The exit status when the time is over and what was waited for did not happen (often enough)."""


@click.command("watch")
@partial(trigger_options, screen=False)
@click.option("--export-dir", default=".", metavar="DIR", help="Where files go.  [default: .]")
@click.option("--count", type=Number(), metavar="N",
              help="End with status 0 after N firings, once their actions are done.")  # fmt: skip
@click.option("--once", is_flag=True, help="The same as --count 1.")
@click.option("--duration", type=Duration(NS_PER_S // 5, 30 * 86_400 * NS_PER_S), metavar="TIME",
              help=f"How long, up to 720h. The status is {NOT_FIRED} if it did not fire (N times).")  # fmt: skip
@click.option("--interval", type=Duration(NS_PER_S // 5, 60 * NS_PER_S), default=NS_PER_S, metavar="TIME",
              help="How often it looks, 0.2s to 60s.  [default: 1s]")  # fmt: skip
@source_options
@click.pass_obj
def watch(signals: Signals, /, **options: Any) -> int:
    """Waits for a condition, then does what --then says.

    A line has time, condition and values, with tabs between them. Results of files and commands go to standard error.
    It runs until you stop it, or until --count or --duration is reached.
    """
    from schedtop.commands.watch import run  # late: --help and completion need only what stands above

    return run(signals, options)
