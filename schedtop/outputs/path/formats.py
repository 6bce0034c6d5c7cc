"""The forms that paths are written in, by their names on the command line."""

from __future__ import annotations

from collections.abc import Callable

from schedtop.outputs.path.document import to_json
from schedtop.outputs.path.stacks import to_folded, to_svg
from schedtop.outputs.path.text import to_text
from schedtop.path.paths import Paths

FORMATS: dict[str, Callable[[Paths], str]] = {
    "text": to_text,
    "json": to_json,
    "folded": to_folded,
    "svg": to_svg,
}
