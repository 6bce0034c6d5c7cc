"""`schedtop record`: its options, arguments and help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import NS_PER_S
from schedtop.cli.options import condition_option, only_option, source_options
from schedtop.cli.types import Duration, Size

if TYPE_CHECKING:
    from schedtop.run.signals import Signals

MAX_BYTES = 1 << 30
"""`outputs.recording.recorder.MAX_BYTES`; its module would bring numpy with it."""


@click.command("record")
@click.option("-o", "--output", metavar="FILE", required=True,
              help="Write there; a name that ends in .gz is compressed.")  # fmt: skip
@click.option("--duration", type=Duration(NS_PER_S // 5, 30 * 86_400 * NS_PER_S), metavar="TIME",
              help="How long, up to 720h. Without it: until Ctrl-C or SIGTERM; the status is then 0.")  # fmt: skip
@click.option("--interval", type=Duration(NS_PER_S // 5, 60 * NS_PER_S), default=NS_PER_S, metavar="TIME",
              help="The length of an interval, 0.2s to 60s.  [default: 1s]")  # fmt: skip
@click.option("--max-size", type=Size(64 << 10, 1 << 49), default=MAX_BYTES, metavar="SIZE",
              help="End, with status 1, before the file gets larger than this.  [default: 1GiB]")  # fmt: skip
@click.option("--activity", is_flag=True,
              help="Keep also what tasks do: system calls, files, memory, network.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@condition_option
@only_option
@source_options
@click.pass_obj
def record(signals: Signals, /, **options: Any) -> int:
    """Records what the dashboard would show.

    For `schedtop replay` and `schedtop report`. Each interval is written when it ends: a recorder that is killed loses
    only the interval under way.
    """
    from schedtop.commands.record import run  # late: --help and completion need only what stands above

    return run(signals, options)
