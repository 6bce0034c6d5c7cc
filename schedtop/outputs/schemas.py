"""The schemas of what can be read back, and the one that a file names."""

from __future__ import annotations

import re

from schedtop.outputs.plain import plain

SNAPSHOT = "schedtop.snapshot/1"
REPORT = "schedtop.report/1"
WAITS = "schedtop.waits/1"
FLEET = "schedtop.fleet/1"
READABLE = (SNAPSHOT, REPORT)

PEEK_BYTES = 4096
"""So much of a file is enough for `schema_of`."""

_SCHEMA = re.compile(rb'\s*\{\s*"schema"\s*:\s*"([^"]{1,60})"')


def schema_of(beginning: bytes) -> str:
    """The schema that a file names in its first bytes, empty if it does not."""
    found = _SCHEMA.match(beginning)
    return str(plain(found[1].decode("ascii", "replace"))) if found else ""
