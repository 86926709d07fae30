"""Synthetic run folders: what a real run leaves, made in a second from a simple queue, for tests of what reads runs.

The application is one first-come-first-served server: a request of operation i takes an exponential time around its
share of 1 / capacity, behind a constant delay. Each trial's capacity strays a little, so near the breaking point equal
trials differ, as in reality. Searches are led by the real ``experiments.search``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from loadstone.analysis.schema import schema
from loadstone.experiments.next_trial import NextTrial, Outcome
from loadstone.experiments.search import Search, next_probe
from loadstone.model import factors
from loadstone.model.document import Document
from loadstone.model.records.trial_row import TrialRow
from loadstone.model.study import Study
from loadstone.model.trial import Phase, Treatment, Trial
from tests.synthetic_files import audit, batches, checks, disturbance, series, usage

OPERATIONS = {"hotels": (0.60, 1.2), "recommendations": (0.39, 0.6), "user": (0.005, 0.4), "reserve": (0.005, 3.0)}
"""Share of the requests, and work relative to the mean."""
PERCENTILES = {"p50": 50, "p75": 75, "p90": 90, "p95": 95, "p99": 99, "p999": 99.9, "max": 100}


@dataclass(frozen=True)
class _Step:
    """One trial to write."""

    level: str
    load: float
    phase: Phase
    duration_s: float
    repetition: int
    number: int


@dataclass
class Synthetic:
    """What to write. ``capacities`` gives requests/s by level of ``factor``; with one level nothing is varied.

    Several factors are written ``orchestrator/scaling``, and all combinations of their levels ``swarm/baseline``.
    """

    capacities: dict[str, float] = field(default_factory=lambda: {"baseline": 1250.0})
    factor: str = "scaling"
    rates: list[float] | None = None
    """Fixed rates; None searches for the breaking point."""
    repetitions: int = 1
    limit_ms: float = 200.0
    start: float = 100.0
    highest: float = 100_000.0
    duration_s: float = 5.0
    timeout_s: float = 2.0
    levels: dict[str, Any] = field(default_factory=dict)
    """What the study has for a level whose name in ``capacities`` is not what it has to write."""
    slower_ms: dict[str, float] = field(default_factory=dict)
    """Added to every latency, by level."""
    comparison: bool = False
    """Whether the first level runs twice in each block."""
    spread: float = 0.02
    """Standard deviation of a trial's capacity, relative."""
    drift: float = 0.0
    """How much slower the machine becomes by the twentieth trial, relative, as the reference loop shows it."""
    slow: tuple[int, int, float] | None = None
    """The first and the last of trials in a row, by their order, in which capacity is a factor of what it is else."""
    seen: bool = False
    """Whether the reference loop is timed during the trials, and is slow in those."""
    stop_after: int | None = None
    """Trials after which the run was interrupted."""
    stop_before: tuple[str, Phase] | None = None
    """A level and a phase of its search, before whose first trial the run was interrupted."""
    invalid: tuple[int, ...] = ()
    """Orders (from 1) of trials whose audit failed."""
    name: str = "synthetic"
    seed: int = 1

    def write(self, results: Path) -> Path:
        """Write ``results/<study>/20260102-030405`` and return it."""
        folder = results / self.name / "20260102-030405"
        (folder / "trials").mkdir(parents=True)
        study = Study.model_validate(self._study())
        document = Document.of(self._study(), "study.yaml").without("comparison")  # also of fewer pairs than it needs
        treatments = {
            level: Treatment(
                application="hotel-reservation",
                application_digest="c0ffee123456",
                settings=each.study.settings.model_copy(update={"workload": each.study.workload or "mixed"}),
                levels={name: factors.called(name, given, each.study.settings) for name, given in each.levels.items()},
            )
            for level, each in zip(self.capacities, factors.resolve(document, factors.common(document)), strict=True)
        }
        (folder / "study.yaml").write_text(yaml.safe_dump(self._study(), sort_keys=False))
        plan = {
            "study": study.model_dump(mode="json", by_alias=True),
            "application": {"name": "hotel-reservation"},
            "application_digest": "c0ffee123456",
            "treatments": [
                {"id": t.id, "label": t.label, **t.model_dump(mode="json", include={"settings", "resources"})}
                for t in treatments.values()
            ],
            **({"baseline": next(iter(treatments.values())).id} if self.comparison else {}),
            "overrides": [],
            "source": "studies/synthetic.yaml",
        }
        _write(folder / "plan.json", plan)
        _write(folder / "provenance.json", PROVENANCE)
        rows: list[dict[str, Any]] = []
        for step in self._steps(rows):
            if len(rows) == self.stop_after or (step.level, step.phase) == self.stop_before:
                break
            rows.append(self._trial(folder, treatments[step.level], step, len(rows) + 1))
        table = pa.Table.from_pylist(rows, schema=schema(study.factors))
        pq.write_table(table, folder / "trials.parquet")
        return folder

    def _study(self) -> dict[str, Any]:
        slo = {"p99": f"{self.limit_ms:g}ms", "completed": "99%"}
        load: dict[str, Any] = {"arrival": "poisson", "timeout": f"{self.timeout_s:g}s"}
        if self.rates is None:
            load["capacity"] = {"slo": slo, "precision": "5%", "start": self.start, "highest": self.highest}
        else:
            load |= {"rates": self.rates, "slo": slo}
        varied = len(self.capacities) > 1
        columns = zip(*(level.split("/", self.factor.count("/")) for level in self.capacities), strict=True)
        levels = {
            name: [self.levels.get(level, level) for level in dict.fromkeys(each)]
            for name, each in zip(self.factor.split("/"), columns, strict=True)
        }
        return {
            "version": 1,
            "name": self.name,
            "application": "hotel-reservation",
            **({"factors": levels} if varied else {"workload": "mixed"}),
            **({"comparison": {}} if self.comparison else {}),
            "load": load,
            "trial": {"warmup": "1s", "duration": f"{self.duration_s:g}s", "repetitions": self.repetitions},
        }

    def _steps(self, rows: list[dict[str, Any]]) -> Iterator[_Step]:
        """Each next trial; looks at the rows that its caller adds."""
        if self.rates is not None:
            for repetition in range(1, self.repetitions + 1):
                first = [(next(iter(self.capacities)), 2)] if self.comparison else []
                for level, number in [*((level, 1) for level in self.capacities), *first]:
                    for rate in self.rates:
                        yield _Step(level, rate, "fixed", self.duration_s, repetition, number)
            return
        settings = Search(start=self.start, highest=self.highest, fine_s=self.duration_s, bracket_s=self.duration_s / 2)
        for repetition in range(1, self.repetitions + 1):
            for level in self.capacities:
                history: list[Outcome] = []
                while isinstance(probe := next_probe(settings, history), NextTrial):
                    yield _Step(level, probe.load, probe.phase, probe.duration_s, repetition, len(history) + 1)
                    row = rows[-1]
                    outcome = Outcome(probe.load, probe.phase, row["verdict"], reference_ms=row["reference_during_ms"])
                    history.append(outcome)

    def _trial(self, folder: Path, treatment: Treatment, step: _Step, order: int) -> dict[str, Any]:
        trial = Trial(
            treatment=treatment,
            phase=step.phase,
            rate=step.load,
            repetition=step.repetition,
            number=step.number,
            warmup_s=1.0,
            duration_s=step.duration_s,
            load_digest="0123456789abcdef",
            seed=self.seed * 1000 + order,
        )
        random = np.random.default_rng(trial.seed)
        strayed = self.capacities[step.level] * float(np.exp(random.normal(0, self.spread)))
        speed = self.slow[2] if self.slow is not None and self.slow[0] <= order <= self.slow[1] else 1.0
        strayed *= speed
        started = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC) + timedelta(seconds=20 * order)
        summary = self._summary(random, strayed, step, started)
        verdict, reasons = self._verdict(summary, order)
        row = TrialRow.model_validate(_row(trial, summary, verdict, reasons, started) | {"order": order}).columns()
        slower = 1 + self.drift * min(order, 20) / 20
        row |= {"reference_before_ms": 4.0 * slower, "reference_after_ms": 4.04 * slower}
        if self.seen:
            row["reference_during_ms"] = 4.0 / speed * float(np.exp(random.normal(0, 0.02)))
        place = folder / "trials" / trial.id
        place.mkdir()
        _write(place / "summary.json", summary)
        _write(place / "audit.json", audit(invalid=verdict == "invalid"))
        _write(place / "checks.json", checks(summary))
        _write(place / "usage.json", usage(random, step.load, step.duration_s, strayed))
        if (disturbing := treatment.settings.interference) is not None:
            _write(place / "interference.json", disturbance(disturbing, step.duration_s, trial.repetition))
        _write(
            place / "trial.json",
            {
                "trial": trial.model_dump(mode="json"),
                "row": row,
                "verdict": {"verdict": verdict, "reasons": reasons, "warnings": row["warnings"]},
            },
        )
        return row

    def _summary(self, random: np.random.Generator, capacity: float, step: _Step, started: datetime) -> dict[str, Any]:
        rate, window = step.load, step.duration_s
        arrival = np.cumsum(random.exponential(1 / rate, int(rate * window * 1.2) + 50))
        arrival = arrival[arrival < window]
        planned = max(len(arrival), 1)
        which = random.choice(len(OPERATIONS), len(arrival), p=[share for share, _ in OPERATIONS.values()])
        work = np.array([work for _, work in OPERATIONS.values()])
        mean_work = sum(share * work for share, work in OPERATIONS.values())
        busy = random.exponential(1, len(arrival)) * work[which] / mean_work / capacity
        constant = 0.002 + self.slower_ms.get(step.level, 0.0) / 1000
        finished = _single_server(arrival, busy) + constant + random.exponential(0.001, len(arrival))
        latency = (finished - arrival) * 1000
        service = np.minimum(latency, 0.9 * latency + 0.1)
        limit = self.limit_ms
        bad = latency > limit
        aborted = None
        seen = np.cumsum(bad)
        if step.phase != "fixed" and seen.size and seen[-1] > 0.01 * planned:
            stop = int(np.searchsorted(seen, 0.01 * planned, side="right"))
            at = float(min(finished[stop], window))
            if at < window:
                violations = int(seen[stop])
                text = f"violations {violations} of {planned} planned exceed 1 %"
                aborted = {"at_s": round(at, 3), "reason": text}
                keep = arrival < at
                arrival, which, finished = arrival[keep], which[keep], finished[keep]
                latency, service, bad = latency[keep], service[keep], bad[keep]
                window = at
        timeout = latency > self.timeout_s * 1000
        counts = _counts(len(arrival), int(timeout.sum()))
        done = int(((finished < window) & ~timeout).sum())
        operations = []
        for index, name in enumerate(OPERATIONS):
            mine = which == index
            operations.append(
                {
                    "name": name,
                    "counts": _counts(int(mine.sum()), int(timeout[mine].sum())),
                    "all": {"sent": int(mine.sum() * 1.2), "completed": int(mine.sum() * 1.2)},
                    "violations": int(bad[mine].sum()),
                    "latency_ms": {"intended": _quantiles(latency[mine]), "service": _quantiles(service[mine])},
                }
            )
        share = min(0.9, rate * 20e-6)
        return {
            "schema": 1,
            "started": started.isoformat(),
            "plan": {"arrival": {"process": "poisson", "rate": rate}},
            "planned": planned,
            "window_s": window,
            "counts": counts,
            "violations": int(bad.sum()),
            "completed_in_window": done,
            "throughput": done / window,
            "latency_ms": {
                "intended": _quantiles(latency),
                "service": _quantiles(service),
                "lateness": _quantiles(random.exponential(0.05, len(latency))),
            },
            "spectrum": _spectrum(latency, service) if len(latency) else [],
            "operations": operations,
            "errors": [],
            "batches": batches(arrival, finished, window),
            "series": series(arrival, latency, window),
            "generator": {
                "cpu_s": share * window,
                "wall_s": window,
                "cpu_us_per_request": 20.0,
                "cpu_share": share,
                "wait": "tick",
                "threads": 1,
                "script_starved": 0,
            },
            "aborted": aborted,
        }

    def _verdict(self, summary: dict[str, Any], order: int) -> tuple[str, list[str]]:
        if order in self.invalid:
            return "invalid", ["audit: rate-1 on local has cpu 0.50, requested 1.00"]
        if (aborted := summary["aborted"]) is not None:
            return "not held", [f"broke at {aborted['at_s']:.1f} s: {aborted['reason']}"]
        share = summary["violations"] / max(summary["counts"]["offered"], 1)
        if share > 0.01:
            return "not held", [f"{share:.1%} of scheduled requests were not completed within {self.limit_ms:g} ms"]
        return "held", []


PROVENANCE: dict[str, Any] = {
    "loadstone": "0.1.0",
    "python": "3.11.2",
    "command": ["loadstone", "run", "studies/synthetic.yaml"],
    "time": "2026-01-02T03:04:05+00:00",
    "host": {
        "system": "Debian GNU/Linux 12 (bookworm)",
        "kernel": "6.1.0-28-amd64",
        "architecture": "x86_64",
        "cpu": "Synthetic Xeon 8-core <2.4 GHz>",
        "cores": 8,
        "usable_cores": 8,
        "memory_bytes": 33_400_000_000,
        "cgroup": "v2",
    },
    "tuning": {"scaling=baseline": {"/sys/a": {"before": "0", "set": "1"}, "/sys/b": {"before": "0", "set": "1"}}},
    "software": {"stone": "0.1.0 (go1.26.0)", "postgres": "15.9", "memcached": "1.6.18"},
    "nodes": [
        {
            "name": "local",
            "role": "worker",
            "address": "127.0.0.1",
            "cpus": [0, 1, 2, 3, 4, 5],
            "memory": 33_400_000_000,
        }
    ],
    "warnings": ["the load generator shares its cores with the application"],
}


def _single_server(arrival: np.ndarray, busy: np.ndarray) -> np.ndarray:
    """Departures of a first-come-first-served server, by Lindley's recursion as a running maximum."""
    total = np.cumsum(busy)
    return total + np.maximum.accumulate(arrival - (total - busy))


def _percentiles(values: np.ndarray, percentiles: Iterable[float]) -> list[float]:
    return [round(float(value), 4) for value in np.percentile(values, list(percentiles))]


def _spectrum(latency: np.ndarray, service: np.ndarray) -> list[list[float]]:
    grid = [*range(5, 100, 5), *(100 - 10 ** -(k / 10) for k in range(-6, 31))]
    grid = sorted({round(float(p), 6) for p in grid})
    columns = grid, _percentiles(latency, grid), _percentiles(service, grid)
    return [list(row) for row in zip(*columns, strict=True)]


def _quantiles(values: np.ndarray) -> dict[str, Any]:
    if not len(values):
        return {"count": 0, "mean": None, **dict.fromkeys(PERCENTILES)}
    quantiles = zip(PERCENTILES, _percentiles(values, PERCENTILES.values()), strict=True)
    return {"count": len(values), "mean": float(values.mean()), **dict(quantiles)}


def _counts(offered: int, timeouts: int) -> dict[str, int]:
    none = {"late": 0, "errors": 0, "unsent": 0, "in_flight": 0}
    return {"offered": offered, "sent": offered, "completed": offered - timeouts, "timeouts": timeouts, **none}


def _row(trial: Trial, summary: dict[str, Any], verdict: str, reasons: list[str], started: datetime) -> dict[str, Any]:
    latency, aborted = summary["latency_ms"], summary["aborted"]
    return {
        "trial_id": trial.id,
        "treatment_id": trial.treatment.id,
        "treatment": trial.treatment.label,
        **{f"factor_{name}": level for name, level in trial.treatment.levels.items()},
        "phase": trial.phase,
        "repetition": trial.repetition,
        "number": trial.number,
        "rate": trial.rate,
        "window_s": summary["window_s"],
        **summary["counts"],
        "violations": summary["violations"],
        "throughput": summary["throughput"],
        **{f"{name}_ms": latency["intended"][name] for name in (*PERCENTILES, "mean")},
        "service_p50_ms": latency["service"]["p50"],
        "service_p99_ms": latency["service"]["p99"],
        "lateness_p99_ms": latency["lateness"]["p99"],
        "generator_cpu_share": summary["generator"]["cpu_share"],
        "generator_us_per_request": 20.0,
        "steady": None if aborted else True,
        "warmup_cut_s": None if aborted else 0.0,
        "verdict": verdict,
        "reasons": reasons,
        "warnings": ["the load generator shares its cores with the application"],
        "started": started.isoformat(timespec="milliseconds"),
        "aborted_at_s": aborted["at_s"] if aborted else None,
        "emulated": False,
        "environment": trial.treatment.settings.environment or "bare",
        "documents": "postgres",
    }


def _write(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value))  # indented, it would take ten times as long
