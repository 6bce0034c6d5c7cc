"""The forms that an off-CPU measurement is written in, by their names on the command line."""

from __future__ import annotations

from collections.abc import Callable

from schedtop.offcpu.measurement import OffCpu
from schedtop.outputs.offcpu.asked import Asked
from schedtop.outputs.offcpu.document import to_json
from schedtop.outputs.offcpu.stacks import to_folded, to_svg
from schedtop.outputs.offcpu.text import to_text

FORMATS: dict[str, Callable[[OffCpu, Asked], str]] = {
    "text": to_text,
    "json": to_json,
    "folded": to_folded,
    "svg": to_svg,
}
