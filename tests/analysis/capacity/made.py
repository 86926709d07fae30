"""Hand-made treatments for the capacity model: services of given cost, as trials on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loadstone.analysis import capacity, summary
from loadstone.analysis.capacity import CapacityModel, Layout, Placed
from loadstone.analysis.run import open_run
from tests.synthetic import Synthetic

Cost = Mapping[str, tuple[float, float | None]]
"""CPU-seconds per request and limit in cores, by service."""


def run_of(
    folder: Path, costs: Cost, point: float, nodes: int = 8, shares: Sequence[float] = (0.2, 0.35, 0.5, 0.75, 0.99)
) -> Path:
    """A run at fixed rates that held below ``point`` and broke above, in which services used exactly what they cost."""
    rates = [share * point for share in shares]
    capacities = {"baseline": 1e9}
    made = Synthetic(name="made", rates=[*rates, 1.01 * point], capacities=capacities, duration_s=1.0).write(folder)
    for place in (made / "trials").iterdir():
        trial = json.loads((place / "trial.json").read_text())
        row = trial["row"]
        row |= {"throughput": row["rate"], "verdict": "held" if row["rate"] < point else "not held"}
        (place / "trial.json").write_text(json.dumps(trial))
        usage = [_replica(service, cost * row["rate"], limit) for service, (cost, limit) in costs.items()]
        (place / "usage.json").write_text(json.dumps(usage))
    (made / "trials.parquet").unlink()
    provenance = json.loads((made / "provenance.json").read_text())
    provenance["nodes"] = [{"name": "local", "role": "worker", "cpus": list(range(nodes))}]
    (made / "provenance.json").write_text(json.dumps(provenance))
    return made


def _replica(service: str, cores: float, limit: float | None) -> dict[str, Any]:
    cores = min(cores, limit or cores)
    return {
        **{"service": service, "tier": "logic", "node": "local", "window_s": 1.0, "cpu_s": cores},
        **{"cpu_limit": limit, "throttled_s": 0.0, "memory_peak": 1, "memory_limit": None},
    }


def model_of(folder: Path, costs: Cost, point: float, nodes: int = 8) -> CapacityModel:
    run = open_run(run_of(folder, costs, point, nodes))
    (treatment,) = summary.treatments(run)
    return capacity.fit(run, treatment)


def layout(costs: Cost, replicas: int = 1, times: float = 1.0, cores: float = 8.0) -> Layout:
    placed = [
        Placed(service, "local", limit * times if limit else None)
        for service, (_, limit) in costs.items()
        for _ in range(replicas)
    ]
    return Layout(tuple(placed), {"local": cores})
