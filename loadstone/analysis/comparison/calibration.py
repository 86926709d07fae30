"""What differences this set-up can see: delays of known size were put into a service, which of them were found?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loadstone.analysis.comparison.measured import ALL
from loadstone.analysis.comparison.tables import AGAIN, EffectRow, ShapeRow
from loadstone.analysis.run import RunFolder
from loadstone.analysis.schema import TableRow
from loadstone.analysis.statistics.effect import ALPHA
from loadstone.model.records.run_files import PlannedTreatment
from loadstone.model.units import seconds


class CalibrationRow(TableRow, name="calibration"):
    """A delay and the median of all requests or of an operation; delay 0 is the baseline against itself.

    ``shift_ms``: how much longer the median is, with its interval; ``detected``: called slower, at 5 % over its family.
    ``ks`` and ``ad``: of the latencies of all requests against the baseline's, as the fifth study has them.
    """

    treatment: str
    service: str
    scope: str
    name: str
    load: float
    delay_ms: float
    shift_ms: float
    low_ms: float
    high_ms: float
    p_adjusted: float | None
    detected: bool
    ks: float | None
    ad: float | None


def injected(run: RunFolder, baseline: str) -> dict[str, tuple[str, float]]:
    """Service and delay in ms by label, of treatments that differ from the baseline (an id) in one delay alone."""
    of = run.plan.treatment(baseline)
    if of is None or of.delays:
        return {}
    found = {}
    for treatment in run.plan.treatments:
        if _without_delays(treatment) == _without_delays(of) and len(treatment.delays) == 1:
            [(service, text)] = treatment.delays.items()
            found[treatment.label] = (str(service), seconds(text) * 1000)
    return found


def rows(
    delays: Mapping[str, tuple[str, float]], effects: Sequence[EffectRow], shapes: Sequence[ShapeRow]
) -> list[CalibrationRow]:
    """By load, endpoint and delay; nothing where no delay was put in."""
    if not delays:
        return []
    far = {(row.treatment, row.load): row for row in shapes}
    service = " and ".join(dict.fromkeys(service for service, _ in delays.values()))
    known = {AGAIN: (service, 0.0), **delays}
    found = [
        _row(row, *known[row.treatment], far.get((row.treatment, row.load)))
        for row in effects
        if row.treatment in known and row.statistic == "p50" and row.scope != "spans"
    ]
    return sorted(found, key=lambda row: (row.load, row.name != ALL, row.name, row.service, row.delay_ms))


def limits(table: Sequence[CalibrationRow]) -> dict[tuple[float, str, str], float | None]:
    """By load, service and median, the smallest delay in ms from which on every one was detected; None without one."""
    found: dict[tuple[float, str, str], float | None] = {}
    missed = set()
    for row in sorted(table, key=lambda row: -row.delay_ms):
        key = (row.load, row.service, row.name)
        if row.delay_ms == 0:
            continue
        found.setdefault(key, None)
        if not row.detected:
            missed.add(key)
        elif key not in missed:
            found[key] = row.delay_ms
    return found


def _row(row: EffectRow, service: str, delay_ms: float, shape: ShapeRow | None) -> CalibrationRow:
    return CalibrationRow(
        treatment=row.treatment,
        service=service,
        scope=row.scope,
        name=row.name,
        load=row.load,
        delay_ms=delay_ms,
        shift_ms=row.a_ms * (row.ratio - 1),
        low_ms=row.a_ms * (row.low - 1),
        high_ms=row.a_ms * (row.high - 1),
        p_adjusted=row.p_adjusted,
        # Also where it is smaller than what matters, and so called equal.
        detected=row.p_adjusted is not None and row.p_adjusted <= ALPHA and row.ratio > 1,
        ks=shape.ks if shape is not None else None,
        ad=shape.ad if shape is not None else None,
    )


def _without_delays(planned: PlannedTreatment) -> dict[str, Any]:
    return {name: value for name, value in planned.settings.items() if name != "delays"}
