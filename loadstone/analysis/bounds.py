"""What bounded a capacity, as far as CPU limits go: observed at the highest load that held, not from a model."""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.analysis.run import RunFolder
from loadstone.analysis.summary import TreatmentSummary
from loadstone.analysis.usage import by_service, highest_held

AT_LIMIT = 0.8
"""A service that uses this share of its limit on average is kept waiting by it in its busier moments."""


@dataclass(frozen=True)
class Fullest:
    """The service that used most of its CPU limit. Cores are of all its replicas together; loads in requests/s."""

    service: str
    cores: float
    limit: float
    load: float

    @property
    def share(self) -> float:
        """The share of its limit that it used."""
        return self.cores / self.limit

    @property
    def at_limit(self) -> bool:
        """Whether it is what bounds the load."""
        return self.share >= AT_LIMIT


def fullest(run: RunFolder, treatment: TreatmentSummary) -> Fullest | None:
    """At the highest load that held; None where nothing held or no service has a limit."""
    trial = highest_held(treatment)
    used = by_service(trial, run.readings(trial.trial_id)) if trial is not None else []
    shares = [(row.cores / row.limit_cores, row.limit_cores, row) for row in used if row.limit_cores]
    if trial is None or not shares:
        return None
    _, limit, row = max(shares, key=lambda found: found[0])
    return Fullest(row.service, row.cores, limit, trial.load)
