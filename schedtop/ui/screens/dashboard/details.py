"""What the dashboard opens over its panes: the verdict, a wait, a command, the off-CPU screen, a path, the help."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from schedtop.base.units import NS_PER_S
from schedtop.panes.header import HeaderPane
from schedtop.panes.scheduler.short_lived.pane import ShortLivedPane
from schedtop.panes.scheduler.short_lived.text import command_lines, command_title, rows_of
from schedtop.panes.scheduler.slow_waits.pane import SlowWaitsPane
from schedtop.panes.scheduler.slow_waits.text import wait_lines, wait_title
from schedtop.panes.scheduler.tasks.selected import selected_tid
from schedtop.panes.task.past import Subject
from schedtop.path.subject import PathSubject
from schedtop.ui.keys.bindings import key
from schedtop.ui.on_demand import OnDemand
from schedtop.ui.screens.action_list import ActionList
from schedtop.ui.screens.copying import copy_command
from schedtop.ui.screens.dashboard.chosen import chosen_subject
from schedtop.ui.screens.dashboard.pane_layout import PaneLayout
from schedtop.ui.screens.dashboard.shown import Shown
from schedtop.ui.screens.dashboard.verdict_text import verdict_lines, verdict_title
from schedtop.ui.screens.path.opener import PathOpener
from schedtop.ui.screens.text import TextScreen
from schedtop.verdict.verdict import Verdict

FRESH_NS = 10 * NS_PER_S
"""The numbers in an open verdict are those of so short a while ago."""


class Details:
    """Opens texts and screens on what is shown."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("question_mark,f1", "help", "Help", "This help, beginning with the focused pane", shown=True),
        key(
            "v",
            "verdict",
            "Why",
            "The verdict in full: what, how one knows, what to do",
            name="verdict",
            shown=True,
        ),
        key("y", "copy", "Copy", "Copies the command of the verdict, by the terminal's clipboard (OSC 52)"),
        key(
            "o",
            "offcpu",
            "Off-CPU",
            "What threads do without a CPU: where they are blocked, by stacks",
            shown=True,
        ),
        key("P", "path", "Path", "The path of the selected task, process or victim: what it waits for, across tasks"),
    ]

    def __init__(
        self,
        screen: Screen[Any],
        shown: Shown,
        layout: PaneLayout,
        actions: ActionList,
        on_demand: OnDemand,
        export_dir: Path,
        own_pid: int | None,
    ) -> None:
        self._screen = screen
        self._shown = shown
        self._layout = layout
        self._actions = actions
        self._on_demand = on_demand
        self._export_dir = export_dir
        self._own_pid = own_pid
        self._paths = PathOpener(screen, shown, on_demand)
        self._text: TextScreen | None = None
        self._told: tuple[Verdict, int] | None = None

    def action_help(self) -> None:
        """The help, beginning with the pane that has the focus."""
        # Late, here and below: a start need not wait for the modules of other screens, nor hold them.
        from schedtop.ui.screens.help.screen import HelpScreen
        from schedtop.ui.screens.help.topics import topics_of

        layout, notes = self._layout, self._shown.live.host.notes
        topics = topics_of(layout.panes, self._actions.for_help(), self._actions.of_pane, notes)
        self._screen.app.push_screen(HelpScreen(topics, layout.current.SHORT or layout.current.TITLE))

    def action_verdict(self) -> None:
        """The verdict in full."""
        if (verdict := self._shown.verdict) is not None and (view := self._shown.view) is not None:
            lines = partial(verdict_lines, verdict, end_ns=view.end_time_ns)
            # What the first lines say next is what one waits for here.
            rows = self._screen.query_one(HeaderPane).outer_size.height
            title, command = verdict_title(verdict), verdict.command
            self._told = verdict, view.end_time_ns
            self._text = TextScreen(title, lines, command=command, free_rows=rows)
            self._screen.app.push_screen(self._text)

    def follow_verdict(self) -> None:
        """Shows the verdict that holds now, if its text is open and tells of another one.

        Its numbers stay as they are for a while: they would change while one reads.
        """
        verdict, view, text = self._shown.verdict, self._shown.view, self._text
        if text is None or text is not self._screen.app.screen or verdict is None or view is None or not self._told:
            return
        before, told_ns = self._told
        if _what(verdict) != _what(before) or abs(view.end_time_ns - told_ns) >= FRESH_NS:
            self._told = verdict, view.end_time_ns
            lines = partial(verdict_lines, verdict, end_ns=view.end_time_ns)
            text.replace(verdict_title(verdict), lines, command=verdict.command)

    def action_copy(self) -> None:
        """Copies the command of the verdict."""
        copy_command(self._screen, self._shown.verdict.command if self._shown.verdict is not None else "")

    def on_header_pane_verdict_clicked(self) -> None:
        """The same."""
        self.action_verdict()

    def on_slow_waits_pane_details_requested(self, event: SlowWaitsPane.DetailsRequested) -> None:
        """All about one slow wait."""
        if self._shown.view is not None:
            frame, kernel = self._shown.view.frame, self._shown.view.host.kernel
            lines = partial(wait_lines, event.row, frame.cgroups, len(frame.cpus.ids), kernel=kernel)
            self._screen.app.push_screen(TextScreen(wait_title(event.row), lines))

    def on_short_lived_pane_details_requested(self, event: ShortLivedPane.DetailsRequested) -> None:
        """All about one command that came and went."""
        if (view := self._shown.view) is not None:
            frame, own = view.frame, rows_of(event.row, view.short_lived)
            lines = partial(command_lines, event.row, own, frame.interval_ns, frame.cgroups)
            self._screen.app.push_screen(TextScreen(command_title(event.row, frame.interval_ns), lines))

    def action_offcpu(self) -> None:
        """Opens the screen of the time without a CPU, with the filter that holds and the task that is selected."""
        make, why = self._on_demand.make_offcpu, self._on_demand.why
        if make is None:
            words = f": {why}" if why else " needs the live kernel: here there is none"
            self._screen.notify(f"off-CPU time{words}", severity="warning", markup=False)
            return
        # Late, as above.
        from schedtop.ui.screens.offcpu.screen import OffCpuScreen

        tid = selected_tid(self._shown.view) if self._shown.view is not None else 0
        wanted = self._shown.settings.filter
        screen = OffCpuScreen(make, self._export_dir, self.open_path, wanted=wanted, tid=tid, own_pid=self._own_pid)
        self._screen.app.push_screen(screen)

    def action_path(self) -> None:
        """Opens the path of the selected task."""
        subject = chosen_subject(self._layout.current, self._shown.view)
        if isinstance(subject, Subject):
            self.open_path(PathSubject(subject.tid, subject.tgid, subject.name))
        else:
            words = subject or "select a task first (↓), in Tasks, Slow waits or Blame: its path is shown then"
            self._screen.notify(words.replace("the task view is", "paths are"), timeout=4, markup=False)

    def open_path(self, subject: PathSubject) -> None:
        """Opens the path of a task or process."""
        self._paths.open(subject)


def _what(verdict: Verdict) -> tuple[str, ...]:
    """What a verdict is about, and what a command has helped."""
    return verdict.level, verdict.rule, verdict.command, verdict.live.relieved
