"""Several recordings of a command line: files and directories, read one after the other and added up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from schedtop.base.units import printable
from schedtop.commands.evidence import Part, read_with_blame
from schedtop.model.filters import Filter
from schedtop.model.source import SourceError
from schedtop.outputs.fleet.together import Together
from schedtop.outputs.saved import Wrong, damaged
from schedtop.run.errors import complain
from schedtop.run.memory import bounded
from schedtop.run.progress import progress

SUFFIXES = (".rec", ".rec.gz")
"""What a directory is searched for."""


def recordings_of(paths: Sequence[Path]) -> list[Path]:
    """The files that are meant: a directory stands for the recordings right in it, in order of their names.

    Raises SourceError if one is not there, or has none.
    """
    found: list[Path] = []
    for path in paths:
        try:
            found += _inside(path) if path.is_dir() else [path]
        except OSError as error:
            raise SourceError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from error
    return found


def gather(paths: Sequence[Path], chosen: Filter, part: Part, top: int) -> Together:
    """All files added up; of those that cannot be read it says so on standard error. Raises SourceError without any."""
    together = Together(top)
    for number, (path, twice) in enumerate(_each_once(paths), 1):
        name = printable(str(path))
        try:
            if twice:
                raise SourceError(f"{path} is given twice")
            with progress(f"reading {path.name} ({number} of {len(paths)})"), bounded(path):
                _add(together, path, name, chosen, part)
        except SourceError as error:
            complain(str(error))
            together.leave_out(name, printable(str(error)))
    if not together.files:
        raise SourceError("none of these files can be read")
    return together


def _add(together: Together, path: Path, name: str, chosen: Filter, part: Part) -> None:
    found = read_with_blame(path, chosen, part, top=together.top, all_tasks=True)
    try:
        together.add(found.data, name, found.blame, found.boot_id)
    except Wrong as error:
        raise damaged(name, error) from error


def _inside(directory: Path) -> list[Path]:
    files = sorted(path for path in directory.iterdir() if path.name.endswith(SUFFIXES))
    if not files:
        raise SourceError(f"cannot read {directory}: it is a directory without a recording (*.rec, *.rec.gz)")
    return files


def _each_once(paths: Sequence[Path]) -> Iterator[tuple[Path, bool]]:
    """Each file, and whether it came before: what is given twice must not count twice."""
    seen: set[tuple[int, int]] = set()
    for path in paths:
        try:
            status = path.stat()
        except OSError:  # reading it says why
            yield path, False
            continue
        key = (status.st_dev, status.st_ino)
        yield path, key in seen
        seen.add(key)
