"""What the programs read of tracepoints' records, by their own text, against what tracefs says of these records.

A load has a fixed width in C. If it is wider than the field, it reads what lies beside that; if it is not aligned, the
verifier refuses it with pages of text; if it is narrower, and the high bytes come first, it reads the wrong half.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from schedtop.model.source import SourceError
from schedtop.sources.kernel.constants import SCHEDULER
from schedtop.sources.kernel.program_text import program_text, source_directory
from schedtop.sources.kernel.tracefs import Field

_PROGRAM = re.compile(r"^int tracepoint_(\w+)\(", re.MULTILINE)
_LOAD = re.compile(r"\bFIELD\([us](?P<bits>\d+),\s*ctx,\s*(?P<macro>[A-Z]\w*)_FIELD(?:\s*\+\s*(?P<after>\d+))?\)")
_NAME = re.compile(r"\bCOPY(?P<aligned>_ALIGNED)?_NAME\(\w[\w>.-]*,\s*ctx,\s*(?P<macro>[A-Z]\w*)_FIELD\)")
_BYTES = ("char", "__u8")


@dataclass(frozen=True, slots=True)
class Load:
    """Of a field, `width` bytes up to `end` from its beginning. `is_name`: of an array, else it is not read at all."""

    event: str
    field: str
    width: int
    end: int
    is_name: bool = False

    def misfit(self, field: Field | None, byteorder: str = sys.byteorder) -> str:
        """Why it cannot be done on a kernel with that field (`None`: with none of the name); empty: it can."""
        if field is None:
            return f"has no {self.field}"
        if self.is_name and field.size != self.end:
            return ""
        if (field.offset + self.end) % self.width:
            return f"has {self.field} at byte {field.offset}, where {self.width} bytes cannot be read at a time"
        narrow = byteorder == "big" and field.type not in _BYTES and self.end < field.size
        if self.end > field.size or narrow:
            return f"has {self.field} as {field.size} bytes, not {self.end}"
        return ""


def macro_prefix(event: str) -> str:
    """What the macros of a tracepoint's fields begin with: SWITCH for sched_switch."""
    return event.removeprefix("sched_").removeprefix("process_").upper().removesuffix("_TASK")


def check_records(program: str, present: Mapping[str, Mapping[str, Field]]) -> None:
    """Raises SourceError, one line, unless the tracepoints that are `present` have what a .c file of bpf/ reads."""
    for load in loads_of(program):
        fields = present.get(load.event)
        if fields is not None and (why := load.misfit(fields.get(load.field))):
            raise SourceError(f"the record of this kernel's tracepoint {load.event} {why}; use --source btf or proc")


@lru_cache
def loads_of(program: str) -> tuple[Load, ...]:
    """What a .c file of bpf/ reads of records."""
    return loads_in(program_text(source_directory(), program))


def loads_in(text: str) -> tuple[Load, ...]:
    """What a text in C reads of records, once each, in order."""
    prefixes = {macro_prefix(event): event for event in _PROGRAM.findall(text)}
    # WAKEUP_PID is of sched_wakeup, WAKEUP_NEW_PID of sched_wakeup_new.
    longest_first = sorted(prefixes, key=len, reverse=True)
    found = []
    for match in (*_LOAD.finditer(text), *_NAME.finditer(text)):
        prefix = next((each for each in longest_first if match["macro"].startswith(f"{each}_")), None)
        if prefix is None:
            continue
        place = prefixes[prefix], match["macro"].removeprefix(f"{prefix}_").lower()
        if match.re is _LOAD:
            width = int(match["bits"]) // 8
            found.append(Load(*place, width, int(match["after"] or 0) + width))
        else:
            found.append(Load(*place, 8 if match["aligned"] else 4, SCHEDULER.COMM_BYTES, is_name=True))
    return tuple(dict.fromkeys(found))
