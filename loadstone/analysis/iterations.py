"""What clients of closed loops took for each number of requests, over the iterations that they made."""

from __future__ import annotations

from statistics import fmean, stdev

from loadstone.analysis.known import mean_of_all
from loadstone.analysis.run import RunFolder
from loadstone.analysis.schema import TableRow
from loadstone.model.records.trial_row import TrialRow


class IterationPoint(TableRow, name="iterations"):
    """One iteration by one number of clients: the mean duration over clients and trials, in seconds, and the shortest
    and the longest of a client; ``mean_ms`` is the mean latency of its good answers."""

    treatment: str
    clients: int
    iteration: int
    requests: int
    trials: int
    duration_s: float
    shortest_s: float
    longest_s: float
    mean_ms: float | None
    errors: int


class IterationTotals(TableRow, name="iteration_totals"):
    """All iterations by one number of clients, of all trials: ``requests`` each."""

    treatment: str
    clients: int
    trials: int
    iterations: int
    requests: int
    total_s: float
    mean_s: float
    sd_s: float | None
    errors: int


def points(run: RunFolder) -> list[IterationPoint]:
    """By treatment, number of clients and iteration; of valid trials."""
    found = []
    for (treatment, clients), rows in _groups(run).items():
        made = [(trial, each) for trial in rows for each in run.iterations(trial.trial_id) or ()]
        for number in sorted({each.iteration for _, each in made}):
            some = [each for _, each in made if each.iteration == number]
            durations = [each.duration_s for each in some]
            found.append(
                IterationPoint(
                    treatment=treatment,
                    clients=clients,
                    iteration=number,
                    requests=max(each.requests for each in some),
                    trials=len({trial.trial_id for trial, each in made if each.iteration == number}),
                    duration_s=fmean(durations),
                    shortest_s=min(durations),
                    longest_s=max(durations),
                    mean_ms=mean_of_all(each.mean_ms for each in some),
                    errors=sum(each.errors for each in some),
                )
            )
    return found


def totals(run: RunFolder) -> list[IterationTotals]:
    """By treatment and number of clients; of valid trials."""
    found = []
    for (treatment, clients), rows in _groups(run).items():
        made = [each for trial in rows for each in run.iterations(trial.trial_id) or ()]
        durations = [each.duration_s for each in made]
        if durations:
            found.append(
                IterationTotals(
                    treatment=treatment,
                    clients=clients,
                    trials=len(rows),
                    iterations=len(made),
                    requests=max(each.requests for each in made),
                    total_s=sum(durations),
                    mean_s=fmean(durations),
                    sd_s=stdev(durations) if len(durations) > 1 else None,
                    errors=sum(each.errors for each in made),
                )
            )
    return found


def duration_s(run: RunFolder, trial: TrialRow, iteration: int) -> float | None:
    """What one iteration of a trial took, in seconds: the mean over clients; None where it has none."""
    durations = [each.duration_s for each in run.iterations(trial.trial_id) or () if each.iteration == iteration]
    return fmean(durations) if durations else None


def _groups(run: RunFolder) -> dict[tuple[str, int], list[TrialRow]]:
    """Valid trials whose iterations can be read, by treatment and number of clients."""
    groups: dict[tuple[str, int], list[TrialRow]] = {}
    rows = [row for row in run.trials if row.valid and row.iterations and run.iterations(row.trial_id)]
    for row in sorted(rows, key=lambda row: row.clients or 0):
        groups.setdefault((row.treatment, row.clients or 0), []).append(row)
    return groups
