"""What is fuzzed: a function for each parser, which raises if the parser breaks its word, and only then.

The word of all of them: whatever it is given, the documented error or an answer comes out, soon, and without filling
the memory; and no text that comes out can steer a terminal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from schedtop.base.limits import READING_BYTES
from tests.fuzz.memory import within
from tests.fuzz.targets import expressions, files, kernel, recordings

SEEDS = Path(__file__).parents[1] / "seeds"


@dataclass(frozen=True, slots=True)
class Target:
    """A parser: `run` gives it an input; `is_json`: its inputs are lines of JSON; `longest`: bytes of an input.

    `most_bytes`: the memory that an input may take, whatever it claims to hold; `longest_s`: the time, of which what is
    instrumented takes ten times as much.
    """

    name: str
    run: Callable[[bytes], None]
    is_json: bool = False
    longest: int = 4096
    most_bytes: int = 64 << 20
    longest_s: int = 20

    def run_within(self, data: bytes) -> None:
        """Gives it an input. Raises MemoryError if that takes too much memory, and what the parser should not raise."""
        with within(self.most_bytes):
            self.run(data)


TARGETS = {
    target.name: target
    for target in (
        Target("recording", recordings.recording, is_json=True, longest=1 << 16, most_bytes=READING_BYTES),
        Target("packed", recordings.packed, longest=1 << 16, most_bytes=READING_BYTES),
        Target("inflated", recordings.inflated, is_json=True, longest=1 << 16, most_bytes=READING_BYTES, longest_s=120),
        Target("frame", recordings.frame, is_json=True, longest=1 << 16, most_bytes=READING_BYTES),
        Target("saved", files.saved, is_json=True, longest=1 << 16),
        Target(
            "inflated-saved", files.inflated, is_json=True, longest=1 << 16, most_bytes=READING_BYTES, longest_s=120
        ),
        Target("config", files.config),
        Target("trigger", expressions.trigger, longest=600),
        Target("filter", expressions.filters, longest=600),
        Target("keys", expressions.keys, longest=300),
        Target("units", expressions.units, longest=300),
        Target("names", expressions.names, longest=600),
        Target("btf", kernel.btf, longest=1 << 16),
        Target("tracefs", kernel.tracefs),
        Target("proc", kernel.proc),
        Target("tasks", kernel.tasks),
    )
}
