"""The verdict in two or three lines: what is wrong, what to type, and why if there is room; coloured by its level."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from schedtop.panes.levels import Level
from schedtop.verdict.verdict import Verdict
from schedtop.widgets.strips import Span, broken, clip, spans_width, steady, whole_parts, width_of

Parts = list[list[Span]]
"""Pieces of a line in order of importance; the last ones go when the width does not suffice."""

SEPARATOR: Span = (" │ ", "dim")

VERDICT_LEVELS = {
    "ok": Level("✓", "OK", "live"),
    "notice": Level("!", "NOTICE", "notice-band"),
    "alarm": Level("!!", "ALARM", "alarm"),
    "unknown": Level("?", "UNKNOWN", "dim"),
    "measuring": Level("…", "MEASURING", "dim"),
}
"""The levels of a verdict: sign, word, style."""

VERDICT_LINES = 2

BANDS = ("notice", "alarm")
"""The levels whose colour fills the lines: what is in order does not shout."""

HELPED = "helped"
"""What fills the first line while it says what a command has helped."""

COMMAND_STYLES = {"notice-band": "notice-command", "alarm": "alarm-command"}
"""What sets off the command in such a band."""

_SHORTER = (
    # Who waits is worth more than of what these are shares.
    (re.compile(r" of CPU time(?=;|$)"), " of CPU"),
    (re.compile(r"(?<= %) of the time$"), ""),
    (re.compile(r" (?:processes|tasks|threads)/s \([^()]*\)"), " tasks/s"),
)
"""What a headline is without that is too long for two lines, the first ones first."""

_UNIT = re.compile(r"(?<=\d) (?=(?:ns|µs|us|ms|s|%)(?:\W|$))")
NO_BREAK = "\N{NO-BREAK SPACE}"
"""Between a number and its unit while lines are broken."""

_BEFORE = re.compile(r" \([^()]* before\)$")
_OF_TIME = re.compile(r" of the time(?= \(|$)")

WHOLE_ACTION = 60
"""From so many cells on an action without a command is not cut either: the headline loses clauses."""

NARROW_RELIEF = 30
"""So many cells what has helped may take before an alarm on a narrow screen."""

UNDO = "undo: "

_PARENTHESES = re.compile(r" \([^()]*\)")


def verdict_band(verdict: Verdict | None, width: int, why_key: str = "") -> list[list[Span]]:
    """Two lines in the colour of the level: headline and action; then evidence where there is room for it.

    In a band a command begins the second line, so that it stays there from second to second, and nothing follows that
    one would type, too: evidence stands behind the headline. Another action may stand behind a short headline. The
    action goes on where the headline ends if it needs to. Of one that does not fit only the command is shown, and
    before that is cut, the headline loses its last clauses. What does not fit at all ends with an ellipsis.
    What a command has helped comes first, in the colour of what is in order: the alarm behind it is another one.
    """
    if verdict is None:
        return [[], []]
    level = VERDICT_LEVELS[verdict.level]
    banded = verdict.level in BANDS
    plain, strong = (level.style, level.style) if banded else ("text", "strong")
    head, relief, room, headlines = _opening(verdict, width)
    has_more = bool(verdict.evidence or verdict.alternatives or verdict.live.undo)
    told_by_key = "undo, more" if verdict.level == "ok" and verdict.live.undo else "why"
    why: list[Span] = [(f" {why_key} {told_by_key} ", plain if banded else "dim")] if why_key and has_more else []
    action = f"→ {steady(verdict.action)}" if verdict.action else ""
    typed = steady(verdict.command)
    command = f"→ {steady(verdict.advice) or typed}" if typed else action if width >= WHOLE_ACTION else ""
    # What names the same command again can wait for the verdict in full.
    said = [item for item in verdict.evidence if not verdict.command or verdict.command not in item]
    # Where nothing is to be typed, the way back comes first; a second command in one line would be typed by mistake.
    kept, undo = _beside_it(verdict, width - 1 - spans_width(why))
    if _is_settled(verdict) and width_of(undo) > width - 1 - spans_width(why):
        why = []  # the way back is worth more than where the rest is told
    others = () if _is_settled(verdict) else said
    told = filter(None, (kept, *(said if typed and not verdict.may_stay else (undo, *others))))
    evidence: Parts = [[(steady(item), plain)] for item in told]
    headline = _first_that_fits(headlines, lambda words: _beside(broken(words, room)[1], command), [width - 1])
    first, rest = broken(headline, room)
    one_line = _beside(headline, action)
    if action and evidence and not (banded and typed) and width_of(one_line) <= room:
        first, action = one_line, ""
    actions = list(dict.fromkeys((action, _without_asides(action, typed), command or action)))
    # What sets the command off may go for the key that tells the rest.
    rooms = [width - 1 - spans_width(why), width - 1] if banded and typed else [width - 1]
    below = _first_that_fits([_beside(rest, words) for words in actions], str, rooms)
    if rest and command and width_of(below) > width - 1:
        first, rest = _clauses(headline, room, width - 1 - width_of(command) - 3)
        below = _beside(rest, action if not rest and width_of(action) < width else command)
    first, below = first.replace(NO_BREAK, " "), below.replace(NO_BREAK, " ")
    separator = (SEPARATOR[0], plain if banded else SEPARATOR[1])
    above: list[Span] = []
    if banded and typed and below:
        above = whole_parts([[(first, strong)], *evidence], room, separator)[1:] if not rest else []
        evidence = []
    room = max(1, width - 1)
    if width_of(below) <= room - spans_width(why):
        room -= spans_width(why)
    else:
        why = []
    parts: Parts = [_with_command(clip(below, room), typed, plain)] if below else []
    second = whole_parts([*parts, *evidence], room, separator)
    if not second and said and not verdict.action:
        # Nothing is to be done: a part of why is better than an empty line.
        second = [(clip(steady(said[0]), room), plain)]
    looks = (level.style, plain, strong)
    if _is_settled(verdict):
        looks = (HELPED, HELPED, HELPED)
    lines: list[list[Span]] = [
        [*((words, look) for words, look in zip((head, " ", first), looks, strict=True)), *above],
        [(" ", plain), *second],
    ]
    if relief:
        lines[0].insert(0, (relief, VERDICT_LEVELS["ok"].style))
    lines[1] += [(" " * max(0, width - spans_width(lines[1]) - spans_width(why)), plain), *why]
    lines[0].append((" " * max(0, width - spans_width(lines[0])), looks[1]))
    return lines


def tall_band(verdict: Verdict, width: int, why_key: str = "") -> list[list[Span]]:
    """The same of a level with a band, in three lines: the command has the last one, and what it is for its place.

    Where none is to be typed, it has more of the evidence.
    """
    level = VERDICT_LEVELS[verdict.level]
    kept, undo = _beside_it(verdict, width - 1)
    if not verdict.command:
        two = verdict_band(verdict, width, why_key)
        shown = "".join(text for line in two for text, _ in line)
        way_back = "" if undo.partition(": ")[2] in shown else undo
        told = filter(None, map(steady, (kept, way_back, *(() if _is_settled(verdict) else verdict.evidence))))
        more: Parts = [[(item, level.style)] for item in told if item not in shown]
        told_too = whole_parts(more, width - 1, (SEPARATOR[0], level.style))
        return [*two, [(" ", level.style), *told_too, (" " * (width - 1 - spans_width(told_too)), level.style)]]
    typed = steady(verdict.command)
    action, plain = f"→ {steady(verdict.action)}", level.style
    head, relief, room, headlines = _opening(verdict, width)
    why: list[Span] = [(f" {why_key} why ", plain)] if why_key else []
    below_room = width - 1
    last_room = below_room - spans_width(why)
    # What does not fit beside the command stands before it.
    reason, _, rest = action.partition(typed)
    whole = width_of(action) <= last_room or rest or width_of(typed) > below_room
    reasons = [""] if whole else [reason.rstrip(), _PARENTHESES.sub("", reason).rstrip()]
    last = action if width_of(action) <= last_room else typed if reasons[-1] else f"→ {typed}"
    chosen = [(words, purpose) for words in headlines for purpose in reasons]
    fits = [each for each in chosen if width_of(_beside(broken(each[0], room)[1], each[1])) <= below_room]
    headline, purpose = fits[0] if fits else (headlines[-1], reasons[-1])
    first, below = broken(headline, room)
    if not fits:
        first, below = _clauses(headline, room, below_room - width_of(purpose) - 3 * bool(purpose))
    below = _beside(below, purpose)
    told = filter(None, (kept, *(item for item in verdict.evidence if verdict.command not in item)))
    said: Parts = [[(steady(item), plain)] for item in told]
    parts: Parts = [[(below.replace(NO_BREAK, " "), plain)]] if below else []
    second = whole_parts(parts if purpose else [*parts, *said], below_room, (SEPARATOR[0], plain))
    third = _with_command(clip(last, below_room), typed, plain)
    lines: list[list[Span]] = [
        [(head, level.style), (" ", plain), (first.replace(NO_BREAK, " "), plain)],
        [(" ", plain), *second],
        [(" ", plain), *third],
    ]
    if relief:
        lines[0].insert(0, (relief, VERDICT_LEVELS["ok"].style))
    # The command itself may need all of its line. Behind what a command is for, the key would be taken for that.
    order = (2,) if width_of(last) <= last_room else (0, 1)
    of_why = next((place for place in order if spans_width(lines[place]) + spans_width(why) <= width), -1)
    for place, line in enumerate(lines):
        tail = why if place == of_why else []
        line.append((" " * max(0, width - spans_width(line) - spans_width(tail)), plain))
        line += tail
    return lines


def _opening(verdict: Verdict, width: int) -> tuple[str, str, int, list[str]]:
    """The first line: its level in a word, what a command has helped before that, the cells that are left, and the
    headlines that may begin there."""
    level = VERDICT_LEVELS[verdict.level]
    head = f" {level.sign} {level.word} "
    relief = _relief(verdict, width * 2 // 3 - width_of(head))
    headlines = [_UNIT.sub(NO_BREAK, words) for words in _headlines(verdict, relieved=bool(relief))]
    return head, relief, max(1, width - width_of(relief) - width_of(head) - 1), headlines


def _is_settled(verdict: Verdict) -> bool:
    """Whether a command has helped and nothing is to be done: how to undo it is all that stands beside that."""
    return verdict.level == "ok" and bool(verdict.live.undo) and not verdict.action


def _beside_it(verdict: Verdict, room: int) -> tuple[str, str]:
    """How long ago it was true, and how to undo the last command, as they stand within a line of so many cells."""
    kept, undo = verdict.live.kept, verdict.live.undo
    words = f"{undo[:1].lower()}{undo[1:]}"
    if width_of(words) > room:
        words = f"{UNDO}{undo.partition(': ')[2]}"
    return f"{kept[:1].lower()}{kept[1:]}", words


def _headlines(verdict: Verdict, *, relieved: bool) -> list[str]:
    """The headline, and then without words that matter less, if these can be left out of it.

    When an alarm ended stands first, because the last clauses are dropped; beside what a command has helped it need not
    be said.
    """
    live, now = verdict.live, steady(verdict.headline)
    ends = (live.end, live.ended) if live.ended and not relieved else ()
    headlines = [f"{steady(ended)}; now: {now}" for ended in ends] or [now]
    for long, short in _SHORTER:
        headlines.append(long.sub(short, headlines[-1]))
    return headlines


def _beside(words: str, action: str) -> str:
    """The headline, or what is left of it for the second line, and the action; each may be empty."""
    return "   ".join(filter(None, (words, action)))


def _first_that_fits(texts: Sequence[str], taken: Callable[[str], str], rooms: Sequence[int]) -> str:
    """The first of which what is `taken` has room, better in the first of the rooms; if none has, the last one."""
    return next((text for room in rooms for text in texts if width_of(taken(text)) <= room), texts[-1])


def _without_asides(action: str, typed: str) -> str:
    """An action without what stands in parentheses beside the command."""
    reason, found, rest = action.partition(f": {typed}")
    return f"{_PARENTHESES.sub('', reason)}{found}{rest}"


def _relief(verdict: Verdict, room: int) -> str:
    """What a command has helped, in so many cells: whole, or without how it was before, or not at all.

    An alarm behind it is news, and needs the cells more.
    """
    room = min(room, NARROW_RELIEF) if verdict.level == "alarm" and room < 2 * NARROW_RELIEF else room
    words = steady(verdict.live.relieved)
    one = words.partition("), ")[0] + ")" * ("), " in words)
    short = _OF_TIME.sub("", one)
    each = [f" {VERDICT_LEVELS['ok'].sign} {told} " for told in (words, one, short, _BEFORE.sub("", short)) if told]
    return next((told for told in each if width_of(told) <= room), "")


def _with_command(words: str, command: str, style: str) -> list[Span]:
    """The second line with the command that can be typed set off, in a band."""
    before, found, after = words.rpartition(command) if command and style in COMMAND_STYLES else (words, "", "")
    if not found:
        return [(words, style)]
    return [(part, look) for part, look in ((before, style), (found, COMMAND_STYLES[style]), (after, style)) if part]


def _clauses(headline: str, room: int, below: int) -> tuple[str, str]:
    """As many whole clauses of a headline as fit in two lines, the first of `room` cells and the second of `below`."""
    for end in reversed(list(_ends(headline))):
        first, rest = broken(f"{headline[:end]} …", room)
        if not rest or width_of(rest) <= below:
            return first, rest
    return clip(headline, room), ""


def _ends(headline: str) -> Iterator[int]:
    """Where a headline may end: before a clause, before what stands in parentheses, and behind that.

    Not behind the name alone that begins a clause: which task it is about says nothing.
    """
    depth = begun = 0
    for at, char in enumerate(headline):
        before = depth
        depth += (char == "(") - (char == ")")
        begins, closes = not before and headline.startswith((", ", "; ", " ("), at), before and not depth
        if (begins or closes) and len(_PARENTHESES.sub("", headline[begun : at + 1]).split()) > 1:
            yield at + bool(closes)
        if begins and char == ";":
            begun = at + 2
