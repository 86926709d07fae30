"""What the audits and checks of a run's trials found: whether the deployment was the requested one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from loadstone.analysis.run import RunFolder
from loadstone.analysis.summary import Row, TreatmentSummary
from loadstone.model.records import AuditRow, Check


@dataclass(frozen=True)
class Evidence:
    """``audit`` has the last audit of each treatment in full and every mismatch of the others; counts are of all."""

    audit: pa.Table
    audited: int
    mismatched: int
    waived: int
    """Differences that were announced before the run, as where limits cannot be applied without root."""
    checks: pa.Table
    """Every check that was not ok."""
    checked: int
    failed: int


def gather(run: RunFolder, treatments: list[TreatmentSummary]) -> Evidence:
    """Read the audits and checks of all trials."""
    audit: list[Row] = []
    checks: list[Row] = []
    audited = mismatched = waived = checked = failed = 0
    for treatment in treatments:
        last: list[Row] = []
        for trial in treatment.rows():
            read = run.audit(trial["trial_id"]) or ()
            audited, mismatched = audited + len(read), mismatched + sum(not row.ok for row in read)
            waived += sum(bool(row.waived) and row.wanted != row.effective for row in read)
            if rows := _rows(trial, read):
                audit += [row for row in last if not row["ok"]]
                last = rows
            results = run.checks(trial["trial_id"]) or ()
            bad = [row for row in results if not row.ok]
            checked, failed = checked + len(results), failed + len(bad)
            checks += _rows(trial, bad)
        audit += last
    return Evidence(
        audit=pa.Table.from_pylist(audit, schema=_AUDIT),
        audited=audited,
        mismatched=mismatched,
        waived=waived,
        checks=pa.Table.from_pylist(checks, schema=_CHECKS),
        checked=checked,
        failed=failed,
    )


def _rows(trial: Row, records: Iterable[AuditRow | Check]) -> list[Row]:
    place = {"trial_id": trial["trial_id"], "treatment": trial["treatment"]}
    return [place | record.model_dump() for record in records]


_AUDIT = pa.schema(
    [
        *((name, pa.string()) for name in ("trial_id", "treatment", "replica", "node", "what", "wanted", "effective")),
        ("ok", pa.bool_()),
        ("waived", pa.string()),
    ]
)
_CHECKS = pa.schema([(name, pa.string()) for name in ("trial_id", "treatment", "message")])
