"""Latency and throughput against offered load, by operation, and over all percentiles."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from statistics import median

import pyarrow as pa

from loadstone.analysis.run import VERDICTS, RunFolder
from loadstone.analysis.summary import VALID, Row, TreatmentSummary, load_of
from loadstone.model.records import Latency, TrialSummary
from loadstone.model.slo import Slo

SHARES = (0.5, 0.8, 0.95)
"""Of the breaking point: where the percentile spectrum is shown."""

_MEASURED = ("throughput", "p50_ms", "p75_ms", "p90_ms", "p95_ms", "p99_ms", "p999_ms", "max_ms", "service_p99_ms")


def percentile_column(slo: Slo | None) -> tuple[str, str, float | None]:
    """Column and name of the latency to show, with its limit in ms: the strictest that the SLO limits and trials have.

    P99 without a limit where the SLO limits no percentile that trials have.
    """
    for percentile, limit in sorted((slo.limits if slo else {}).items(), reverse=True):
        name = f"p{percentile:g}".replace(".", "")
        if name in ("p50", "p75", "p90", "p95", "p99", "p999"):
            return f"{name}_ms", f"P{percentile:g}", limit
    return "p99_ms", "P99", None


def load_points(trials: pa.Table) -> pa.Table:
    """One row per trial that measured something: latency, throughput and dropped share against its load.

    Of a trial that was stopped early there is only its load and when it broke.
    """
    rows = [_point(row) for row in trials.to_pylist() if _ran(row)]
    rows.sort(key=lambda row: (row["treatment"], row["load"], row["trial_id"]))
    return pa.Table.from_pylist(rows, schema=_POINTS)


def _ran(row: Row) -> bool:
    return bool(row["offered"] or row["completed"]) or row["aborted_at_s"] is not None


def _point(row: Row) -> Row:
    offered, completed, window = row["offered"], row["completed"], row["window_s"]
    return {
        **{name: row[name] for name in ("trial_id", "treatment", "phase", "rate", "clients", "loop")},
        "load": load_of(row),
        "offered_per_s": offered / window if offered is not None and window else None,
        **{name: row[name] for name in (*_MEASURED, "verdict", "aborted_at_s")},
        "dropped_share": 1 - completed / offered if offered and completed is not None else None,
    }


def by_rate(trials: pa.Table) -> pa.Table:
    """One row per treatment and fixed load: verdicts, and the median with the range over repetitions.

    Invalid trials are counted and left out of the rest.
    """
    groups: dict[tuple[str, float, int | None], list[Row]] = {}
    for row in trials.sort_by("order").to_pylist():
        if row["phase"] in ("fixed", "closed"):
            groups.setdefault((row["treatment"], row["rate"], row["clients"]), []).append(row)
    treatments = list(dict.fromkeys(treatment for treatment, _, _ in groups))
    in_order = sorted(groups, key=lambda key: (treatments.index(key[0]), key[1], key[2] or 0))
    return pa.Table.from_pylist([_at_rate(*key, groups[key]) for key in in_order], schema=_BY_RATE)


def _at_rate(treatment: str, rate: float, clients: int | None, rows: list[Row]) -> Row:
    verdicts = Counter(row["verdict"] for row in rows)
    valid = [row for row in rows if row["verdict"] != "invalid"]
    values = {name: [row[name] for row in valid if row[name] is not None] for name in _MEASURED}
    offered = sum(row["offered"] or 0 for row in valid)
    lost = [row["offered"] - row["completed"] for row in valid if None not in (row["offered"], row["completed"])]
    return {
        "treatment": treatment,
        "rate": rate,
        "clients": clients,
        "trials": len(rows),
        **{verdict.replace(" ", "_"): verdicts[verdict] for verdict in VERDICTS},
        **{name: median(values[name]) if values[name] else None for name in _MEDIANS},
        "p99_lowest_ms": min(values["p99_ms"], default=None),
        "p99_highest_ms": max(values["p99_ms"], default=None),
        "dropped_share": sum(lost) / offered if lost and offered else None,
    }


def near_shares(treatment: TreatmentSummary, shares: Iterable[float] = SHARES) -> list[tuple[float, Row]]:
    """For each share of the reference load the nearest trial that ran to its end, with the share it really is at.

    A trial is given once; full trials are preferred to the bracket's where both are about as near.
    """
    reference = treatment.reference
    ran = [row for row in treatment.rows() if row["verdict"] != "invalid" and row["aborted_at_s"] is None]
    if not ran or not reference:
        return []

    def distance(row: Row, wanted: float) -> float:
        return abs(math.log(load_of(row) / (wanted * reference))) + (0.05 if row["phase"] == "bracket" else 0)

    chosen = {}
    for wanted in shares:
        row = min(ran, key=lambda row: distance(row, wanted))
        chosen[row["trial_id"]] = (load_of(row) / reference, row)
    return sorted(chosen.values(), key=lambda pair: pair[0])


def beside_breaking_point(treatment: TreatmentSummary) -> list[Row]:
    """The valid trial of the highest load that held (or had no SLO), and that of the lowest above it that did not.

    Of trials that ran to their end: one that was stopped early has no latency.
    """
    ran = [row for row in treatment.rows() if row["verdict"] in VALID and row["aborted_at_s"] is None]
    good = [row for row in ran if row["verdict"] != "not held"]
    held = max(good, key=lambda row: (load_of(row), row["repetition"]), default=None)
    above = [row for row in ran if row["verdict"] == "not held" and (held is None or load_of(row) >= load_of(held))]
    broke = min(above, key=load_of, default=None)
    return [row for row in (held, broke) if row is not None]


def spectrum(run: RunFolder, treatment: TreatmentSummary) -> pa.Table:
    """Latency in ms by percentile of the trials of ``near_shares``, from their summaries."""
    rows = []
    for portion, row in near_shares(treatment):
        summary = run.summary(row["trial_id"])
        for percentile, intended, service in summary.spectrum if summary is not None else ():
            point = {"share": portion, "percentile": percentile, "latency_ms": intended, "service_ms": service}
            rows.append(_trial(row) | point)
    return pa.Table.from_pylist(rows, schema=_SPECTRUM)


def operations(run: RunFolder, treatment: TreatmentSummary) -> pa.Table:
    """Counts and latency by operation of the trials of ``beside_breaking_point``, from their summaries."""
    rows = []
    for row in beside_breaking_point(treatment):
        rows += of_operations(row, run.summary(row["trial_id"]))
    return pa.Table.from_pylist(rows, schema=OPERATIONS)


def of_operations(row: Row, summary: TrialSummary | None) -> list[Row]:
    """Counts and latency by operation of one trial, from its summary; none of one that was stopped early."""
    rows: list[Row] = []
    if summary is None or row["aborted_at_s"] is not None:
        return rows
    for operation in summary.operations:
        counted = operation.latency_ms.counted(row["clients"])
        offered, completed = operation.counts.offered, operation.counts.completed
        rows.append(
            _trial(row)
            | {"operation": operation.name, "offered": offered, "completed": completed}
            | {"dropped_share": 1 - completed / offered if offered else None}
            | {"violations": operation.violations}
            | {f"{name}_ms": _of(counted, name) for name in ("p50", "p95", "p99", "p999", "max")}
            | {"service_p99_ms": _of(operation.latency_ms.service, "p99")}
        )
    return rows


def _of(latency: Latency | None, statistic: str) -> float | None:
    return latency.statistic(statistic) if latency is not None else None


def _trial(row: Row) -> Row:
    return {name: row[name] for name in ("trial_id", "treatment", "phase", "rate", "clients", "verdict")}


_TRIAL = [
    ("trial_id", pa.string()),
    ("treatment", pa.string()),
    ("phase", pa.string()),
    ("rate", pa.float64()),
    ("clients", pa.int64()),
    ("verdict", pa.string()),
]
_POINTS = pa.schema(
    [
        *_TRIAL[:-1],
        ("load", pa.float64()),
        ("loop", pa.string()),
        *((name, pa.float64()) for name in ("offered_per_s", *_MEASURED, "dropped_share")),
        ("verdict", pa.string()),
        ("aborted_at_s", pa.float64()),
    ]
)
_MEDIANS = ("throughput", "p50_ms", "p99_ms", "p999_ms")
_BY_RATE = pa.schema(
    [
        ("treatment", pa.string()),
        ("rate", pa.float64()),
        ("clients", pa.int64()),
        *((name, pa.int64()) for name in ("trials", "held", "not_held", "measured", "invalid")),
        *((name, pa.float64()) for name in _MEDIANS[:-1]),
        *((name, pa.float64()) for name in ("p99_lowest_ms", "p99_highest_ms", "p999_ms", "dropped_share")),
    ]
)
_SPECTRUM = pa.schema(
    [*_TRIAL, *((name, pa.float64()) for name in ("share", "percentile", "latency_ms", "service_ms"))]
)
OPERATIONS = pa.schema(
    [
        *_TRIAL,
        ("operation", pa.string()),
        ("offered", pa.int64()),
        ("completed", pa.int64()),
        ("dropped_share", pa.float64()),
        ("violations", pa.int64()),
        *((f"{name}_ms", pa.float64()) for name in ("p50", "p95", "p99", "p999", "max", "service_p99")),
    ]
)
