"""An entitlement in words: the headline, the way from the root to the task, its rivals, and what is not computed."""

from __future__ import annotations

from schedtop.base.cpu_lists import cpus_text
from schedtop.base.units import format_ratio
from schedtop.entitlement.competition import Contender
from schedtop.entitlement.report import EntitlementReport
from schedtop.entitlement.share import Conclusion, Entitlement, Level, Rival

_NOT_WEIGHTS = "not the weights"

_ENDINGS = {
    Conclusion.WEIGHTS: "it is the weights, not the scheduler",
    Conclusion.LESS: f"less than the weights give it: its CPUs were not shared evenly, {_NOT_WEIGHTS}",
    Conclusion.MORE: "more than the weights give it: others did not get or not take theirs",
}


def cpus_words(cpus: float) -> str:
    """`24.6 % of a CPU`, `1.67 CPUs`."""
    return f"{format_ratio(min(cpus, 1.0))} of a CPU" if cpus < 1.005 else f"{cpus:.2f} CPUs"


def beside_words(got: float, entitled: float) -> str:
    """What it got, beside what it is entitled to: `of a CPU` is not said twice."""
    return format_ratio(min(got, 1.0)) if max(got, entitled) < 1.005 else cpus_words(got)


def headline(found: Entitlement) -> str:
    """What it is entitled to and what it got, and what follows."""
    got, wanted = cpus_words(found.got), cpus_words(found.wanted)
    match found.conclusion:
        case Conclusion.IDLE:
            return "it wanted no CPU"
        case Conclusion.FIRST:
            return f"{scheduled_words(found.subject[0])} comes before every weight: got {got}, wanted {wanted}"
        case Conclusion.OTHER:
            return f"got {got}, wanted {wanted}: {found.subject[0].policy} has rules of its own, no weights"
        case Conclusion.SATISFIED:
            return f"got {got}, all that it wanted; the weights would give it up to {cpus_words(found.limit)}"
        case Conclusion.QUOTA:
            groups = " and ".join(
                f"{one.words} ({one.quota:.2f} CPUs)" for one in found.levels if one.quota is not None
            )
            return f"got {got}, wanted {wanted}: the quota of {groups} holds it back, {_NOT_WEIGHTS}"
        case Conclusion.BEHIND:
            had = f"real-time or deadline tasks come first and had {cpus_words(found.first_used)}"
            return f"got {got}, wanted {wanted}: {had}, {_NOT_WEIGHTS}"
        case other:
            whole = "" if found.always_wanted else f" (it wanted {wanted})"
            beside = beside_words(found.got, found.entitled)
            return f"entitled to {cpus_words(found.entitled)}{whole}, got {beside}: {_ENDINGS[other]}"


def short_words(found: Entitlement) -> list[str]:
    """The headline for a narrow line, most important first."""
    got = f"got {cpus_words(found.got)}"
    match found.conclusion:
        case Conclusion.IDLE:
            return ["it wanted no CPU"]
        case Conclusion.FIRST:
            return [f"{scheduled_words(found.subject[0])} comes first", got]
        case Conclusion.OTHER:
            return [f"{found.subject[0].policy}: rules of its own", got]
        case Conclusion.SATISFIED:
            return ["it got all that it wanted", f"up to {cpus_words(found.limit)}"]
        case Conclusion.BEHIND:
            return ["behind real-time tasks", got]
        case other:
            entitled = beside_words(found.entitled, found.got)
            return [f"{entitled}, got {beside_words(found.got, found.entitled)}", _SHORT[other]]


_SHORT = {
    Conclusion.WEIGHTS: "it is the weights",
    Conclusion.LESS: "less than that",
    Conclusion.MORE: "more than that",
    Conclusion.QUOTA: "the quota",
}


def report_words(report: EntitlementReport, most: int) -> list[str]:
    """All of it in sentences, at most so many rivals: the headline, advice, levels, rivals, what is not in it."""
    found = report.found
    rivals = [*found.first, *found.rivals]
    left_out = len(rivals) - most + found.more_rivals
    return [
        f"By weight: {headline(found)}",
        *(f"to change it: {words}" for words in [advice_words(report)] if words),
        *(words for words in [levels_words(found)] if words),
        *(f"beside {rival_words(rival)}" for rival in rivals[:most]),
        *([f"and {left_out} more that wanted less"] if left_out > 0 else []),
        *(f"not in it: {words}" for words in [outside_words(found)] if words),
    ]


def levels_words(found: Entitlement) -> str:
    """The way from the root to the task: at each step its weight beside that of all that compete there."""
    return " > ".join(_level(level, found) for level in found.levels)


def _level(level: Level, found: Entitlement) -> str:
    words = level.words if level.key else f"{level.words} ({scheduled_words(found.subject[0])})"
    if level.weight >= level.weights:
        return f"{words}: weight {level.weight}, alone"
    return f"{words}: weight {level.weight} of {level.weights}, {format_ratio(level.ratio)}"


def scheduled_words(one: Contender) -> str:
    """`nice 5`, `batch, nice 5`, `idle`, `fifo 50`."""
    if one.policy in ("fifo", "rr"):
        return f"{one.policy} {one.rt_priority}"
    if one.policy in ("other", "batch"):
        return f"nice {one.nice}" if one.policy == "other" else f"batch, nice {one.nice}"
    return one.policy


def rival_words(rival: Rival) -> str:
    """One that competes for the same CPUs: how it is scheduled, entitled to what, and what it got."""
    one = rival.contender
    inside = f" in {one.groups[-1]}" if one.groups else ""
    if not one.is_fair:
        return f"{one.comm} ({one.tid}) {scheduled_words(one)}: had {cpus_words(rival.got)}, before any weight"
    weight = f"{scheduled_words(one)}, weight {one.weight}{inside}"
    got = beside_words(rival.got, rival.entitled)
    return f"{one.comm} ({one.tid}) {weight}: entitled to {cpus_words(rival.entitled)}, got {got}"


def advice_words(report: EntitlementReport) -> str:
    """The action, and what follows from it; empty: there is none."""
    advice = report.advice
    if advice is None:
        return ""
    reason = f"{advice.reason}: " if advice.reason else ""
    return f"{reason}{advice.command} (then {cpus_words(advice.expected)})"


def outside_words(found: Entitlement) -> str:
    """What the weights do not say."""
    if found.conclusion in (Conclusion.FIRST, Conclusion.OTHER):
        return ""
    where = f"CPU {cpus_text(sorted(found.cpus))}"
    had = f"had {cpus_words(found.first_used)}, on {where}" if found.first else f"had none of {where}"
    return (
        f"real-time and deadline tasks, which come first ({had}); the little that the kernel keeps for others beside "
        "them (fair server, before 6.12 sched_rt_runtime_us); interrupts; the host's steal"
    )
