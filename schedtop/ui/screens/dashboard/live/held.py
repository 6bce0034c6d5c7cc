"""A verdict that does not flicker: on the screen it gets milder only when it has been so for a while."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import replace
from statistics import median_high

from schedtop.base.units import NS_PER_S, format_ns, format_whole_s
from schedtop.history.view import ViewSettings
from schedtop.verdict.advice import LOOK
from schedtop.verdict.verdict import Verdict
from schedtop.verdict.words import OVER

HELD_NS = 3 * NS_PER_S
"""So long what was worse stays. A load that waits for its next job every other second is one trouble, not many."""

TOLD_NS = 30 * NS_PER_S
"""So long it is said that an alarm or notice has ended: whoever typed its command waits for that."""

LASTING_NS = 5 * NS_PER_S
"""A notice that was true for less comes and goes by itself: nobody has typed its command."""

MUCH_LESS = 0.75
"""What is left of slow waits, or of the waiting of a task, is told if it is at most this part of what was."""

GOES_ON = 0.5
"""An alarm stays one while its trouble makes more than this part of its slow waits: one that is just large enough would
come and go each second."""

ABOUT_THE_SAME = 0.1
ENOUGH = 0.5
"""A quota to be typed stays while this part of it or more would do: what was needed a moment ago comes again."""

COMPARED = 10
"""With so many of its last intervals an alarm is compared once it has ended."""

VAGUE = ("mixed", "queueing")
"""Rules that name no single cause."""

_QUOTA = re.compile(r"echo (\d+) > (.*cpu\.(?:max|cfs_quota_us)\b.*)")
_FROM = re.compile(r" from (\S+) to ")
_GRAVITY = {"notice": 1, "alarm": 2}


class Held:
    """The verdict that was shown last, and until when it was true."""

    def __init__(self) -> None:
        self._verdict: Verdict | None = None
        self._settings: ViewSettings | None = None
        self._true_ns = 0
        self._alarm_ns: int | None = None
        self._alarm_load: float | None = None
        self._alarm_loads: deque[float] = deque(maxlen=COMPARED)
        self._alarm_about = ("", "")
        self._notice_since_ns: int | None = None
        self._notice_ns: int | None = None

    def shown(self, verdict: Verdict, end_ns: int, settings: ViewSettings, load: float | None = None) -> Verdict:
        """What to show of what ends at `end_ns`, of which this is the verdict: that, or a worse one before it.

        `load`: how many tasks are in slow waits on average.

        A quota that is to be typed stays while it is about the same.
        With other settings it is about something else.
        """
        settings = settings.unselected
        before, ago_ns = self._verdict, end_ns - self._true_ns
        if settings == self._settings and self._goes_on(verdict, end_ns, load):
            verdict = replace(verdict, level="alarm")
        if before and settings == self._settings and 0 <= ago_ns <= HELD_NS and _is_worse(before, verdict):
            now = "" if verdict.rule == before.rule == "rare" else f"; now: {verdict.headline}"
            kept = before.beside(kept=f"As of {format_whole_s(ago_ns)} ago{now}")
            return self._with_the_end(kept, end_ns, load)
        if settings != self._settings:
            self.forget()
        elif before:
            verdict = _with_steady_quota(before, verdict)
        if verdict.level == "alarm":
            goes_on = _just_now(self._alarm_ns, end_ns) is not None
            self._alarm_load = max(self._alarm_load or 0.0, load or 0.0) if goes_on else load
            if not goes_on:
                self._alarm_loads.clear()
            if load is not None:
                self._alarm_loads.append(load)
            self._alarm_ns, self._alarm_about = end_ns, (verdict.rule, verdict.command)
        self._note_notice(verdict, end_ns)
        self._verdict, self._settings, self._true_ns = verdict, settings, end_ns
        return self._with_the_end(verdict, end_ns, load)

    def forget(self) -> None:
        """The time stands still: when the alarm or notice ends is not seen."""
        self._alarm_ns = self._notice_since_ns = self._notice_ns = None

    def release(self) -> None:
        """What was shown last is shown no longer than it is true: its command has been typed."""
        self._verdict = None

    def _note_notice(self, verdict: Verdict, end_ns: int) -> None:
        if verdict.level != "notice":
            self._notice_since_ns = None
        elif self._notice_since_ns is None:
            self._notice_since_ns = end_ns
        elif end_ns - self._notice_since_ns >= LASTING_NS:
            self._notice_ns = end_ns

    def _with_the_end(self, verdict: Verdict, end_ns: int, load: float | None) -> Verdict:
        """With when the last alarm or notice ended, if that was just now, and what is left of its slow waits."""
        if verdict.level not in ("ok", "notice") or verdict.headline.startswith(OVER):
            return verdict
        if (ago_ns := _just_now(self._alarm_ns, end_ns)) is not None:
            return verdict.beside(ended=f"The alarm ended {format_whole_s(ago_ns)} ago", left=self._less_words(load))
        if verdict.level == "ok" and (ago_ns := _just_now(self._notice_ns, end_ns)) is not None:
            return verdict.beside(ended=f"The notice ended {format_whole_s(ago_ns)} ago")
        return verdict

    def _goes_on(self, verdict: Verdict, end_ns: int, load: float | None) -> bool:
        """Whether it is the trouble of the last alarm, with the same command, and not much less."""
        same = verdict.level == "notice" and (verdict.rule, verdict.command) == self._alarm_about
        # Once all others go first, a storm is an alarm for as long as one of them is late.
        same = same and not verdict.command.startswith(LOOK)
        recent = _just_now(self._alarm_ns, end_ns) is not None
        return same and recent and (load or 0) > GOES_ON * (self._alarm_load or 0) > 0

    def _less_words(self, load: float | None) -> str:
        # The worst of them may be a second of its own.
        usual = median_high(self._alarm_loads) if self._alarm_loads else 0.0
        if not usual or load is None:
            return ""
        before = f"{format_ns(round(usual * NS_PER_S))} before"
        if load > MUCH_LESS * usual:
            return ""  # of a storm that waits behind all others now
        if not load:
            return f"no slow waits ({before})"
        return f"slow waits take {format_ns(round(load * NS_PER_S))} a second ({before})"


def _just_now(moment_ns: int | None, end_ns: int) -> int | None:
    """How long ago that was, if so short that it is told."""
    return end_ns - moment_ns if moment_ns is not None and 0 <= end_ns - moment_ns <= TOLD_NS else None


def _with_steady_quota(before: Verdict, now: Verdict) -> Verdict:
    """With the quota that was to be typed before, where that would do: one who reads it off has to type it."""
    old, new = _QUOTA.fullmatch(before.command), _QUOTA.fullmatch(now.command)
    if not old or not new or old[2] != new[2] or _present(before.action) != _present(now.action):
        return now
    before_us, now_us = int(old[1]), int(new[1])
    if not ENOUGH * before_us <= now_us <= before_us / (1 - ABOUT_THE_SAME):
        return now
    # With its words: another range beside the same command contradicts it.
    evidence = (*before.evidence[:1], *now.evidence[1:])
    return replace(now, command=before.command, action=before.action, evidence=evidence)


def _present(action: str) -> str:
    """Which quota it is to be raised from: with another one it is about another trouble."""
    found = _FROM.search(action)
    return found[1] if found else ""


def _is_worse(before: Verdict, now: Verdict) -> bool:
    """Or as bad, with a main cause: one that is just strong enough would come and go each second."""
    gravity, gravity_now = _GRAVITY.get(before.level, 0), _GRAVITY.get(now.level, 0)
    return gravity > gravity_now or (gravity == gravity_now > 0 and now.rule in VAGUE and before.rule not in VAGUE)
