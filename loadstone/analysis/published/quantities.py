"""What a run measured of one published quantity, for one treatment that was run under its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean

from scipy.special import stdtrit

from loadstone.analysis.iterations import duration_s
from loadstone.analysis.known import all_known, mean_of_all
from loadstone.analysis.metrics import power, windows
from loadstone.analysis.metrics.minutes import SystemRow
from loadstone.analysis.reproduction_rows import BestFitRow
from loadstone.analysis.run import RunFolder
from loadstone.analysis.statistics.mean import arithmetic, mean
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model.papers import Published
from loadstone.model.records.bounds import RANKED, only_bounded
from loadstone.model.records.trial_row import TrialRow

SYSTEM = {
    "memory_programs": ("memory_programs_bytes", 1.0),
    "memory_occupied": ("memory_occupied_bytes", 1.0),
    "cpu_user": ("cpu_user_percent", 0.01),
    "cpu_system": ("cpu_system_percent", 0.01),
    "cpu_iowait": ("cpu_iowait_percent", 0.01),
    "network_received": ("network_received_bytes_per_s", 1.0),
    "network_sent": ("network_transmitted_bytes_per_s", 1.0),
    "context_switches": ("context_switches_per_s", 1.0),
    "interrupts": ("interrupts_per_s", 1.0),
}
"""By measure of a node its column, and what brings that to the measure's own unit."""
CLIENTS, GENERATOR = "clients", "generator"
"""The levels of a published value that are no settings: a closed loop's load; which generating host's own it is."""


@dataclass(frozen=True)
class Ours:
    """What a run came to: a value with its 95 % interval, or only a range that it lies in; in the measure's unit."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    trials: int = 0
    why: str = ""
    """Why there is neither."""


def measured(
    run: RunFolder,
    treatment: TreatmentSummary,
    entry: Published,
    fits: Sequence[BestFitRow],
    systems: Sequence[SystemRow] = (),
) -> Ours:
    """What the treatment came to; ``fits`` are the best-fit runs, ``systems`` the one-minute values of nodes."""
    if entry.node_of is not None:
        return _of_node(treatment, entry, systems)
    if entry.span is not None or entry.measure in ("anderson_darling", "kolmogorov_smirnov"):
        return _of_best_fit(treatment, entry, fits)
    if entry.measure == "breaking_point":
        return _breaking_point(treatment)
    rows = treatment.whole
    if (clients := entry.levels.get(CLIENTS)) is not None:
        rows = [row for row in rows if str(row.clients) == clients]
        if not rows:
            return Ours(why=f"not in this run: {clients} clients")
    if entry.measure == "iteration_s" and entry.at is None:
        return _over_runs([each.duration_s for row in rows for each in run.iterations(row.trial_id) or ()])
    if entry.measure == "iteration_s":
        return _over_runs([duration_s(run, row, int(entry.at or 0)) for row in rows])
    if entry.measure == "nothing_dropped_up_to":
        return _nothing_dropped(rows)
    if entry.measure == "c0_share" and rows and all((row.environment or "").startswith("vm") for row in rows):
        return Ours(why="idle states of a virtual machine are its kernel's, not the processor's")
    loads = sorted({row.load for row in (treatment.trials if clients is None else rows)})
    if entry.at is None:
        if len(loads) > 1:
            return Ours(why="published for one load, and this run has several")
        return _over_trials(run, entry, rows)
    wanted = max(loads, default=0.0) if entry.at == "highest" else entry.at
    if wanted not in loads:
        tried = ", ".join(f"{load:g}" for load in loads) or "none"
        return Ours(why=f"not in this run: {wanted:g} req/s (tried: {tried})")
    return _over_trials(run, entry, [row for row in rows if row.load == wanted])


def _breaking_point(treatment: TreatmentSummary) -> Ours:
    trials = len(treatment.trials) - treatment.count("invalid")
    if (searched := treatment.searched) is not None:
        if searched.result is not None:
            point = searched.result.breaking_point
            return Ours(point.value, point.low, point.high, trials)
        low, high = searched.low, searched.high
    else:
        low, high = treatment.held_up_to, treatment.breaks_from
    return Ours(low=low, high=high, trials=trials) if low or high else Ours(why="no valid trial")


def _nothing_dropped(rows: Sequence[TrialRow]) -> Ours:
    """The highest load up to which no trial dropped a request; it lies below the lowest that did."""
    dropped = [row.load for row in rows if row.offered is not None and row.completed != row.offered]
    good = [row.load for row in rows if row.load < min(dropped, default=inf)]
    if not rows:
        return Ours(why="no valid trial")
    return Ours(low=max(good, default=None), high=min(dropped, default=None), trials=len(rows))


def _of_best_fit(treatment: TreatmentSummary, entry: Published, fits: Sequence[BestFitRow]) -> Ours:
    mine = [row for row in fits if row.treatment == treatment.label and row.span == (entry.span or "all requests")]
    if not mine:
        return Ours(why=f"not in this run: span {entry.span}")
    if len(mine) > 1:
        return Ours(why="published for one load, and this run has several")
    column = {"anderson_darling": "ad_statistic", "kolmogorov_smirnov": "ks_statistic", "max": "p100_us"}
    value: float | None = getattr(mine[0], column.get(entry.measure or "", f"{entry.measure}_us"), None)
    return Ours(value / 1000 if value is not None and entry.measure in RANKED else value, trials=mine[0].runs)


def _of_node(treatment: TreatmentSummary, entry: Published, systems: Sequence[SystemRow]) -> Ours:
    """The value of the one node where that service runs without another of the published ones, which had a host
    each."""
    mine = [row for row in systems if row.treatment == treatment.label and entry.node_of in row.services]
    if not mine:
        return Ours(why=f"not in this run: a recorded node with {entry.node_of}")
    if len(mine) > 1:
        return Ours(why="published for one node and one load, and this run has several")
    own = mine[0]
    if others := [name for name in own.services if name != entry.node_of and not name.endswith(f"-{entry.node_of}")]:
        return Ours(why=f"published for a host with {entry.node_of} alone; here it shares its node with {others[0]}")
    column, scale = SYSTEM[entry.measure or ""]
    value, deviation = getattr(own, column), getattr(own, f"{column}_sd")
    if value is None:
        return Ours(why="not measured there: its nodes do not count it")
    reach = None
    if deviation is not None:
        reach = scale * float(stdtrit(own.values - 1, 0.975)) * deviation / own.values**0.5
    value *= scale
    return Ours(value, None if reach is None else value - reach, None if reach is None else value + reach, own.trials)


def _over_trials(run: RunFolder, entry: Published, rows: Sequence[TrialRow]) -> Ours:
    measure = entry.measure or ""
    if measure == "generator_p99":
        number = int(entry.levels[GENERATOR])
        return _over_runs([_of_generator(run, row, number) for row in rows])
    if measure in RANKED and any(only_bounded(row, f"{measure}_ms") for row in rows):
        return Ours(why="only a lower bound is known there: too few requests were answered well")
    return _over_runs([_of_trial(run, measure, row) for row in rows], measure.endswith("_share"))


def _over_runs(found: Sequence[float | None], shares: bool = False) -> Ours:
    """The mean over trials with its 95 % interval (Student's t): of shares the arithmetic, else the geometric mean.

    None where any trial did not measure it: the mean of the others would pass for all.
    """
    values = all_known(found)
    if not values:
        missing = sum(value is None for value in found)
        if missing < len(found):
            return Ours(why=f"not measured in {missing} of {len(found)} trials there")
        return Ours(why="not measured there: its trials are invalid, were stopped early, or did not observe it")
    if not shares and min(values) <= 0:
        return Ours(fmean(values), trials=len(values))
    known = arithmetic(values) if shares else mean(values)
    low, high = known.ends
    return Ours(known.value, low, high, len(values))


def _of_trial(run: RunFolder, measure: str, row: TrialRow) -> float | None:
    match measure:
        case "throughput":
            return row.throughput
        case "completed_share":
            return row.completed / row.offered if row.offered and row.completed is not None else None
        case "traced_share":
            return _traced(run, row)
        case "c0_share":
            return _in_c0(run, row)
    latency: float | None = getattr(row, f"{measure}_ms")
    return latency


def _of_generator(run: RunFolder, row: TrialRow, number: int) -> float | None:
    """The P99 of the requests of one generating host, the first of which has number 1."""
    summary = run.summary(row.trial_id)
    workers = summary.generator.workers if summary is not None else ()
    return next((worker.p99_ms for worker in workers if worker.number == number - 1), None)


def _traced(run: RunFolder, row: TrialRow) -> float | None:
    """Requests with a stored trace, of all that were sent, warm-up included."""
    observed = run.observed(row.trial_id)
    spans = observed.traces if observed is not None else None
    if spans is None or not spans.requests or spans.traces is None:
        return None
    return spans.traces / spans.requests


def _in_c0(run: RunFolder, row: TrialRow) -> float | None:
    """The share of time in C0: the mean over all nodes with replicas."""
    observed = run.observed(row.trial_id)
    table, _ = windows.read(run.folder / "trials" / row.trial_id / "metrics.parquet")
    if observed is None or observed.window is None or table is None:
        return None
    measured = windows.measure(table, observed.window.from_ns, observed.window.to_ns)
    states = [
        cstate for cstate in power.cstates(observed, measured) if cstate.state == power.ACTIVE and cstate.replicas
    ]
    return mean_of_all(state.share for state in states)
