"""What is done when triggers fire, live: the same with and without a screen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from schedtop.base.units import NS_PER_S, iso_time
from schedtop.history.history import History
from schedtop.history.view import View, ViewSettings
from schedtop.model.frame import Frame
from schedtop.outputs.files import OutputError, write_file
from schedtop.outputs.names import FreeName, file_stem
from schedtop.outputs.plain import json_text
from schedtop.outputs.scheduler.snapshot import snapshot
from schedtop.outputs.triggers.commands import Commands, environment_of
from schedtop.outputs.triggers.recordings import AroundRecording, Recordings, frames_of
from schedtop.triggers.plan import LastSeconds, Plan, Say
from schedtop.triggers.watch import Fired, Watch

FILES_PAUSE_NS = 60 * NS_PER_S
"""A trigger writes at most one set of files in this time,"""

PATH_ENDINGS = ("-path.json", "-path.txt")
"""Of the files of `--then path`."""

MOST_SETS = 100
"""and all triggers together this many in one run: a disk is not filled by night."""


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """What is left to do for what fired, and may take a while: files to write, then commands to run."""

    fired: Fired
    host: str
    view: View | None
    recording: Path | None
    plan: Plan
    commands: Commands
    say: Say
    writes: bool = True

    def do(self, svg: str = "") -> None:
        """Does it; `svg` is a picture to be written beside the JSON. Any thread may call it."""
        files = {"record": self.recording} if self.recording else {}
        if self.view:
            try:
                files["export"] = write_snapshot(self.view, self.fired, self.plan.export_dir, svg)
                self.say(f"exported {files['export']}", False)
            except OutputError as problem:
                self.say(f"not exported: {problem}", True)
        if self.writes and self.plan.last_seconds:
            files |= self._write_path(self.plan.last_seconds)
        for words in self.plan.commands:
            self.commands.start(words, self.fired, environment_of(self.fired, self.host, files))

    def _write_path(self, last_seconds: LastSeconds) -> dict[str, Path]:
        """Has the paths written; their JSON file, which is there later, unless there will be none."""
        try:
            name = FreeName(self.plan.export_dir, file_stem(self.host, self.fired.time_ns), PATH_ENDINGS)
        except OutputError as problem:
            self.say(f"no paths: {problem}", True)
            return {}
        json, text = map(name.path, PATH_ENDINGS)
        will_be = last_seconds.write(json, text, about_trigger(self.fired), name.release)
        return {"path": json} if will_be else {}


class TriggerActions:
    """Feeds a Watch and does what the Plan says. Not shared between threads; `say` is called from any."""

    def __init__(self, plan: Plan, settings: ViewSettings, recordings: Recordings, say: Say, filters: str = "") -> None:
        self.plan = plan
        self._settings = settings
        self._say = say
        self._watch = Watch(plan.conditions)
        self._commands = Commands(say, plan.nice, as_root=plan.run_as_root)
        self._around = AroundRecording(recordings, plan.around_ns, filters)
        self._sets = 0
        self._written_ns: dict[int, int] = {}
        if plan.last_seconds:
            plan.last_seconds.open(say)

    @property
    def records(self) -> bool:
        """Whether the time after a trigger is being recorded."""
        return self._around.path is not None

    def feed(self, frame: Frame) -> tuple[Fired, ...]:
        """What fires at the end of this Frame; open recordings have it already."""
        fired = self._watch.feed(frame)
        for notice in self._watch.notices():
            self._say(notice, True)
        return fired

    def act(self, fired: tuple[Fired, ...], history: History) -> list[Work]:
        """Begins a recording or extends it, and gives what is left to do. `history` ends with the Frame that fired."""
        self._around.advance(history.frames[-1])
        allowed = [event for event in fired if self._may_write(event)] if self.plan.writes else []
        path = self._record(fired, allowed, history) if self.plan.record and fired else None
        return [self._work(event, event in allowed, path, history) for event in fired]

    def join(self, stop: object) -> None:
        """Waits for the commands, at most as long as their limit."""
        self._commands.join(stop)  # type: ignore[arg-type]

    def close(self, why: str) -> None:
        """Ends the recording and the commands."""
        self._around.close(why)
        if self.plan.last_seconds:
            self.plan.last_seconds.close()
        self._commands.close()

    def _may_write(self, event: Fired) -> bool:
        last_ns = self._written_ns.get(event.number)
        if last_ns is not None and event.end_ns - last_ns < FILES_PAUSE_NS:
            self._say(f"no files this time, the last ones are less than a minute old: {event.condition}", False)
            return False
        if self._sets >= MOST_SETS:
            if self._sets == MOST_SETS:
                self._say(f"no more files are written: triggers have written {MOST_SETS} sets of them", True)
            self._sets = MOST_SETS + 1
            return False
        self._sets += 1
        self._written_ns[event.number] = event.end_ns
        return True

    def _record(self, fired: tuple[Fired, ...], allowed: list[Fired], history: History) -> Path | None:
        if not allowed and not self.records:
            return None
        try:
            if self._around.fire(fired, frames_of(history, fired[-1].end_ns)):
                self._say(f"recording {self._around.path}", False)
        except OutputError as problem:
            self._say(f"not recorded: {problem}", True)
        return self._around.path

    def _work(self, event: Fired, writes: bool, path: Path | None, history: History) -> Work:
        view = None
        if self.plan.export and writes:
            interval_ns = history.frames[-1].interval_ns
            settings = replace(self._settings, window_ns=max(event.condition.for_ns, interval_ns))
            view = history.view(settings, event.end_ns)
        return Work(event, history.host.name, view, path, self.plan, self._commands, self._say, writes)


def about_trigger(fired: Fired) -> dict[str, str]:
    """What files say of what fired."""
    return {"condition": str(fired.condition), "values": fired.values_text, "time": iso_time(fired.time_ns)}


def write_snapshot(view: View, fired: Fired, directory: Path, svg: str = "") -> Path:
    """Writes the window in question as JSON, with what fired as `trigger`, and the picture if there is one.

    Gives the path of the JSON file; the picture has the same name. Raises OutputError.
    """
    text = json_text({**snapshot(view, None), "trigger": about_trigger(fired)})
    with FreeName(directory, file_stem(view.host.name, fired.time_ns)) as name:
        path = write_file(name.path(".json"), text)
        if svg:
            write_file(name.path(".svg"), svg)
    return path
