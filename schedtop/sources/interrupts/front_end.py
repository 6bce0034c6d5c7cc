"""Where the programs that time interrupts are attached (bpf/interrupts/btf.c): by BTF-typed tracepoints alone."""

from __future__ import annotations

import platform
from dataclasses import replace

from schedtop.model.source import SourceError
from schedtop.sources.kernel.btf import KERNEL_BTF, Btf, BtfError
from schedtop.sources.kernel.constants import INTERRUPTS
from schedtop.sources.kernel.front_end import FrontEnd
from schedtop.sources.kernel.kept_btf import with_kept_btf
from schedtop.sources.kernel.offsets import interrupt_flags, offset_flags, tells_interrupts

WITHOUT_BTF = "the kernel's BTF is needed to time interrupts"
WITHOUT_TRACEPOINTS = "this kernel's BTF has no tracepoints of device interrupts and softirqs"

DEVICES, SOFTIRQS = "irq_handler", "softirq"
RAISE = "softirq_raise"
BLOCK_DONE = ("block_rq_complete", "block_bio_complete")


def vectors() -> tuple[str, ...]:
    """The tracepoints of x86's vectors that there may be, without `_entry` and `_exit`, in the order of sources."""
    return INTERRUPTS.names("VECTOR")


def softirqs() -> tuple[str, ...]:
    """The softirqs as /proc/softirqs names them, in the order of the kernel's numbers."""
    return tuple(name.upper() for name in INTERRUPTS.names("SOFTIRQ"))


def runs_softirqs_in_tasks(version: str | None = None) -> bool:
    """Whether it is a real-time kernel: there softirqs are part of tasks, which are switched while one is under way."""
    return "PREEMPT_RT" in (version or platform.version())


def interrupt_front_end(completions: bool = False) -> FrontEnd:
    """For the running kernel; `completions`: with block I/O that is done, where the kernel tells it.

    Raises SourceError, one sentence, where interrupts cannot be timed.
    """
    try:
        front_end = with_kept_btf(front_end_of, KERNEL_BTF)
    except BtfError as error:
        raise SourceError(WITHOUT_BTF) from error
    if completions:
        return front_end
    return replace(front_end, events={name: on for name, on in front_end.events.items() if name not in BLOCK_DONE})


def front_end_of(btf: Btf) -> FrontEnd:
    """For a kernel with these types. Raises SourceError, BtfError."""
    wanted = [DEVICES, *([] if runs_softirqs_in_tasks() else [SOFTIRQS]), *vectors()]
    # The beginnings first: an end that is seen has a beginning that was seen.
    pairs = [each for each in wanted if all(btf.has_typedef(_typedef(each, when)) for when in ("entry", "exit"))]
    flags = offset_flags(btf, IRQACTION_NEXT=("irqaction", "next"))
    if DEVICES not in pairs or not flags:
        raise SourceError(WITHOUT_TRACEPOINTS)
    events = {f"{each}_{when}": btf.typedef_id(_typedef(each, when)) for when in ("entry", "exit") for each in pairs}
    missing = tuple(each for each in wanted if each not in pairs)
    # What raises a softirq is the current task, unless that is interrupted.
    levels = interrupt_flags(btf)
    if SOFTIRQS in pairs and tells_interrupts(levels) and btf.has_typedef(f"btf_trace_{RAISE}"):
        # The last: what is attached before it sees the end of each softirq that begins.
        events[RAISE] = btf.typedef_id(f"btf_trace_{RAISE}")
        flags += levels
    # bio.bi_bdev is of 5.12 and later; by then request.part is a block_device.
    device = offset_flags(
        btf,
        BIO_BDEV=("bio", "bi_bdev"),
        BDEV_NUMBER=("block_device", "bd_dev"),
        REQUEST_BIO=("request", "bio"),
        REQUEST_PART=("request", "part"),
    )
    if device and all(btf.has_typedef(f"btf_trace_{each}") for each in BLOCK_DONE):
        events |= {each: btf.typedef_id(f"btf_trace_{each}") for each in BLOCK_DONE}
        flags += device
    return FrontEnd("btf", tuple(flags), events, missing)


def _typedef(source: str, when: str) -> str:
    return f"btf_trace_{source}_{when}"
