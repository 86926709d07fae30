"""What differences this set-up can see: delays of known size were put into a service, which of them were found?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from loadstone.analysis.comparison.measured import ALL
from loadstone.analysis.comparison.tables import AGAIN, Row
from loadstone.analysis.run import RunFolder
from loadstone.analysis.statistics.effect import ALPHA
from loadstone.model.units import seconds

TABLE = pa.schema(
    [
        *((name, pa.string()) for name in ("treatment", "service", "scope", "name")),
        *((name, pa.float64()) for name in ("load", "delay_ms", "shift_ms", "low_ms", "high_ms", "p_adjusted")),
        ("detected", pa.bool_()),
        *((name, pa.float64()) for name in ("ks", "ad")),
    ]
)
"""One row per delay and median, that of all requests first; delay 0 is the baseline against itself. ``shift_ms``: how
much longer the median is, with its interval; ``detected``: called slower, at 5 % over its family. ``ks`` and ``ad``: of
the latencies of all requests against the baseline's, as the fifth study has them."""


def injected(run: RunFolder, baseline: str) -> dict[str, tuple[str, float]]:
    """Service and delay in ms by label, of treatments that differ from the baseline (an id) in one delay alone."""
    planned = {
        str(treatment.get("id")): treatment
        for treatment in run.plan.get("treatments") or []
        if isinstance(treatment, dict)
    }
    of = planned.get(baseline)
    if of is None or _delays(of):
        return {}
    found = {}
    for treatment in planned.values():
        delays, same = _delays(treatment), _without(treatment) == _without(of)
        if same and len(delays) == 1:
            [(service, text)] = delays.items()
            found[str(treatment.get("label"))] = (str(service), seconds(text) * 1000)
    return found


def rows(
    delays: Mapping[str, tuple[str, float]], effects: Sequence[Row], noise: Sequence[Row], shapes: Sequence[Row]
) -> list[Row]:
    """The rows of ``TABLE`` by load, endpoint and delay; nothing where no delay was put in."""
    if not delays:
        return []
    far = {(row["treatment"], row["load"]): row for row in shapes}
    service = " and ".join(dict.fromkeys(service for service, _ in delays.values()))
    known = {AGAIN: (service, 0.0), **delays}
    found = [
        _row(row, *known[row["treatment"]], far.get((row["treatment"], row["load"]), {}))
        for row in (*noise, *effects)
        if row["treatment"] in known and row["statistic"] == "p50" and row["scope"] != "spans"
    ]
    return sorted(
        found, key=lambda row: (row["load"], row["name"] != ALL, row["name"], row["service"], row["delay_ms"])
    )


def limits(table: Sequence[Row]) -> dict[tuple[float, str, str], float | None]:
    """By load, service and median, the smallest delay in ms from which on every one was detected; None without one."""
    found: dict[tuple[float, str, str], float | None] = {}
    missed = set()
    for row in sorted(table, key=lambda row: -row["delay_ms"]):
        key = (row["load"], row["service"], row["name"])
        if row["delay_ms"] == 0:
            continue
        found.setdefault(key, None)
        if not row["detected"]:
            missed.add(key)
        elif key not in missed:
            found[key] = row["delay_ms"]
    return found


def _row(row: Row, service: str, delay_ms: float, shape: Mapping[str, Any]) -> Row:
    before = row["a_ms"]
    moved = {
        f"{name}_ms": before * (row[end] - 1) for name, end in (("shift", "ratio"), ("low", "low"), ("high", "high"))
    }
    return {
        **{name: row[name] for name in ("treatment", "scope", "name", "load", "p_adjusted")},
        "service": service,
        "delay_ms": delay_ms,
        **moved,
        # Also where it is smaller than what matters, and so called equal.
        "detected": row["p_adjusted"] is not None and row["p_adjusted"] <= ALPHA and row["ratio"] > 1,
        "ks": shape.get("ks"),
        "ad": shape.get("ad"),
    }


def _delays(planned: Mapping[str, Any]) -> dict[str, str]:
    return (planned.get("settings") or {}).get("delays") or {}


def _without(planned: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in (planned.get("settings") or {}).items() if name != "delays"}
