"""Lays a run beside published values: which treatment has the settings of which, and what it came to there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loadstone.analysis.metrics.minutes import SystemRow
from loadstone.analysis.published.quantities import CLIENTS, GENERATOR, Ours, measured
from loadstone.analysis.reproduction_rows import BestFitRow
from loadstone.analysis.run import RunFolder
from loadstone.analysis.schema import TableRow
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model.messages import brief
from loadstone.model.papers import UNITS, Published, unit_of
from loadstone.model.records.run_files import PlannedTreatment, StudyFile

STAND_INS = "stand-ins"
"""The setting that no published value has: what ran in place of other software."""
SOFTWARE = "its processors were software (tcg), on which nothing is measured"


class PublishedRow(TableRow, name="published"):
    """A published value, and what a treatment under its settings came to: ``value``, ``low`` and ``high``, in its unit.

    ``why`` is empty where there is one of these. Ratios are ours to the published; to a published range, from its
    upper to its lower end. They have the interval of ours.
    """

    source: str
    quantity: str
    measure: str | None
    span: str | None
    at: str | None
    setting: str
    unit: str
    published: float | None
    published_low: float | None
    published_high: float | None
    treatment: str | None
    value: float | None
    low: float | None
    high: float | None
    trials: int
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    why: str


def beside(
    run: RunFolder,
    treatments: list[TreatmentSummary],
    published: Iterable[Published],
    best_fits: Sequence[BestFitRow] = (),
    systems: Sequence[SystemRow] = (),
) -> list[PublishedRow]:
    """One row a published value and treatment that was run under its settings; one with ``why`` where there is none.

    ``best_fits`` is for what is published of best-fit runs and spans, ``systems`` for what is of nodes.
    """
    software = bool(treatments) and not any(treatment.timed for treatment in treatments)
    treatments = [treatment for treatment in treatments if treatment.timed]
    settings = {treatment.id: conditions(run, treatment) for treatment in treatments}
    rows = []
    for entry in published:
        fitting = [t for t in treatments if not entry.why and _misfit(entry, settings[t.id]) is None]
        for treatment in fitting:
            rows.append(_row(entry, treatment.label, measured(run, treatment, entry, best_fits, systems)))
        if not fitting:
            why = entry.why or (SOFTWARE if software else _why_not(entry, settings))
            rows.append(_row(entry, None, Ours(why=why)))
    return rows


def conditions(run: RunFolder, treatment: TreatmentSummary) -> dict[str, str]:
    """What a treatment was measured under, by setting."""
    planned = run.plan.treatment(treatment.id)
    found = planned_conditions(planned, run.study_of(treatment.id)) | treatment.levels
    found["application"] = str((planned.application if planned is not None else None) or run.application)
    if planned is not None and planned.stand_ins:
        found[STAND_INS] = ", ".join(f"{stand_in} in place of {name}" for name, stand_in in planned.stand_ins.items())
    environments = {row.environment for row in treatment.trials if row.environment}
    if environments:  # what was found, whatever was planned; earlier releases did not look
        found["environment"] = ", ".join(sorted(environments))
    return found


def planned_conditions(planned: PlannedTreatment | None, study: StudyFile) -> dict[str, str]:
    """The settings of a treatment by name, its load, trials and cluster by dotted path (``load.connections``).

    With ``workers``, ``generators``, whose limits apply (``resources``), the objective (``slo.p99``), and the
    ``requests`` of an iteration. Durations are in seconds.
    """
    found = {
        f"{part}.{key}": brief(value)
        for part in ("load", "trial", "cluster")
        for key, value in (study.document.get(part) or {}).items()
        if isinstance(value, str | int | float)
    }
    found |= {name: brief(value) for name, value in (planned.settings if planned is not None else {}).items()}
    found["workers"] = str(study.cluster.workers)
    found["generators"] = str(study.load.generators)
    found["resources"] = "of the study" if study.document.get("resources") else "of the profile"
    found |= {f"slo.{name}": brief(value) for name, value in (study.load.objective or {}).items()}
    if (closed := study.load.closed) is not None and closed.requests is not None:
        found["requests"] = str(closed.requests)
    return found


def _misfit(entry: Published, settings: dict[str, str]) -> str | None:
    """The first setting that the treatment does not have as published; its clients are a load, not a setting."""
    if STAND_INS in settings:
        return STAND_INS
    return next((name for name, level in _settings(entry) if settings.get(name) != level), None)


def _settings(entry: Published) -> list[tuple[str, str]]:
    return [(name, level) for name, level in entry.levels.items() if name not in (CLIENTS, GENERATOR)]


def _why_not(entry: Published, settings: dict[str, dict[str, str]]) -> str:
    if settings and all(STAND_INS in mine for mine in settings.values()):
        return next(iter(settings.values()))[STAND_INS]
    for name, level in _settings(entry):
        if all(mine.get(name) != level for mine in settings.values()):
            return f"not in this run: {name} {level}"
    return "not in this run together: " + ", ".join(_named(name, level) for name, level in _settings(entry))


def _named(name: str, level: str) -> str:
    """``swarm``; where a level alone is ambiguous, with its setting: ``high_availability on``, ``workers 5``."""
    return f"{name} {level}" if level in ("on", "off") or level.isdigit() else level


def _row(entry: Published, label: str | None, ours: Ours) -> PublishedRow:
    scale = UNITS[unit_of(entry.measure)][entry.unit] if entry.measure is not None else 1.0
    value, low, high = (None if end is None else scale * end for end in (ours.value, ours.low, ours.high))
    ratio, ratio_low, ratio_high = _ratios(entry, value, low, high)
    return PublishedRow(
        source=entry.source,
        quantity=entry.quantity,
        measure=entry.measure,
        span=entry.span,
        at=None if entry.at is None else f"{entry.at:g}" if isinstance(entry.at, float) else entry.at,
        setting=", ".join(_named(name, level) for name, level in entry.levels.items()),
        unit=entry.unit,
        published=entry.value,
        published_low=entry.low,
        published_high=entry.high,
        treatment=label,
        value=value,
        low=low,
        high=high,
        trials=ours.trials,
        ratio=ratio,
        ratio_low=ratio_low,
        ratio_high=ratio_high,
        why=ours.why,
    )


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
