"""What is told of the verdict on a screen that goes on: it does not flicker, and says what a command has changed."""

from __future__ import annotations

from dataclasses import replace

from schedtop.base.units import NS_PER_S, format_ns
from schedtop.history.view import View, ViewSettings
from schedtop.panes.pane import Command
from schedtop.ui.screens.dashboard.live.calmed import Calmed
from schedtop.ui.screens.dashboard.live.done import CHECKING, OF_MUCH_WORK, Done
from schedtop.ui.screens.dashboard.live.held import Held
from schedtop.ui.screens.dashboard.live.helped import Helped
from schedtop.ui.screens.dashboard.live.raised import Raised
from schedtop.ui.screens.dashboard.live.undo import changes
from schedtop.verdict.limits import DELAYED_SHARE, LITTLE_LOAD
from schedtop.verdict.slow import slow_load
from schedtop.verdict.verdict import ALSO, Verdict

LEAVE_IT = "Leave it for now"

STEADY_NS = 5 * NS_PER_S

CALM = "calm"
"""The rule that nothing is slow."""

LITTLE_LEFT = "Little is left:"

NOBODY_ELSE = "No other task waits much"

BY_SLOW_WAITS = (
    *("blocker", "mixed", "queueing", "wakeups", "lower-weight", "behind-rt", "pinned", "not-balanced"),
    "stolen",
)
"""Rules about single waits alone: tasks that wait in short turns besides have rules of their own."""

LEFT_ALONE_NS = 300 * NS_PER_S
"""So long after a command has helped no notice proposes to change more."""

RARE_LOAD = 1.0
"""Few waits with more of the time are something new."""

_SENTENCES = ("Tasks ", "Mixed ", "Only ", "Little ", "Nothing ", "No ", "More ")
"""How headlines begin that do not begin with a name."""

MOST_MOMENTS = 600
"""Of so many moments it is known what was told of them."""


def _reliefs() -> tuple[Helped, Calmed, Raised]:
    return Helped(), Calmed(), Raised()


class Told:
    """What has been told so far."""

    def __init__(self) -> None:
        self._held, self._done = Held(), Done()
        self._reliefs = _reliefs()
        self._settings: ViewSettings | None = None
        self._helped_ns: int | None = None
        self._stays: tuple[int, Verdict] | None = None
        self._moments: dict[int, Verdict] = {}

    def shown(self, verdict: Verdict, view: View) -> Verdict:
        """What to show of a View of which this is the verdict."""
        settings = view.settings.unselected
        if settings != self._settings:
            # What was typed, and that it has helped, is true whatever is filtered.
            self._settings, self._moments, self._stays = settings, {}, None
        if self._done.look(view.frame.end_ns):
            self._held.release()
        if self._done.is_undone(view.frame.end_ns):
            # What has helped does so no longer.
            self._held.forget()
            self._reliefs, self._helped_ns, self._stays = _reliefs(), None, None
        load, now = slow_load(view.frame, view.slow_waits), verdict
        verdict = self._done.shown(self._held.shown(verdict, view.frame.end_ns, view.settings, load), view)
        for relief in self._reliefs:
            verdict = relief.shown(verdict, view)
        if verdict.live.relieved and verdict.live.kept:
            # Beside what has helped, what was true some seconds ago is old news.
            verdict = self._done.shown(now, view).beside(relieved=verdict.live.relieved)
        told = self._steadily(self._calmer(verdict, view, load), view.frame.end_ns)
        told = self._done.with_undo(_in_one_line(told), view)
        self._moments[view.frame.end_ns] = told
        if len(self._moments) > MOST_MOMENTS:
            del self._moments[next(iter(self._moments))]
        return told

    @property
    def commands(self) -> tuple[Command, ...]:
        """When the last commands were typed, or undone."""
        return self._done.changed

    def frozen(self, verdict: Verdict, view: View) -> Verdict:
        """What to show where the time stands still: what was told of the moment when it was now, if that is known."""
        self._held.forget()
        if self._settings == view.settings.unselected and (told := self._moments.get(view.frame.end_ns)):
            return told
        is_left = self._is_left_alone(view.frame.end_ns) and verdict.level == "notice" and changes(verdict.command)
        return _left(verdict) if is_left else verdict

    def _is_left_alone(self, end_ns: int) -> bool:
        """Whether a command has helped so short a while ago that no notice proposes to change more."""
        return self._helped_ns is not None and 0 <= end_ns - self._helped_ns <= LEFT_ALONE_NS

    def _steadily(self, verdict: Verdict, end_ns: int) -> Verdict:
        """What may stay is told for some seconds more: it comes and goes with single waits."""
        if verdict.level != "ok" or not verdict.live.relieved:
            self._stays = None
        elif verdict.may_stay:
            self._stays = end_ns, verdict
        elif self._stays and 0 <= end_ns - self._stays[0] <= STEADY_NS:
            return replace(self._stays[1], live=verdict.live)
        return verdict

    def _calmer(self, verdict: Verdict, view: View, load: float) -> Verdict:
        """After a command has helped: what is left, without the command that would change more at once.

        An alarm stays one, unless it is about what runs most, and names nobody else who waits.
        """
        end_ns = view.frame.end_ns
        relieved = verdict.live.relieved
        if relieved:
            self._helped_ns = end_ns
        if not self._is_left_alone(end_ns):
            return verdict
        if relieved and verdict.headline == CHECKING:
            # It is known by now.
            return replace(verdict, level="ok", rule=CALM, evidence=(), alternatives=())
        goes_on_alone = _goes_on_alone(verdict)
        if relieved and verdict.rule == "saturated" and not verdict.late.tid and verdict.level == "alarm":
            verdict = replace(verdict, level="notice")
        if relieved and verdict.late.tid and (verdict.level == "notice" or goes_on_alone):
            # Another number, of another span, beside that of what has helped.
            verdict = replace(verdict, headline=verdict.headline.replace(f"; {verdict.late.words}", ""))
        if goes_on_alone:
            return _as_it_is(verdict, alone=not view.settings.shown_filter.names_tasks)
        is_little = relieved and _is_little(verdict, load)
        if verdict.headline == CHECKING or (verdict.level != "notice" and not is_little):
            return verdict
        if verdict.may_stay:
            # It was so before, and is not what the command was for.
            return replace(verdict, level="ok")
        if is_little:
            taken = f"{LITTLE_LEFT} {format_ns(round(load * NS_PER_S))} of slow waits a second"
            calm = Verdict("ok", verdict.rule, taken, live=verdict.live)
            return calm.beside(kept="")
        if verdict.rule == "rare" and load < RARE_LOAD:
            # Too few to name a cause, and so nothing that the command could have left.
            return replace(verdict, level="ok")
        return _left(verdict) if changes(verdict.command) else verdict


def _left(verdict: Verdict) -> Verdict:
    """The verdict without the command that would change more at once: single slow waits are in order for now."""
    possible = f"If this lasts, {verdict.action[0].lower()}{verdict.action[1:]}"
    told, level = (possible, *verdict.alternatives), "ok" if verdict.rule in BY_SLOW_WAITS else verdict.level
    return replace(verdict, level=level, alternatives=told, action=LEAVE_IT, command="")


def _as_it_is(verdict: Verdict, *, alone: bool) -> Verdict:
    """What may stay as it is: whose trouble it is not comes first. `alone`: the others are not left out."""
    headline = f"{NOBODY_ELSE}; {_clause(verdict.headline)}" if alone else verdict.headline
    one = _left(verdict) if verdict.command else verdict
    return replace(one, level="ok", headline=headline, may_stay=True)


def _in_one_line(verdict: Verdict) -> Verdict:
    """Where nothing more is to be done, what has helped is the headline, the same each second; what is left is told
    beside it."""
    relieved, left = verdict.live.relieved, verdict.live.left
    if not relieved or verdict.level != "ok":
        return verdict
    rest = "" if verdict.rule == CALM or (left and verdict.headline.startswith(LITTLE_LEFT)) else verdict.headline
    # Of what may stay as it is, how much it is less than before says nothing.
    left = "" if verdict.may_stay else left
    evidence = (*filter(None, map(_clause, (left, rest))), *verdict.evidence)
    told = filter(None, (verdict.action if verdict.may_stay else "", *verdict.alternatives))
    one = replace(verdict, headline=relieved, evidence=evidence, action="", command="", alternatives=tuple(told))
    return one.beside(relieved="", ended="", left="")


def _goes_on_alone(verdict: Verdict) -> bool:
    """Whether it is about what runs most, and nobody else waits much for that."""
    late = verdict.late.tid and verdict.late.share >= DELAYED_SHARE
    if verdict.rule not in OF_MUCH_WORK or late or ALSO in verdict.headline:
        return False
    # Of a storm that is told to wait it takes some seconds until the rule knows it.
    return verdict.level == "notice" or (verdict.rule == "forks" and bool(verdict.live.relieved))


def _is_little(verdict: Verdict, load: float) -> bool:
    """Whether so many tasks in slow waits on average are little: of few waits even if some of them are long."""
    if verdict.rule == "rare":
        return verdict.level in ("ok", "notice") and 0 < load < RARE_LOAD
    return verdict.level == "notice" and verdict.rule in BY_SLOW_WAITS and 0 < load < LITTLE_LOAD


def _clause(headline: str) -> str:
    """A headline within a sentence."""
    return f"{headline[0].lower()}{headline[1:]}" if headline.startswith(_SENTENCES) else headline
