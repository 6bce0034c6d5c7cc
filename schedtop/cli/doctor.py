"""`schedtop doctor`: its options, arguments and help."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from schedtop.run.signals import Signals


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as docs/doctor.md describes it.")
@click.option("-v", "--verbose", is_flag=True,
              help="Each field of the tracepoints, and the self-test through both front ends.")  # fmt: skip
@click.option("--self-test/--no-self-test", "tests", default=True, help="A second of counting beside the kernel.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Print ASCII characters only.")
@click.option(
    "--no-renice",
    is_flag=True,
    expose_value=False,
    help="Leave the priority alone; as root it is raised for the self-test.",
)
@click.pass_obj
def doctor(signals: Signals, /, *, as_json: bool, verbose: bool, tests: bool, ascii_only: bool) -> int:
    """Checks whether schedtop works on this host.

    Each line is ok, degraded (something is lost) or missing (the kernel programs do not work), with what you lose and
    the command that fixes it. The self-test counts switches for a second and compares them with the kernel's numbers.

    The exit status is 0 if the kernel programs work here, degraded or not, and 1 if something is missing for them.
    """
    from schedtop.commands.doctor import run  # late: --help and completion need only what stands above

    return run(signals, as_json=as_json, verbose=verbose, tests=tests, ascii_only=ascii_only)
