"""The traces of the trials that a report shows. Each is analysed once: its small tables stay beside it in traces.json.

Millions of spans take seconds a trial, so not every trial of a long study is looked into: of each treatment the highest
load that held and the lowest from there on that did not, and trials spread over its loads.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from loadstone.analysis import traced_rows
from loadstone.analysis.latency import beside_breaking_point
from loadstone.analysis.run import RunFolder
from loadstone.analysis.schema import OfTrial, TableRow, rows, schema_of
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model.errors import InputError
from loadstone.model.records.trial_row import TrialRow

FILE = "traces.json"
_FORMAT = 3
"""The format of that file, and of how it comes to be. A file of another one is made anew, and so is one that is older
than the spans."""
_MOST, _LEAST_A_TREATMENT, _MOST_A_TREATMENT = 48, 2, 8
"""Trials that are looked into, in all and of each treatment."""
_MOST_PATHS = 400
_TABLES: dict[str, tuple[type[TableRow], type[OfTrial]]] = {
    "services": (traced_rows.ServiceTimes, traced_rows.TracedService),
    "operations": (traced_rows.OperationTimes, traced_rows.TracedOperation),
    "paths": (traced_rows.PathTime, traced_rows.TracedPath),
    "clocks": (traced_rows.ClockOffset, traced_rows.TracedClock),
    "heat": (traced_rows.HeatCell, traced_rows.TracedHeat),
}
"""By name the rows of a trial's own table, and those of the table of all trials."""


@dataclass(frozen=True)
class Traced:
    """``tables`` by name (``traces_services`` ...), one row a trial and service, path, ...: all trials together."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    health: dict[str, int] = field(default_factory=dict)
    """What was odd about the spans, summed over the trials."""
    growing: dict[str, tuple[str | None, str]] = field(default_factory=dict)
    """By treatment the service whose share of the critical path grows most with the load, and why it or none."""
    warnings: list[str] = field(default_factory=list)


def gather(run: RunFolder, treatments: list[TreatmentSummary]) -> Traced:
    """The tables of the trials to show that have spans; empty where none has."""
    if not any((run.folder / "trials").glob("*/spans.parquet")):
        return Traced()
    # It brings a compiler along, which takes a second to load: only where there is something to do for it.
    from loadstone.analysis import traces

    found: dict[str, list[pa.Table]] = {name: [] for name in _TABLES}
    health: dict[str, int] = {}
    growing: dict[str, tuple[str | None, str]] = {}
    warnings: list[str] = []
    a_treatment = max(_LEAST_A_TREATMENT, min(_MOST_A_TREATMENT, _MOST // max(len(treatments), 1)))
    for treatment in treatments:
        points: list[tuple[float, pa.Table]] = []
        for trial in chosen(run, treatment, a_treatment):
            try:
                tables, odd = _of_trial(run, trial.trial_id)
            except InputError as error:
                warnings.append(str(error).replace(f"{run.folder}/", ""))
                continue
            for name, table in tables.items():
                found[name].append(_named(_TABLES[name][1], table, trial))
            health = {key: health.get(key, 0) + count for key, count in odd.items()}
            points.append((trial.load, tables["services"]))
        if points:
            growth = traces.growth(points)
            growing[treatment.label] = growth.service, growth.why
    tables = {f"traces_{name}": pa.concat_tables(some) for name, some in found.items() if some}
    return Traced(tables, health, growing, warnings)


def chosen(run: RunFolder, treatment: TreatmentSummary, most: int) -> list[TrialRow]:
    """The trials to look into, by load: those beside the breaking point, and others spread over the loads.

    None that was stopped early: traces of its first requests do not represent its load.
    """
    traced = [row for row in treatment.whole if _spans(run, row.trial_id).exists()]
    there = {row.trial_id for row in traced}
    first = [row for row in beside_breaking_point(treatment) if row.trial_id in there]
    taken = {row.load for row in first}
    other = {row.load: row for row in reversed(traced) if row.load not in taken}
    loads, room = sorted(other), max(most - len(first), 0)
    if len(loads) > room:
        loads = [loads[round(place * (len(loads) - 1) / max(room - 1, 1))] for place in range(room)]
    return sorted([*first, *(other[load] for load in loads)], key=lambda row: row.load)


def operations(run: RunFolder, trial_id: str) -> list[traced_rows.OperationTimes]:
    """Spans by service, operation and peer of one trial; nothing where it has none that can be read."""
    if not _spans(run, trial_id).exists():
        return []
    try:
        return rows(traced_rows.OperationTimes, _of_trial(run, trial_id)[0]["operations"])
    except InputError:
        return []


def _spans(run: RunFolder, trial_id: str) -> Path:
    return run.folder / "trials" / trial_id / "spans.parquet"


def _named(kind: type[OfTrial], table: pa.Table, trial: TrialRow) -> pa.Table:
    """The table with the trial's own columns before its own."""
    about = kind.columns_of(trial)
    schema = schema_of(kind)
    repeated = (pa.array([value] * table.num_rows, schema.field(name).type) for name, value in about.items())
    return pa.table([*repeated, *table.columns], schema=schema)


def _of_trial(run: RunFolder, trial_id: str) -> tuple[dict[str, pa.Table], dict[str, int]]:
    """Tables and oddities of one trial: those that are kept, else analysed now and kept where that is possible."""
    from loadstone.analysis import traces

    spans = _spans(run, trial_id)
    window = dict(zip(("from_ns", "to_ns"), run.window_ns(trial_id), strict=True))
    kept = spans.with_name(FILE)
    if (known := _kept(kept, spans, window)) is not None:
        return known
    result = traces.analyse(traces.read(spans, window["from_ns"], window["to_ns"]))
    tables = {name: getattr(result, name) for name in _TABLES} | {"paths": result.paths.slice(0, _MOST_PATHS)}
    health = asdict(result.health)
    content = {
        "format": _FORMAT,
        "window": window,
        "health": health,
        "tables": {name: table.to_pydict() for name, table in tables.items()},
    }
    temporary = kept.with_name(f".{FILE}.tmp")
    try:
        temporary.write_text(json.dumps(content), encoding="utf-8")
        temporary.replace(kept)
    except OSError:  # someone else's results, that we may only read: it takes the time again then
        pass
    return tables, health


def _kept(file: Path, spans: Path, window: dict[str, Any]) -> tuple[dict[str, pa.Table], dict[str, int]] | None:
    try:
        if file.stat().st_mtime_ns < spans.stat().st_mtime_ns:
            return None
        content = json.loads(file.read_text(encoding="utf-8"))
        if content["format"] != _FORMAT or content["window"] != window:
            return None
        tables = {
            name: pa.table(content["tables"][name], schema=schema_of(kind)) for name, (kind, _) in _TABLES.items()
        }
        return tables, {str(key): int(count) for key, count in content["health"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException):
        return None
