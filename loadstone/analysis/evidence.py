"""What the audits and checks of a run's trials found: whether the deployment was the requested one."""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.analysis.run import RunFolder
from loadstone.analysis.schema import TableRow
from loadstone.analysis.summary import TreatmentSummary


class AuditedLimit(TableRow, name="audit"):
    """One limit of one replica in one trial."""

    trial_id: str
    treatment: str
    replica: str
    node: str
    what: str
    wanted: str
    effective: str
    ok: bool
    waived: str


@dataclass(frozen=True)
class FailedCheck:
    """A check of the stores that was not ok."""

    trial_id: str
    treatment: str
    message: str


@dataclass(frozen=True)
class Evidence:
    """``audit`` has the last audit of each treatment in full and every mismatch of the others; counts are of all."""

    audit: list[AuditedLimit]
    audited: int
    unobserved: int
    """Limits and placements that nothing could read back, as of a server that someone else deployed."""
    mismatched: int
    waived: int
    """Differences that were announced before the run, as where limits cannot be applied without root."""
    checks: list[FailedCheck]
    checked: int
    failed: int


def gather(run: RunFolder, treatments: list[TreatmentSummary]) -> Evidence:
    """Read the audits and checks of all trials."""
    audit: list[AuditedLimit] = []
    checks: list[FailedCheck] = []
    audited = unobserved = mismatched = waived = checked = 0
    for treatment in treatments:
        last: list[AuditedLimit] = []
        for trial in treatment.trials:
            read = run.audit(trial.trial_id) or ()
            audited += sum(row.observed for row in read)
            mismatched += sum(not row.ok for row in read)
            unobserved += sum(not row.observed for row in read)
            waived += sum(bool(row.waived) and row.wanted != row.effective for row in read)
            if read:
                audit += [row for row in last if not row.ok]
                last = [
                    AuditedLimit(trial_id=trial.trial_id, treatment=trial.treatment, **row.model_dump()) for row in read
                ]
            results = run.checks(trial.trial_id) or ()
            checked += len(results)
            checks += [FailedCheck(trial.trial_id, trial.treatment, row.message) for row in results if not row.ok]
        audit += last
    return Evidence(audit, audited, unobserved, mismatched, waived, checks, checked, len(checks))
