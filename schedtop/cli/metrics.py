"""`schedtop metrics`: its options, arguments and help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import NS_PER_S
from schedtop.cli.options import no_empty, only_option, source_options
from schedtop.cli.types import Duration, Number

if TYPE_CHECKING:
    from schedtop.run.signals import Signals

DEFAULT_ADDRESS = "127.0.0.1:9435"
MOST_SERIES = 1000


@click.command("metrics")
@click.option("--listen", default=DEFAULT_ADDRESS, metavar="HOST:PORT",
              help=f"Where to serve: also [IPv6]:PORT, or unix:PATH.  [default: {DEFAULT_ADDRESS}]")  # fmt: skip
@click.option("--socket-group", metavar="GROUP",
              help="The group that may read a UNIX socket.  [default: the group of schedtop]")  # fmt: skip
@click.option("--host-name", multiple=True, metavar="HOST", callback=no_empty,
              help="Also answer requests for this name of the host (repeatable); see docs/metrics.md.")  # fmt: skip
@click.option("--allow-remote", is_flag=True, help="Also serve an address that others can reach. There is no password.")
@click.option("--interval", type=Duration(NS_PER_S // 5, 60 * NS_PER_S), default=NS_PER_S, metavar="TIME",
              help="How often the kernel is read, 0.2s to 60s.  [default: 1s]")  # fmt: skip
@click.option("--by", type=click.Choice(["cgroup", "process", "container"]), default="cgroup",
              help="How to group run delay and run time.  [default: cgroup]")  # fmt: skip
@click.option("--top", type=Number(), default=50, metavar="N",
              help=f"How many of them get series of their own, up to {MOST_SERIES}.  [default: 50]")  # fmt: skip
@click.option("--activity", is_flag=True,
              help="Count also what tasks do: system calls, files, memory, network.")  # fmt: skip
@click.option("--per-cpu/--no-per-cpu", default=True, help="One series a CPU, or only their sum.  [default: per CPU]")
@only_option
@source_options
@click.pass_obj
def metrics(signals: Signals, /, **options: Any) -> int:
    """Serves counters and histograms to Prometheus.

    It runs until you stop it. docs/metrics-names.md has all names.
    """
    from schedtop.commands.metrics import run  # late: --help and completion need only what stands above

    return run(signals, options)


# Groups are told by --by: those of the kernel side, with a histogram each, would be too many series.


metrics.params = [param for param in metrics.params if param.name != "group"]
