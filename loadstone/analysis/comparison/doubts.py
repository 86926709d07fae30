"""What is doubtful about a comparison, as sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from loadstone.analysis.comparison.measured import ALL, STATISTICS, Key, MeasuredRun, usable
from loadstone.analysis.comparison.treatments import at
from loadstone.analysis.run import RunFolder
from loadstone.analysis.statistics.effect import ALPHA, Method
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model.base import plural
from loadstone.model.comparison import FEWEST_PAIRS
from loadstone.model.records.bounds import only_bounded
from loadstone.model.records.trial_row import TrialRow

_P50 = Key("requests", ALL, "p50")
_SIGNIFICANT = 0.01
_HOST = {
    "system": "system",
    "kernel": "kernel",
    "architecture": "architecture",
    "cpu": "processor",
    "cores": "cores",
    "usable_cores": "usable cores",
    "memory_bytes": "bytes of memory",
    "cgroup": "cgroups",
    "virtualised": "virtualised",
    "governor": "governor",
}


def of_trials(rows: Sequence[TrialRow], method: str) -> Iterator[str]:
    """Trials that take no part, and trials that were not stationary."""
    pair = ", and with each its pair" if method == "paired" else ""
    fixed = [row for row in rows if row.repeatable]
    invalid = sum(not row.valid for row in fixed)
    if invalid:
        yield f"{_trials(invalid)} left out{pair}: {'it is' if invalid == 1 else 'they are'} invalid"
    stopped = sum(row.valid and row.stopped for row in fixed)
    software = sum(row.valid and not row.stopped and not row.timed for row in fixed)
    if software:
        whose = "its processors were" if software == 1 else "their processors were"
        yield f"{_trials(software)} left out{pair}: {whose} software (tcg), on which nothing is measured"
    if stopped:
        yield f"{_trials(stopped)} left out{pair}: {'it was' if stopped == 1 else 'they were'} stopped early"
    whole = [row for row in fixed if row.valid and not row.stopped and row.timed]
    without = sum(only_bounded(row, "p50_ms") or row.completed == 0 for row in whole)
    if without:
        yield f"{_trials(without)} left out{pair}: too few requests were answered well for a P50"
    used = [row for row in fixed if usable(row)]
    restless = sum(row.steady is False for row in used)
    if restless:
        were = "was" if restless == 1 else "were"
        yield f"{restless} of {len(used)} trials {were} not stationary: latency drifted or jumped within the window"


def of_searches(treatments: Iterable[tuple[str, TreatmentSummary]]) -> Iterator[str]:
    """Warnings of the searches whose breaking points are compared, with their names."""
    for label, treatment in treatments:
        if treatment.searched is not None and treatment.searched.result is not None:
            yield from (f"{label}: {text}" for text in treatment.warnings)


def of_drift(runs: Sequence[MeasuredRun], baseline: str, load: float, margin: float) -> Iterator[str]:
    """A warning where the baseline's median drifted over the run by more than the margin; pairs are not affected."""
    from loadstone.analysis.steady_state import batch_slope

    # A trial in which hardly anything was answered well has no percentiles.
    known = [run for run in at(runs, baseline, load) if _P50 in run.values]
    values = [run.values[_P50] for run in sorted(known, key=lambda run: run.order)]
    if len(values) < FEWEST_PAIRS:
        return
    import numpy as np

    drift, p = batch_slope(np.array(values))
    if p < _SIGNIFICANT and abs(drift) > margin:
        word = "rose" if drift > 0 else "fell"
        yield f"the P50 of {baseline} {word} by {abs(drift):.1%} over the run at {_load(known[0])}; pairs share that"


def of_pairs(counted: Sequence[tuple[str, MeasuredRun, int]], method: str) -> Iterator[str]:
    """Comparisons of a treatment, at a run's load, with too few pairs or runs to show anything, by their number."""
    fewest = FEWEST_PAIRS if method == "paired" else 4
    few: dict[int, list[str]] = {}
    for treatment, run, runs in counted:
        if runs < fewest:
            few.setdefault(runs, []).append(f"{treatment} at {_load(run)}")
    for runs, where in few.items():
        what = plural(runs, "pair") if method == "paired" else f"{runs} runs"
        of = where[0] if len(where) == 1 else f"{len(where)} of {len(counted)} comparisons"
        yield f"{of}: {what} can show no difference, however large; at least {fewest} are needed"


def of_families(families: Sequence[Sequence[Key]], runs: int, method: Method) -> Iterator[str]:
    """Families so large that, after Holm's correction, no test of so few runs can be significant."""
    from loadstone.analysis.statistics.planning import least

    if runs < least(method=method):
        return  # not even one test could be: ``of_pairs`` says so
    noun = "pairs" if method == "paired" else "runs"
    for keys in families:
        if runs < (needed := least(ALPHA / len(keys), method)):
            yield (
                f"{len(keys)} endpoints of {keys[0].scope} are tested together: with {runs} {noun} none of them can be "
                f"shown to differ, however large the difference; at least {needed} are needed, or name in report.spans "
                "which are of interest"
            )


def of_missing(treatment: str, runs: Sequence[MeasuredRun]) -> Iterator[str]:
    """An endpoint of all requests that some run has not: without it the run that did worst would be left out unseen."""
    for statistic, fewest in STATISTICS.items():
        lacking = [run.trial_id for run in runs if Key("requests", ALL, statistic) not in run.values]
        if lacking:
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            yield (
                f"{treatment} at {_load(runs[0])}: the {statistic.upper()} of all requests is not compared, as of trial"
                f" {lacking[0]}{more} it is not known: fewer than {fewest} answers, or too many requests without one"
            )


def _load(run: MeasuredRun) -> str:
    if run.clients is not None:
        return plural(run.clients, "client")
    return f"{run.load:g} req/s" if run.load else "the trace's own pace"


def of_machines(old: RunFolder, new: RunFolder) -> Iterator[str]:
    """Differences of machine, software and study between two runs of different times."""
    yield (
        "the runs were made one after the other, not interleaved: drift between them cannot be distinguished from "
        "the change"
    )
    before, after = (run.provenance.host for run in (old, new))
    for key, word in _HOST.items():
        if before.get(key) != after.get(key):
            yield f"the machines differ: {word} {_text(before.get(key))} and {_text(after.get(key))}"
    yield from _of_nodes(old, new)
    had, has = (run.provenance.software for run in (old, new))
    for name in sorted({*had, *has}):
        if had.get(name) != has.get(name):
            yield f"the software differs: {name} {_text(had.get(name))} and {_text(has.get(name))}"
    for key in ("load", "trial"):
        if old.study.document.get(key) != new.study.document.get(key):
            yield f"the studies differ in {key!r}"
    if old.plan.application_digest != new.plan.application_digest:
        yield "the applications differ"


def _of_nodes(old: RunFolder, new: RunFolder) -> Iterator[str]:
    """Differences between the hosts of two runs, paired by their roles and order; other hosts may have their names."""
    for role in ("manager", "worker", "client"):
        before, after = ([node for node in run.provenance.nodes if node.role == role] for run in (old, new))
        for was, now in zip(before, after, strict=False):
            if was.machine and now.machine:
                for part in dict.fromkeys([*was.machine, *now.machine]):
                    had, has = was.machine.get(part), now.machine.get(part)
                    if had != has:
                        yield f"the machines differ: {part} of {was.name} {_text(had)} and of {now.name} {_text(has)}"


def _text(value: Any) -> str:
    return "unknown" if value is None else str(value)


def _trials(count: int) -> str:
    return f"{count} {'trial was' if count == 1 else 'trials were'}"
