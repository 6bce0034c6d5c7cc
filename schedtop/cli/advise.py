"""`schedtop advise`: its options, arguments and help."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import NS_PER_MS, NS_PER_S, NS_PER_US
from schedtop.cli.options import output_options
from schedtop.cli.types import Duration, SourceName

if TYPE_CHECKING:
    from schedtop.run.signals import Signals


@click.command("advise")
@click.argument("recording", required=False, type=click.Path(path_type=Path))
@click.option("--duration", type=Duration(NS_PER_S, 3600 * NS_PER_S), default=None, metavar="TIME",
              help="How long to watch the live kernel, 1s to 1h; Ctrl-C ends it early.  [default: 30s]")  # fmt: skip
@click.option("--cgroup", default="", metavar="PATH",
              help="Only cgroups with this in their path: a path, a unit, a container.")  # fmt: skip
@click.option("--format", "format_name", type=click.Choice(["text", "json"]), default="text",
              help="What to write.  [default: text]")  # fmt: skip
@output_options
@click.option("--threshold", type=Duration(10 * NS_PER_US, 100 * NS_PER_S, bare=False), default=NS_PER_MS,
              metavar="TIME", help="Keep single waits of at least this long.  [default: 1ms]")  # fmt: skip
@click.option("--source", type=SourceName(), default="auto",
              help="How to see what the kernel does; proc needs no privileges.  [default: auto]")  # fmt: skip
@click.option("--no-renice", is_flag=True, help="Leave the priority alone; as root it is raised.")
@click.pass_obj
def advise(signals: Signals, /, recording: Path | None, **options: Any) -> int:
    """Says which CPU quota would have been enough.

    For each cgroup that was throttled, in RECORDING or live: the threads that spend the quota, how long it lasts in a
    period, and the quota or burst that would have removed 50, 90 and 99 % of the throttled time, as a range. A
    recording needs no root.
    """
    from schedtop.commands.advise import run  # late: --help and completion need only what stands above

    return run(signals, recording, options)
