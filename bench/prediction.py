"""Predictions of the capacity model, written down before they are measured, over three applications.

For each application a base is searched, with five loads below its breaking point; every treatment is predicted from it
and the prediction registered; then each treatment is searched, and the base once more, which shows how far the machine
drifted meanwhile. All as limited processes on this machine. It goes on where it was stopped: what is in ``--folder``
already is not run again, and no prediction is made twice. ``--application`` and ``--treatments`` run a part.

The whole is 36 searches of trials of 10 s after 5 s of warm-up, in which a trial fills its caches: after 1 s, filling
them broke trials at loads far below what others held. A base is searched to 5 %, for its error is in ten predictions,
and a treatment to 10 %, by which its predicted interval is widened.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from bench.common import ROOT, Row, build_stone, report
from bench.runs import finished
from loadstone.analysis import capacity, drift, summary
from loadstone.analysis.breaking_point import Estimate
from loadstone.analysis.run import open_run
from loadstone.experiments import predicting, what_if
from loadstone.model.document import Document

BASE_PRECISION, PRECISION = 0.05, 0.1
START = 0.8
"""The share of what was predicted where a search begins, which changes how long it takes and not where it ends."""
INSIDE, WITHIN, NEAR = 0.9, 0.8, 0.1
"""Targets: 27 of 30 inside their intervals, 24 of 30 within 10 % of what was measured."""
APPLICATIONS: dict[str, dict[str, Any]] = {
    "hotel-reservation": {"workload": "mixed", "resources": {"frontend": {"cpu": 0.1}}},
    "social-network": {"workload": "mixed", "dataset": "small-with-posts", "resources": {"frontend": {"cpu": 0.1}}},
    "media-microservices": {"workload": "page", "resources": {"frontend": {"cpu": 0.05}}},
}
"""The bases, P99 <= 200 ms. Each limits its front end so that this is the bottleneck, and not the machine: a page of
Media Microservices costs its other services eight times what it costs the front end."""


@dataclass(frozen=True)
class Treatment:
    """What differs from a base: the limit of the front end, relative, and settings."""

    cpu: float = 1.0
    changes: tuple[str, ...] = ()

    def settings(self, application: str) -> tuple[str, ...]:
        """All that is changed, as ``KEY.KEY=VALUE``."""
        limit = f"resources.frontend.cpu={self.cpu * APPLICATIONS[application]['resources']['frontend']['cpu']:g}"
        return (*self.changes, limit) if self.cpu != 1 else self.changes


_HORIZONTAL = ("scaling=horizontal",)
TREATMENTS = {
    "twice-the-cpu": Treatment(2),
    "horizontal": Treatment(changes=_HORIZONTAL),
    "p99-150ms": Treatment(changes=("load.capacity.slo.p99=150ms",)),
    "half-the-cpu": Treatment(0.5),
    "three-quarters-the-cpu": Treatment(0.75),
    "horizontal-half": Treatment(0.5, _HORIZONTAL),
    "p95-200ms": Treatment(changes=("load.capacity.slo={p95: 200ms}",)),
    "three-halves-the-cpu": Treatment(1.5),
    "p99-300ms": Treatment(changes=("load.capacity.slo.p99=300ms",)),
    "horizontal-three-quarters": Treatment(0.75, _HORIZONTAL),
}
"""The first are one of each kind, so that a part represents all."""


@dataclass(frozen=True)
class PredictionOutcome:
    """A registered prediction with what was measured; requests/s."""

    name: str
    predicted: float
    low: float
    high: float
    bottleneck: str
    measured: Estimate | None = None
    slower: float | None = None
    """How much longer the reference loop took than beside the base, 0.33: 33 %."""

    @property
    def inside(self) -> bool:
        return self.measured is not None and self.low <= self.measured.value <= self.high

    @property
    def within(self) -> bool:
        return self.measured is not None and abs(capacity.error(self.predicted, self.measured.value)) <= NEAR


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--application", choices=APPLICATIONS, action="append", help="only this one; repeatable")
    parser.add_argument("--treatments", type=int, default=len(TREATMENTS), help="only the first so many of each")
    parser.add_argument("--folder", type=Path, default=ROOT / ".build/bench/prediction", help="where its data lie")
    given = parser.parse_args(arguments)
    build_stone()
    rows: list[Row] = []
    outcomes: list[PredictionOutcome] = []
    notes: list[str] = []
    for application in given.application or APPLICATIONS:
        found, again = _application(application, given.folder / application, given.treatments, outcomes)
        outcomes += found
        rows += [*(_row(application, outcome) for outcome in found), again]
        notes += [_note(application, outcome) for outcome in found]
    report("prediction", [*rows, *_totals(outcomes)], notes)


def _application(
    name: str, folder: Path, count: int, before: Sequence[PredictionOutcome]
) -> tuple[list[PredictionOutcome], Row]:
    """Search the base, register, measure. ``before``: of other applications, whose misses scale the model's error."""
    base = _searched(name, folder, "base", (), 100.0)
    register = folder / "predictions.json"
    if not register.exists():
        predictions = _predict(name, base, capacity.scale_of(_as_tuple(outcome) for outcome in before))
        data = {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "model": capacity.VERSION,
            "base": str(base),
            "predictions": [
                {key: value for key, value in asdict(prediction).items() if key not in ("measured", "slower")}
                for prediction in predictions
            ],
        }
        register.write_text(json.dumps(data, indent=1) + "\n")
    registered = [PredictionOutcome(**load) for load in json.loads(register.read_text())["predictions"]]
    found = []
    for outcome in registered[:count]:
        changes = TREATMENTS[outcome.name].settings(name)
        run = _searched(name, folder, outcome.name, changes, START * outcome.predicted)
        slower = drift.slower(open_run(run).trials, open_run(base).trials)
        found.append(replace(outcome, measured=_measured(run), slower=slower))
    first = _measured(base)
    again = _searched(name, folder, "base-again", (), round(START * first.value, 1) if first else 100.0)
    return found, _drift(name, first, _measured(again))


def _searched(application: str, folder: Path, name: str, changes: Sequence[str], start: float) -> Path:
    """The folder of a finished search of the base with ``changes``."""
    study = study_of(application, f"{application}-{name}", changes, start, name == "base")
    return finished(name, study, folder)


def study_of(application: str, title: str, changes: Sequence[str], start: float, modelled: bool) -> dict[str, Any]:
    """The study of the base with ``changes``; ``modelled`` adds the trials that predictions are made from."""
    study = {
        "version": 1,
        "name": title,
        "application": application,
        **APPLICATIONS[application],
        "orchestrator": "process",
        "scaling": "baseline",
        "cluster": {"infrastructure": "local"},
        "load": {
            "arrival": "poisson",
            "connections": 128,
            "timeout": "2s",
            "capacity": {
                "slo": {"p99": "200ms", "completed": "99%"},
                "precision": f"{BASE_PRECISION if modelled else PRECISION:.1%}",
                "start": round(start, 1),
                "bracket_duration": "3s",
                "predict": modelled,
            },
        },
        "trial": {"warmup": "5s", "duration": "10s", "reset": "per-trial"},
    }
    document = Document(yaml.safe_dump(study), "bench/prediction")
    for change in changes:
        document.override(change)
    return dict(document.data)


def _predict(application: str, base: Path, scale: float) -> list[PredictionOutcome]:
    run = open_run(base)
    (treatment,) = summary.treatments(run)
    try:
        model = capacity.fit(run, treatment)
    except capacity.CannotFit as missing:
        sys.exit(f"no prediction: {missing}")
    nodes = predicting.nodes_of(base)
    found = []
    for name, other in TREATMENTS.items():
        changes = other.settings(application)
        _, layout = what_if.supposed(run.plan.document, treatment.id, nodes, changes, {})
        objective = what_if.other_objective(run.plan, changes)
        try:
            outcome = capacity.predict(model, layout, PRECISION, objective, scale)
        except ValueError as problem:
            sys.exit(f"no prediction of {name}: {problem}")
        found.append(PredictionOutcome(name, outcome.value, outcome.low, outcome.high, str(outcome.bottleneck)))
    return found


def _measured(run: Path) -> Estimate | None:
    """The breaking point; None where the search found none."""
    (treatment,) = summary.treatments(open_run(run))
    if treatment.searched is None or treatment.searched.result is None:
        return None
    return treatment.searched.result.breaking_point


def _as_tuple(outcome: PredictionOutcome) -> tuple[float, float, float, float | None]:
    return outcome.predicted, outcome.low, outcome.high, outcome.measured.value if outcome.measured else None


def _drift(application: str, first: Estimate | None, again: Estimate | None) -> Row:
    """The base after everything else beside the base before it."""
    if first is None or again is None:
        sys.exit(f"{application}: the base has no breaking point to compare with")
    ratio = again.value / first.value
    title = f"{application}: base, at last"
    return Row(title, "req/s", again.value, again.low, again.high, "at first", first.value, ratio)


def _row(application: str, outcome: PredictionOutcome) -> Row:
    measured = outcome.measured.value if outcome.measured else None
    ratio = outcome.predicted / measured if measured else None
    title = f"{application}: {outcome.name}, predicted"
    return Row(
        title,
        "req/s",
        outcome.predicted,
        outcome.low,
        outcome.high,
        "measured",
        measured,
        ratio,
        "inside",
        outcome.inside,
    )


def _note(application: str, outcome: PredictionOutcome) -> str:
    if outcome.measured is None:
        return f"{application}: {outcome.name}: the search found no breaking point, which counts as missed"
    interval = f"{outcome.measured.value:,.0f} req/s [{outcome.measured.low:,.0f}, {outcome.measured.high:,.0f}]"
    text = f"{application}: {outcome.name}: measured {interval}; predicted to be bounded by {outcome.bottleneck}"
    if outcome.slower is None:
        return text
    corrected = capacity.error(outcome.predicted, outcome.measured.value, outcome.slower)
    return f"{text}; the reference loop took {outcome.slower:+.0%}; error corrected for that {corrected:+.1%}"


def _totals(outcomes: Sequence[PredictionOutcome]) -> list[Row]:
    many = len(outcomes)
    inside, within = sum(outcome.inside for outcome in outcomes), sum(outcome.within for outcome in outcomes)
    least = [round(share * many + 0.4999) for share in (INSIDE, WITHIN)]
    return [
        Row(
            "measured inside the interval",
            f"of {many}",
            inside,
            target=f"at least {least[0]}",
            holds=inside >= least[0],
        ),
        Row("predicted within 10 %", f"of {many}", within, target=f"at least {least[1]}", holds=within >= least[1]),
    ]


if __name__ == "__main__":
    main(sys.argv[1:])
