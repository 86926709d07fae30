"""Lays a run beside published values: which treatment has the settings of which, and what it came to there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from loadstone.analysis.published.measuring import Ours, measured
from loadstone.analysis.run import Run
from loadstone.analysis.summary import Row, Treatment
from loadstone.model.papers import UNITS, Published, unit_of


def beside(
    run: Run, treatments: list[Treatment], published: Iterable[Published], best_fits: pa.Table | None = None
) -> pa.Table:
    """One row a published value and treatment that was run under its settings; one with ``why`` where there is none.

    ``best_fits`` is the table ``reproduction``, for what is published of best-fit runs and spans. Ratios are ours to
    the published; to a published range, from its upper to its lower end. They have the interval of ours.
    """
    settings = {treatment.id: conditions(run, treatment) for treatment in treatments}
    fits: list[Row] = best_fits.to_pylist() if best_fits is not None else []
    rows = []
    for one in published:
        fitting = [t for t in treatments if not one.why and _misfit(one, settings[t.id]) is None]
        for treatment in fitting:
            rows.append(_row(one, treatment.label, measured(run, treatment, one, fits)))
        if not fitting:
            rows.append(_row(one, None, Ours(why=one.why or _why_not(one, settings))))
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def conditions(run: Run, treatment: Treatment) -> dict[str, str]:
    """What a treatment was measured under: its settings, ``application``, ``workers`` and ``generators``."""
    plans: dict[str, Row] = {str(one.get("id")): one for one in run.plan.get("treatments") or []}
    planned = plans.get(treatment.id, {})
    found = {name: _text(value) for name, value in (planned.get("settings") or {}).items()} | treatment.levels
    application = run.plan.get("application")
    named = application.get("name") if isinstance(application, dict) else None
    found["application"] = str(named or run.study.get("application"))
    found["workers"] = str((run.study.get("cluster") or {}).get("workers", 1))
    found["generators"] = str(_generators((run.study.get("load") or {}).get("workers")))
    return found


def _generators(workers: Any) -> int:
    """The number of hosts that generated the load; earlier releases listed their addresses, none where it
    was this one alone."""
    return max(1, len(workers)) if isinstance(workers, list) else workers or 1


def _text(value: Any) -> str:
    return str(value.get("name") or value) if isinstance(value, dict) else str(value)


def _misfit(one: Published, settings: dict[str, str]) -> str | None:
    """The first setting that the treatment does not have as published."""
    return next((name for name, level in one.levels.items() if settings.get(name) != level), None)


def _why_not(one: Published, settings: dict[str, dict[str, str]]) -> str:
    for name, level in one.levels.items():
        if all(mine.get(name) != level for mine in settings.values()):
            return f"not in this run: {name} {level}"
    return "not in this run together: " + ", ".join(_named(name, level) for name, level in one.levels.items())


def _named(name: str, level: str) -> str:
    """``swarm``; where a level alone says nothing, with its setting: ``high_availability on``, ``workers 5``."""
    return f"{name} {level}" if level in ("on", "off") or level.isdigit() else level


def _row(one: Published, label: str | None, ours: Ours) -> Row:
    scale = UNITS[unit_of(one.measure)][one.unit] if one.measure is not None else 1.0
    value, low, high = (None if end is None else scale * end for end in (ours.value, ours.low, ours.high))
    return {
        "source": one.source,
        "quantity": one.quantity,
        "measure": one.measure,
        "span": one.span,
        "at": None if one.at is None else f"{one.at:g}" if isinstance(one.at, float) else one.at,
        "setting": ", ".join(_named(name, level) for name, level in one.levels.items()),
        "unit": one.unit,
        "published": one.value,
        "published_low": one.low,
        "published_high": one.high,
        "treatment": label,
        "value": value,
        "low": low,
        "high": high,
        "trials": ours.trials,
        **dict(zip(("ratio", "ratio_low", "ratio_high"), _ratios(one, value, low, high), strict=True)),
        "why": ours.why,
    }


def _ratios(
    one: Published, value: float | None, low: float | None, high: float | None
) -> tuple[float | None, float | None, float | None]:
    """Ours to the published, and the least and the most that it may be."""
    if one.measure == "anderson_darling":  # standardised about 0, so no ratio means anything
        return None, None, None
    upper = one.value if one.value is not None else one.high
    lower = one.value if one.value is not None else one.low
    ours_low, ours_high = (value if low is None else low), (value if high is None else high)
    return (
        value / one.value if value is not None and one.value else None,
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
