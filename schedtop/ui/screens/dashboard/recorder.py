"""Recording while the dashboard runs: its key, what the header says of it, and the files being written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from schedtop.base.units import format_bytes
from schedtop.model.frame import Frame
from schedtop.outputs.files import OutputError
from schedtop.outputs.names import FreeName, file_stem
from schedtop.recording.lines import Event, Header, filters_of
from schedtop.ui.keys.bindings import key
from schedtop.ui.screens.dashboard.shown import Shown

if TYPE_CHECKING:
    from schedtop.outputs.recording.background import BackgroundRecorder


class Recorder:
    """Hands the new Frames of a History to `recordings`, the files that are open.

    `changed` is called when one has begun or ended: header and key bar say so.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        key("r", "record", "Record", "Records from now on into a file, until it is pressed again", shown=True),
    ]

    def __init__(self, screen: Screen[Any], shown: Shown, directory: Path, changed: Callable[[], None]) -> None:
        self.trigger_texts: tuple[str, ...] = ()
        """The conditions that are watched for, as recordings name them."""
        self.recordings: list[BackgroundRecorder] = []
        self._screen = screen
        self._shown = shown
        self._directory = directory
        self._changed = changed
        self._ending: list[BackgroundRecorder] = []
        self._by_key: BackgroundRecorder | None = None

    def start_recording(self, frames_before: Sequence[Frame] = (), *, filters: str = "") -> BackgroundRecorder:
        """Opens a file in the export directory that gets `frames_before` (the newest ones there are, in order), and
        from now on every Frame, until `stop_recording`.

        What ends it before (a full disk, the largest size) is said to the user. Raises OutputError.
        """
        # Late: at the key, which most dashboards never see.
        from schedtop.outputs.recording.background import ENDING, BackgroundRecorder

        live, now_ns = self._shown.live, 0
        if len(live):
            newest = live.frames[-1]
            now_ns = newest.start_time_ns + newest.interval_ns
        start_ns = frames_before[0].start_time_ns if frames_before else now_ns
        header = Header(live.host, start_ns, filters=filters, triggers=self.trigger_texts)
        with FreeName(self._directory, file_stem(live.host.name, now_ns), (ENDING,)) as name:
            recorder = BackgroundRecorder(name.path(ENDING), header, frames_before=frames_before)
        self.recordings.append(recorder)
        self._changed()
        return recorder

    def stop_recording(self, recorder: BackgroundRecorder, why: str) -> None:
        """Ends a recording with its reason in words; the user hears when it is whole. Twice is once."""
        if recorder in self.recordings:
            self.recordings.remove(recorder)
            recorder.close(why)
            self._ending.append(recorder)
            self._screen.run_worker(self._say_end(recorder), group="recording")
            self._changed()

    def record(self, frame: Frame) -> None:
        """Hands a new Frame to every open recording."""
        for recorder in [*self.recordings]:
            recorder.write(frame)
            if recorder.failure:
                self.stop_recording(recorder, "failed")

    def record_event(self, event: Event) -> None:
        """Hands an event to every open recording: its place is behind the newest Frame."""
        for recorder in self.recordings:
            recorder.note(event)

    def close(self, timeout_s: float) -> list[str]:
        """Ends all recordings when the program ends, and waits for them; what the user should know, a line each."""
        for recorder in self.recordings:
            recorder.close("schedtop ended")
        lines = []
        for recorder in [*self._ending, *self.recordings]:
            if not recorder.join(timeout_s):
                lines.append(f"{recorder.path}: the disk did not take all of it in time")
            lines.append(recorder.failure or _recorded(recorder))
        return lines

    @property
    def words(self) -> str:
        """For the header: what is being written, empty if nothing is."""
        if not self.recordings:
            return ""
        size = format_bytes(sum(recorder.bytes for recorder in self.recordings))
        return f"● REC {size}" + (f" in {len(self.recordings)} files" if len(self.recordings) > 1 else "")

    def action_record(self) -> None:
        """Starts a recording, or stops the one that the key has started."""
        if self._by_key in self.recordings and self._by_key:
            self.stop_recording(self._by_key, "stopped by key")
            return
        if self._shown.view is None:
            self._screen.notify("there is nothing to record yet", severity="warning")
            return
        try:
            # On this thread, so that no Frame is missed: it is one small file.
            settings = self._shown.view.settings
            self._by_key = self.start_recording(filters=filters_of(str(settings.filter), settings.hidden_tgids))
        except OutputError as problem:
            self._screen.notify(f"not recorded: {problem}", severity="error", timeout=10, markup=False)
        else:
            self._screen.notify(f"{self._by_key.path}\nr stops it", title="Recording", timeout=6, markup=False)

    async def _say_end(self, recorder: BackgroundRecorder) -> None:
        while not recorder.join(0):  # not in a thread: the end of the program would wait for that one
            await asyncio.sleep(0.05)
        self._ending.remove(recorder)
        if recorder.failure:
            self._screen.notify(
                f"the recording has ended: {recorder.failure}", severity="error", timeout=15, markup=False
            )
        else:
            title = "Recorded" if recorder.frames else "Recording"
            self._screen.notify(_recorded(recorder), title=title, timeout=8, markup=False)


def _recorded(recorder: BackgroundRecorder) -> str:
    if not recorder.frames:
        return "nothing was recorded: the first interval had not ended"
    many = f"{recorder.frames} interval{'s' * (recorder.frames != 1)}"
    return f"{recorder.path}: {many}, {format_bytes(recorder.bytes)}"
