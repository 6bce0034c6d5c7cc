"""A Frame of plain values of JSON: what a line of a recording holds, described in docs/recording.md.

Nothing is rounded: a Frame that was written and read is the same Frame. What is read may come from anywhere: what
cannot be is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from schedtop.base.limits import FRAME_BYTES
from schedtop.base.units import format_bytes
from schedtop.model.cpus import decode_cpus
from schedtop.model.frame import Frame


def frame_of(
    data: dict[str, Any], times: dict[str, Any], cgroups: Mapping[int, str], kind: type[Frame] = Frame
) -> Frame:
    """The Frame of its fields. Whatever is wrong with them raises one of the errors of Python's own operations."""
    values: dict[str, Any] = {"cpus": decode_cpus(data["cpus"])}
    width = len(values["cpus"].online)
    claims = [part.claims(data[part.name], width) for part in kind.parts if part.name in data]
    if min(claims) < 0:
        raise ValueError("less than nothing")
    if sum(claims) > FRAME_BYTES:
        raise ValueError(f"an interval that would take {format_bytes(sum(claims))} of memory")
    missing: dict[str, str] = {}
    for part in kind.parts:
        if part.decode is None or part.name in values:
            continue
        if part.name not in data and part.missing is not None:
            missing |= {part.name: part.missing} if part.missing else {}
            values[part.name] = part.decode(None, width)
        else:
            values[part.name] = part.decode(data[part.name], width)
    unavailable = values["unavailable"]
    if "interrupts" not in data and "interrupts" in unavailable:
        # Its name before interrupts were timed.
        unavailable["woken_by"] = unavailable.pop("interrupts")
    values["unavailable"] = MappingProxyType(missing | unavailable)
    return kind(**times, **values, cgroups=cgroups)
