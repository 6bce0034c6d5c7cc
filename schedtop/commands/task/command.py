"""`schedtop task`: one task or process, looked at closely for a while."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from schedtop.base.units import NS_PER_MS, NS_PER_S, NS_PER_US
from schedtop.commands.options import Duration, Number, output_options, output_path

if TYPE_CHECKING:
    from schedtop.run.session import Signals


@click.command("task")
@click.argument("tid", type=Number(least=1), metavar="TID")
@click.option("--process/--thread", "whole_process", default=None,
              help="All threads of its process, or this alone.  [default: all, if TID is a process's]")  # fmt: skip
@click.option("--duration", type=Duration(NS_PER_S // 10, 3600 * NS_PER_S), default=5 * NS_PER_S, metavar="TIME",
              help="How long to look, 0.1s to 1h.  [default: 5s]")  # fmt: skip
@click.option("--interval", type=Duration(10 * NS_PER_MS, 10 * NS_PER_S), default=100 * NS_PER_MS, metavar="TIME",
              help="How much time a piece of the strip of states has, 10ms to 10s.  [default: 100ms]")  # fmt: skip
@click.option("--threshold", type=Duration(NS_PER_US, NS_PER_S, bare=False), default=NS_PER_MS, metavar="TIME",
              help="From here on a wait for a CPU is listed, with who had it, 1us to 1s.  [default: 1ms]")  # fmt: skip
@click.option("--slow-waits/--no-slow-waits", default=True,
              help="Look for slow waits; that watches all tasks of the host meanwhile.  [default: yes]")  # fmt: skip
@click.option("--format", "format_name", type=click.Choice(["text", "json"]), default="text",
              help="What to write.  [default: text]")  # fmt: skip
@output_options
@click.option("--source", type=click.Choice(["auto", "btf", "tracepoint"]), default="auto",
              help="How to see the kernel's events.  [default: auto]")  # fmt: skip
@click.option("--no-renice", is_flag=True, help="Leave the priority alone; as root it is raised.")
@click.pass_obj
def task(signals: Signals, /, **options: Any) -> int:
    """Looks at one task closely for a while, and tells what it did.

    States over time, waits and wakers, CPUs, system calls, page faults, reads and writes, network. TID is a thread's
    number, or a process's: then all its threads are looked at, those that it starts meanwhile, too. Ctrl-C ends it
    early and writes what there is.
    """
    from schedtop.outputs.files import check_target
    from schedtop.run.session import in_thread, progress, raise_priority

    output = output_path(options)
    if output:
        check_target(output, force=options["force"])
    if not options["no_renice"]:
        raise_priority()
    with progress("looking at it"):
        report = in_thread(lambda: _look(options, signals.stop), signals)
    # In a thread as well: a second ctrl-c ends it, should nobody read.
    in_thread(lambda: _write(report, output, force=options["force"]), signals)
    return 0


def _look(options: dict[str, Any], stop: threading.Event) -> str:
    """The report as text."""
    from schedtop.commands.task.waits import SlowWaits
    from schedtop.model.source import SourceError
    from schedtop.outputs.task.fields import to_json
    from schedtop.outputs.task.text import to_text
    from schedtop.sources.task.proc import ended_before, has_gone, identify, require_host_numbers
    from schedtop.sources.task.source import LiveTaskSource

    require_host_numbers()
    who = identify(options["tid"])
    whole = options["whole_process"]
    if whole is None:
        whole = who.tid == who.tgid
    threshold = options["threshold"] if options["slow_waits"] else None
    task_options = {"source": options["source"], "column_ns": options["interval"]}
    interval = min(options["duration"], NS_PER_S)
    try:
        with (
            SlowWaits(who.tgid, 0 if whole else who.tid, threshold, options["source"]) as waits,
            LiveTaskSource(who.tid, whole, interval, **task_options) as source,
        ):
            task = source.look(options["duration"], stop)
    except SourceError as error:
        raise (ended_before(who) if has_gone(who) else error) from error
    task = waits.added_to(task)
    early = "it was interrupted" if stop.is_set() and not task.ended else ""
    writers = {"json": to_json, "text": to_text}
    return writers[options["format_name"]](task, source.host, threshold, early)


def _write(report: str, output: Path | None, *, force: bool) -> None:
    from schedtop.outputs.files import write_file
    from schedtop.run.headless import write_stdout

    if output:
        write_file(output, report, force=force)
    else:
        write_stdout(report)
