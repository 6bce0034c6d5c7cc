"""Whether interrupts can be timed here (`--interrupts`), which kinds, and whether softirqs tell what raised them."""

from __future__ import annotations

from schedtop.base.finding import Finding
from schedtop.model.source import SourceError
from schedtop.sources.interrupts.front_end import RAISE, WITHOUT_BTF, front_end_of, vectors
from schedtop.sources.kernel.btf import Btf

NAME = "interrupts"
_LOST = "the time of interrupts (--interrupts, key I)"


def interrupts(btf: Btf | None) -> Finding:
    """What of the kernel's types is needed for it."""
    if btf is None:
        return Finding(NAME, "degraded", WITHOUT_BTF, _LOST)
    try:
        front_end = front_end_of(btf)
    except SourceError as error:
        return Finding(NAME, "degraded", str(error), _LOST)
    timed = [name for name in vectors() if f"{name}_entry" in front_end.events]
    details = {
        "softirqs": "softirq_entry" in front_end.events,
        "raisers": RAISE in front_end.events,
        "vectors": timed,
    }
    kinds = ["devices", *(["softirqs"] if details["softirqs"] else []), *(["vectors"] if timed else [])]
    found = f"{' and '.join((', '.join(kinds[:-1]), kinds[-1])) if len(kinds) > 1 else kinds[0]} can be timed"
    if not details["softirqs"]:
        return Finding(NAME, "degraded", found, "softirqs: a real-time kernel runs them as tasks", details=details)
    if not details["raisers"]:
        return Finding(NAME, "degraded", found, "what raised a softirq", details=details)
    return Finding(NAME, "ok", found, details=details)
