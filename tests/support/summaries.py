"""Summaries of trials as drivers write them, and the verdict on one."""

from __future__ import annotations

import copy
from typing import Any

from loadstone.experiments.verdict import Verdict, judge
from loadstone.model.records.summary import TrialSummary
from loadstone.model.slo import Slo

SLO = Slo.model_validate({"p99": "200ms", "completed": "99%"})


def summary() -> dict[str, Any]:
    """A trial of 1000 requests/s for 10 s that held easily."""
    latency = {"count": 10_000, "mean": 20.0, "p50": 15.0, "p75": 25.0, "p90": 40.0, "p95": 60.0, "p99": 110.0}
    latency |= {"p999": 180.0, "max": 260.0}
    counts = {"offered": 10_000, "sent": 10_000, "completed": 9990, "late": 2, "errors": 3, "timeouts": 5}
    return {
        "plan": {"connections": 64},
        "planned": 10_000,
        "window_s": 10.0,
        "counts": counts | {"unsent": 0, "in_flight": 0},
        "violations": 12,
        "by_generator": {"violations": 0, "late": 0, "unsent": 0, "neglected": 0},
        "less_own": {"latency_ms": dict(latency), "spectrum": [[50.0, 15.0], [97.5, 80.0]], "backlog": [0] * 10},
        "latency_ms": {
            "intended": latency,
            "service": dict(latency),
            "lateness": {"count": 1, "p99": 0.2, "max": 3.0},
        },
        "spectrum": [[50.0, 15.0, 15.0], [97.5, 80.0, 80.0], [98.5, 95.0, 95.0], [99.9, 180.0, 180.0]],
        "batches": [{"start_s": float(i), "offered": 1000, "completed": 999, "backlog": 20 + i % 3} for i in range(10)],
        "generator": {
            "cpu_share": 0.31,
            "script_starved": 0,
            "own_lateness_p99_ms": 0.2,
            "own_lateness_slo_ms": 0.2,
            "run_delay_s": 0.01,
            "run_delay_share": 0.001,
        },
        "aborted": None,
        "offered_rate": 1000.0,
        "throughput": 999.0,
        "operations": [],
    }


def judged(data: dict[str, Any] | None, slo: Slo | None, **more: Any) -> Verdict:
    """The verdict on a summary as it stands in a file."""
    return judge(TrialSummary.model_validate(data) if data is not None else None, slo, **more)


def changed(**changes: Any) -> dict[str, Any]:
    """The summary with keys replaced; ``counts__sent=5`` reaches into a part."""
    result = copy.deepcopy(summary())
    for path, value in changes.items():
        *way, last = path.split("__")
        place = result
        for key in way:
            place = place[key]
        place[last] = value
    if "less_own" not in "".join(changes):  # the generator had no part in it
        result["less_own"]["backlog"] = [batch["backlog"] for batch in result["batches"]]
        result["less_own"]["latency_ms"] = result["latency_ms"]["intended"]
        result["less_own"]["spectrum"] = [row[:2] for row in result["spectrum"]]
    return result


def backlog(values: list[float]) -> list[dict[str, Any]]:
    each = 10.0 / len(values)
    return [{"start_s": i * each, "offered": 1, "completed": 1, "backlog": v} for i, v in enumerate(values)]


ABORTED = {"at_s": 3.24, "reason": "violations 101 of 10000 planned exceed 1 %"}
QUEUE = backlog([50 + 100 * i for i in range(10)])


def check_of(operations: list[dict[str, Any]], driver: str | None = None) -> TrialSummary:
    """A summary of which only this matters."""
    counts = {"completed": 0}
    parts = [{**operation, "counts": counts} for operation in operations]
    around = {"window_s": 1.0, "throughput": 0.0, "counts": counts, "latency_ms": {}, "spectrum": [], "generator": {}}
    return TrialSummary.model_validate({**around, "driver": driver, "operations": parts})
