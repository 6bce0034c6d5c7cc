"""Traces as files: which ones, what they are called, and how they come to the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from schedtop.capture.events import Capture
from schedtop.outputs.capture.chrome import chrome_trace
from schedtop.outputs.capture.tracks import Track
from schedtop.outputs.files import write_file
from schedtop.outputs.names import file_stem

ENDINGS = {"perfetto": (".perfetto-trace", ".pftrace"), "chrome": (".json",)}
"""The formats, and the endings that stand for them; the first one is added to a name that has none."""


def trace_paths(output: Path, wanted: str | None) -> dict[str, Path]:
    """The file of each format. `wanted`: one of them, `both`, or `None`: the name's ending decides, without one: both.

    Raises ValueError, with a sentence, where the ending stands for another format.
    """
    ending = next((ending for endings in ENDINGS.values() for ending in endings if output.name.endswith(ending)), "")
    stands_for = next((name for name, endings in ENDINGS.items() if ending in endings), None)
    chosen = wanted or stands_for or "both"
    if chosen == "both":
        base = output.name.removesuffix(ending)
        return {name: output.with_name(f"{base}{endings[0]}") for name, endings in ENDINGS.items()}
    if ending and stands_for != chosen:
        raise ValueError(f"{output.name} ends like a {stands_for} trace, and the format is {chosen}")
    return {chosen: output if ending else output.with_name(f"{output.name}{ENDINGS[chosen][0]}")}


def default_name(host: str, time_ns: int) -> str:
    """The files' name without ending: host and moment, in local time."""
    return f"{file_stem(host, time_ns)}-trace"


def write_traces(
    capture: Capture, paths: dict[str, Path], tracks: Sequence[Track] = (), *, force: bool = False
) -> list[Path]:
    """Writes a capture in each format, piece by piece, with the tracks of paths across tasks. Raises OutputError."""
    return [write_file(path, _writer(name)(capture, tracks), force=force) for name, path in paths.items()]


def _writer(name: str) -> Callable[[Capture, Sequence[Track]], Iterator[bytes]]:
    if name == "perfetto":
        # Late: its library takes its time to load, and is not needed for the other.
        from schedtop.outputs.capture.perfetto import perfetto_trace

        return perfetto_trace
    return chrome_trace
