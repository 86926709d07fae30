"""A run in sentences, the answer first. ``**`` marks bold text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING

from loadstone.analysis import bounds, drift, summary
from loadstone.analysis.confirmation import detectable
from loadstone.analysis.known import all_known
from loadstone.analysis.summary import BreakingPointRow, Searched, TreatmentSummary, episode_in_words
from loadstone.model.base import plural
from loadstone.report import format
from loadstone.report.content import Content

if TYPE_CHECKING:
    from loadstone.analysis.capacity import LeftOut

NO_SLO = "no SLO"


def slo(content: Content) -> str:
    """``P99 ≤ 200 ms``; without the share that must complete, as failures count as latency."""
    limits = content.slo.limits if content.slo else {}
    return " and ".join(f"P{p:g} ≤ {format.milliseconds(limit)}" for p, limit in sorted(limits.items())) or NO_SLO


def answer(content: Content) -> str:
    """The result of the run, in one sentence."""
    if not len(content.run.trials):
        return "No trial has finished yet."
    shown = [treatment for treatment in content.treatments if len(treatment.trials)]
    if all(treatment.count("invalid") == len(treatment.trials) for treatment in shown):
        count = len(content.run.trials)
        subject = {1: "The only trial is", 2: "Both trials are"}.get(count, f"All {format.count(count)} trials are")
        return f"**{subject} invalid**: there is no result for {content.application}."
    if len(shown) == 1:
        under = f" with {shown[0].label}" if len(content.treatments) > 1 else ""
        return f"{content.application}{under} {finding(content, shown[0])}"
    points = [(t.searched.result.capacity.value, t) for t in shown if t.searched and t.searched.result]
    if len(points) < 2:
        how = " in a closed loop" if content.closed else ""
        how += f" against {slo(content)}" if content.slo else ""
        return f"{len(shown)} treatments of {content.application} were tried{how}."
    (low, worst), (high, best) = (f(points, key=lambda pair: pair[0]) for f in (min, max))
    unknown = sum(t.id not in content.left_out for t in content.treatments) - len(points)
    have = "has" if unknown == 1 else "have"
    others = f"; {plural(unknown, 'other treatment')} {have} no estimate" if unknown else ""
    return (
        f"The capacity of {content.application}, the load at which 95 % of trials hold {slo(content)}, is "
        f"from **{format.rate(low)}** ({worst.label}) to **{format.rate(high)}** ({best.label}){others}."
    )


def contradiction(wanted: float, observed: float | None) -> str:
    """A warning that a capacity model contradicts the observed CPU of its bottleneck."""
    return (
        f"The model does not describe it at that load: it predicts {format.percent(wanted)} of its CPU,"
        f" but it used {format.percent(observed)}. Do not rely on predictions for other limits."
    )


def each_treatment(content: Content) -> list[tuple[str, str]]:
    """Label and finding of every treatment, where there are several, with what bounds its capacity."""
    if len(content.treatments) < 2:
        return []
    return [
        (treatment.label, f"{finding(content, treatment)} {bounded(content, treatment)}".rstrip())
        for treatment in content.treatments
    ]


def bounds_of_one(content: Content) -> list[str]:
    """``bounded`` of the only treatment; of several, each finding contains it."""
    return [
        text
        for treatment in content.treatments
        if len(content.treatments) == 1 and (text := bounded(content, treatment))
    ]


def bounded(content: Content, treatment: TreatmentSummary) -> str:
    """What bounds a capacity: a CPU limit of the study, or something else; empty if unknown."""
    if treatment.searched is None or treatment.searched.result is None:
        return ""
    full = bounds.fullest(content.run, treatment)
    if full is None:
        return ""
    allowed = f"{full.limit:g} core{'' if full.limit <= 1 else 's'}"
    used = f"{full.service} used {format.number(full.cores)} of the {allowed}"
    if full.at_limit:
        return (
            f"At {format.rate(full.load)} {used} of its limit: the capacity is that of the study's limits on this"
            " machine, not of the machine."
        )
    return (
        f"At {format.rate(full.load)} no service was at its CPU limit (the fullest, {used}): something else bounds the"
        " capacity."
    )


def finding(content: Content, treatment: TreatmentSummary) -> str:
    """The finding of one treatment; starts with a verb."""
    if (left := content.left_out.get(treatment.id)) is not None:
        return _left_out(left)
    if not len(treatment.trials):
        return "has no trial yet."
    if treatment.count("invalid") == len(treatment.trials):
        return f"has only invalid trials ({len(treatment.trials)})."
    if treatment.searched is not None:
        return _found_by_search(content, treatment, treatment.searched)
    if treatment.count("measured"):
        return _measured(treatment)
    return _found_at_loads(content, treatment)


def _left_out(left: LeftOut) -> str:
    forecast = left.predicted
    predicted = f"{format.rate(forecast.predicted)} {format.interval(forecast.low, forecast.high)}"
    return (
        f"was not measured: {predicted} are predicted, bounded by {forecast.bottleneck_name},"
        f" and {left.better} sustains at least {format.number(left.at_least)}."
    )


def confirmed(row: BreakingPointRow) -> str:
    """Whether fresh trials confirm an estimate: ``yes: not 30 % off`` names the error that they tested for."""
    if row.known != "estimated":
        return format.NOTHING
    if row.confirmed is None:
        return "no"
    return f"yes: not {format.percent(row.off_share)} off" if row.confirmed else "contradicted"


def _found_by_search(content: Content, treatment: TreatmentSummary, searched: Searched) -> str:
    trials = plural(len(searched.evidence) + len(searched.bracket), "trial")
    if searched.result is not None:
        capacity, point = (
            (format.rate(estimate.value), format.interval(estimate.low, estimate.high))
            for estimate in (searched.result.capacity, searched.result.breaking_point)
        )
        found = drift.drift(treatment.trials)
        strayed = agreed = ""
        times = ", ".join(episode_in_words(episode) for episode in searched.episodes)
        apart = f"; of its usual state: {times}" if times else ""
        usual = " while the machine is as it usually was" if searched.influenced else ""
        if searched.confirmed:
            off = format.percent(detectable(treatment.precision or 0.0))
            agreed = f" Fresh trials confirm that it is not {off} off."
        if found is not None and found.size > max(treatment.precision or 0.0, drift.NOTABLE):
            strayed = f", while the machine's speed drifted by {format.percent(found.size)}"
        return (
            f"has a capacity of **{capacity[0]}** {capacity[1]}: 95 % of trials hold {slo(content)} "
            f"there{usual}. At {point[0]} {point[1]}, its breaking point, only half of them do "
            f"(95 % intervals; from {trials}{strayed}{apart}).{agreed}"
        )
    low, high = format.rate(searched.low), format.rate(searched.high)
    if searched.known == "above":
        return f"held {slo(content)} in every trial: its capacity lies above **{low}** (from {trials})."
    if searched.known == "below":
        return f"did not hold {slo(content)} in any trial: its capacity lies below **{high}** (from {trials})."
    return f"stops holding {slo(content)} between {low} and {high} (short trials only so far, {trials})."


def _measured(treatment: TreatmentSummary) -> str:
    """What a closed loop without an SLO completed: the throughput with the fewest and with the most clients, as the
    table of clients has it."""
    measured = treatment.rows("measured")
    loads = [row.load for row in measured]
    found, trials = [], 1
    for load in dict.fromkeys((min(loads), max(loads))):
        there = [row for row in measured if row.load == load]
        known = all_known(row.throughput for row in there)
        found.append(f"**{format.rate(median(known) if known else None)}** with {format.load(there[0])}")
        trials = max(trials, len(there))
    several = " (medians over trials)" if trials > 1 else ""
    return f"completed {' and '.join(found)}{several}, in a closed loop."


def _found_at_loads(content: Content, treatment: TreatmentSummary) -> str:
    valid = treatment.count("held") + treatment.count("not held")
    trials = "its only valid trial" if valid == 1 else f"all of {plural(valid, 'trial')}"
    up_to, from_ = treatment.held_up_to, treatment.breaks_from
    name, kind, loop = (format.clients, "number", " in a closed loop") if content.closed else (format.rate, "rate", "")
    tried = [row.load for row in treatment.trials]
    if from_ is None:
        highest = "tried" if up_to == max(tried) else "with a valid trial"
        return f"held {slo(content)} in {trials}{loop}, up to **{name(up_to)}**, the highest {kind} {highest}."
    there = [row for row in treatment.trials if row.load == from_ and row.valid]
    broke = sum(row.verdict == "not held" for row in there)
    failed = f"at {name(from_)} {broke} of {plural(len(there), 'trial')} did not hold"
    if up_to is None:
        lowest = kind if from_ == min(tried) else f"{kind} with a valid trial"
        return f"did not hold {slo(content)}{loop} even at the lowest {lowest}: {failed}."
    return f"held {slo(content)} in every trial{loop} up to **{name(up_to)}**; {failed}."


def missing(content: Content) -> str:
    """The number of trials at fixed loads that are missing; a search has warnings of its own."""
    planned = [treatment for treatment in content.treatments if treatment.planned is not None]
    want = sum(treatment.planned or 0 for treatment in planned)
    have = sum(len(treatment.trials) for treatment in planned)
    return f"Not finished: {format.count(have)} of {format.count(want)} planned trials." if have < want else ""


def warnings(content: Content) -> list[str]:
    """All warnings, the gravest first, each once."""
    return list(dict.fromkeys(_warnings(content)))


def _drifted(content: Content) -> Iterator[str]:
    """A warning of the drift of the machine's speed, and of a precision that is finer than it."""
    found = drift.drift(content.run.trials)
    if found is None or found.size <= drift.NOTABLE:
        return
    requested = next((treatment.precision for treatment in content.treatments if treatment.precision is not None), None)
    promised = ""
    if requested is not None and found.size > requested:
        promised = (
            f"; this exceeds the requested precision of {format.percent(requested)}: another run may differ by more"
            " than the intervals"
        )
    yield (
        f"the machine's speed drifted by {format.percent(found.size)} during the run: the same "
        f"computation took from {format.milliseconds(found.shortest_ms)} to {format.milliseconds(found.longest_ms)}"
        f"{promised}"
    )


def _warnings(content: Content) -> Iterator[str]:
    if text := missing(content):
        yield text
    invalid = sum(treatment.count("invalid") for treatment in content.treatments)
    if invalid:
        subject = "1 trial is" if invalid == 1 else f"{format.count(invalid)} trials are"
        yield f"{subject} invalid and not counted; see the table of trials for the reasons."
    if content.run.emulated:
        yield (
            "The nodes were emulated on one machine and shared its cores: compare treatments with each other, not with"
            " other machines; do not compare numbers of nodes."
        )
    if software := sum(not row.timed for row in content.run.trials):
        whose = "1 trial had" if software == 1 else f"{format.count(software)} trials had"
        yield (
            f"{whose} virtual machines with processors of software (tcg): they show that something works, not how fast,"
            " and are in no comparison, no prediction, no history and beside no published value."
        )
    yield from _drifted(content)
    yield from content.run.warnings
    several = len(content.treatments) > 1
    for treatment in content.treatments:
        for text in treatment.warnings if treatment.id not in content.left_out else ():
            yield f"{treatment.label}: {text}" if several else text
    of_trials = summary.trial_warnings(content.run.trials)
    for each in of_trials:
        others = "" if each.same else "; numbers differ, see the table of trials"
        yield f"{each.text} ({format.count(each.trials)} of {plural(len(content.run.trials), 'trial')}{others})"
    known = {each.text for each in of_trials}
    # Of one that came again with another share, such as that of busy processors, the first.
    of_run = {re.sub(r"\d+ ?%", "%", text): text for text in reversed(content.run.provenance.warnings)}
    yield from (text for text in reversed(of_run.values()) if text not in known)
