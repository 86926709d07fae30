"""Lays a run beside published values: which treatment has the settings of which, and what it came to there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from loadstone.analysis.published.measuring import Ours, measured
from loadstone.analysis.run import RunFolder
from loadstone.analysis.summary import Row, TreatmentSummary
from loadstone.model.papers import UNITS, Published, unit_of


def beside(
    run: RunFolder,
    treatments: list[TreatmentSummary],
    published: Iterable[Published],
    best_fits: pa.Table | None = None,
) -> pa.Table:
    """One row a published value and treatment that was run under its settings; one with ``why`` where there is none.

    ``best_fits`` is the table ``reproduction``, for what is published of best-fit runs and spans. Ratios are ours to
    the published; to a published range, from its upper to its lower end. They have the interval of ours.
    """
    settings = {treatment.id: conditions(run, treatment) for treatment in treatments}
    fits: list[Row] = best_fits.to_pylist() if best_fits is not None else []
    rows = []
    for entry in published:
        fitting = [t for t in treatments if not entry.why and _misfit(entry, settings[t.id]) is None]
        for treatment in fitting:
            rows.append(_row(entry, treatment.label, measured(run, treatment, entry, fits)))
        if not fitting:
            rows.append(_row(entry, None, Ours(why=entry.why or _why_not(entry, settings))))
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def conditions(run: RunFolder, treatment: TreatmentSummary) -> dict[str, str]:
    """What a treatment was measured under: its settings, ``application``, ``workers`` and ``generators``."""
    plans: dict[str, Row] = {str(entry.get("id")): entry for entry in run.plan.get("treatments") or []}
    planned = plans.get(treatment.id, {})
    found = {name: _text(value) for name, value in (planned.get("settings") or {}).items()} | treatment.levels
    application = run.plan.get("application")
    named = application.get("name") if isinstance(application, dict) else None
    found["application"] = str(named or run.study.get("application"))
    environments = set(filter(None, treatment.trials["environment"].to_pylist()))
    if environments:  # what was found, whatever was planned; earlier releases did not look
        found["environment"] = ", ".join(sorted(environments))
    found["workers"] = str((run.study.get("cluster") or {}).get("workers", 1))
    found["generators"] = str(_generators((run.study.get("load") or {}).get("workers")))
    return found


def _generators(workers: Any) -> int:
    """The number of hosts that generated the load; earlier releases listed their addresses, none where it
    was this one alone."""
    return max(1, len(workers)) if isinstance(workers, list) else workers or 1


def _text(value: Any) -> str:
    return str(value.get("name") or value) if isinstance(value, dict) else str(value)


def _misfit(entry: Published, settings: dict[str, str]) -> str | None:
    """The first setting that the treatment does not have as published."""
    return next((name for name, level in entry.levels.items() if settings.get(name) != level), None)


def _why_not(entry: Published, settings: dict[str, dict[str, str]]) -> str:
    for name, level in entry.levels.items():
        if all(mine.get(name) != level for mine in settings.values()):
            return f"not in this run: {name} {level}"
    return "not in this run together: " + ", ".join(_named(name, level) for name, level in entry.levels.items())


def _named(name: str, level: str) -> str:
    """``swarm``; where a level alone is ambiguous, with its setting: ``high_availability on``, ``workers 5``."""
    return f"{name} {level}" if level in ("on", "off") or level.isdigit() else level


def _row(entry: Published, label: str | None, ours: Ours) -> Row:
    scale = UNITS[unit_of(entry.measure)][entry.unit] if entry.measure is not None else 1.0
    value, low, high = (None if end is None else scale * end for end in (ours.value, ours.low, ours.high))
    return {
        "source": entry.source,
        "quantity": entry.quantity,
        "measure": entry.measure,
        "span": entry.span,
        "at": None if entry.at is None else f"{entry.at:g}" if isinstance(entry.at, float) else entry.at,
        "setting": ", ".join(_named(name, level) for name, level in entry.levels.items()),
        "unit": entry.unit,
        "published": entry.value,
        "published_low": entry.low,
        "published_high": entry.high,
        "treatment": label,
        "value": value,
        "low": low,
        "high": high,
        "trials": ours.trials,
        **dict(zip(("ratio", "ratio_low", "ratio_high"), _ratios(entry, value, low, high), strict=True)),
        "why": ours.why,
    }


def _ratios(
    entry: Published, value: float | None, low: float | None, high: float | None
) -> tuple[float | None, float | None, float | None]:
    """Ours to the published, and the least and the most that it may be."""
    if entry.measure == "anderson_darling":  # standardised about 0, so no ratio means anything
        return None, None, None
    upper = entry.value if entry.value is not None else entry.high
    lower = entry.value if entry.value is not None else entry.low
    ours_low, ours_high = (value if low is None else low), (value if high is None else high)
    return (
        value / entry.value if value is not None and entry.value else None,
        ours_low / upper if ours_low is not None and upper else None,
        ours_high / lower if ours_high is not None and lower else None,
    )


SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("source", "quantity", "measure", "span", "at", "setting", "unit")),
        *((name, pa.float64()) for name in ("published", "published_low", "published_high")),
        ("treatment", pa.string()),
        *((name, pa.float64()) for name in ("value", "low", "high")),
        ("trials", pa.int64()),
        *((name, pa.float64()) for name in ("ratio", "ratio_low", "ratio_high")),
        ("why", pa.string()),
    ]
)
"""Ours are ``value``, ``low`` and ``high``, in the published unit; ``why`` is empty where there is one of them."""
