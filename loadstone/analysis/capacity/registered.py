"""Predictions that were written down before they were measured, and how they did."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from loadstone.analysis import drift
from loadstone.analysis.capacity.fitting import CapacityModel
from loadstone.analysis.capacity.predicting import Prediction
from loadstone.analysis.run import RunFolder
from loadstone.analysis.schema import TableRow
from loadstone.analysis.summary import TreatmentSummary

FOLDER = "predictions"
VERSION = 5
"""The version of the model: another one may predict otherwise from the same trials."""


@dataclass(frozen=True)
class Registered:
    """``predictions/<treatment_id>.json``. Loads in requests/s; ``low`` and ``high`` are the ends of 95 %."""

    model: int
    loadstone: str
    time: str
    """When it was written, RFC 3339."""
    treatment_id: str
    treatment: str
    base_id: str
    base: str
    base_breaking_point: float
    trials: tuple[str, ...]
    """That it was made from."""
    predicted: float
    low: float
    high: float
    bottleneck: str
    """A service's or node's name."""
    bottleneck_name: str
    utilisation: float
    extrapolation: float
    warnings: tuple[str, ...]


_SHAPE = TypeAdapter(Registered)


def register(
    model: CapacityModel, prediction: Prediction, treatment_id: str, label: str, time: str, loadstone: str
) -> dict[str, Any]:
    """The content of the file."""
    return asdict(
        Registered(
            model=VERSION,
            loadstone=loadstone,
            time=time,
            treatment_id=treatment_id,
            treatment=label,
            base_id=model.treatment_id,
            base=model.label,
            base_breaking_point=model.breaking_point.value,
            trials=model.trials,
            predicted=prediction.value,
            low=prediction.low,
            high=prediction.high,
            bottleneck=prediction.bottleneck.name,
            bottleneck_name=str(prediction.bottleneck),
            utilisation=prediction.utilisation,
            extrapolation=prediction.extrapolation,
            warnings=prediction.warnings,
        )
    )


def registered(run_folder: Path) -> tuple[list[Registered], list[str]]:
    """The predictions of a run in the order of time, and what is wrong with files that cannot be read."""
    found, wrong = [], []
    for file in sorted((run_folder / FOLDER).glob("*.json")):
        try:
            found.append(_SHAPE.validate_python(json.loads(file.read_text(encoding="utf-8"))))
        except (OSError, ValueError, ValidationError) as error:
            wrong.append(f"{FOLDER}/{file.name} cannot be read: {str(error).splitlines()[0]}")
    return sorted(found, key=lambda prediction: (prediction.time, prediction.treatment_id)), wrong


def beaten(predictions: Sequence[Registered], lows: Mapping[str, float]) -> dict[str, str]:
    """The treatments that are predicted to bear less than a measured one of the same base, each with the best, by id.

    ``lows``: the lower ends of the measured breaking points by treatment, in requests/s.
    """
    found = {}
    for prediction in predictions:
        alike = {
            prediction.base_id,
            *(other.treatment_id for other in predictions if other.base_id == prediction.base_id),
        }
        measured = {name: low for name, low in lows.items() if name in alike and name != prediction.treatment_id}
        best = max(measured, key=lambda name: measured[name], default=None)
        if best is not None and prediction.high < measured[best]:
            found[prediction.treatment_id] = best
    return found


@dataclass(frozen=True)
class LeftOut:
    """A treatment that a guided study did not measure, and the measured one that beats its prediction."""

    predicted: Registered
    better: str
    """Its label."""
    at_least: float
    """What it bears, in requests/s: the lower end of the 95 % interval."""


def left_out(run: RunFolder, treatments: Sequence[TreatmentSummary]) -> dict[str, LeftOut]:
    """The treatments without trials that a guided study has no need of, by id; nothing of any other study."""
    search = run.study.load.capacity
    if search is None or not search.guided:
        return {}
    predictions, _ = registered(run.folder)
    by_id = {treatment.id: treatment for treatment in treatments}
    lows = {
        treatment.id: treatment.searched.result.breaking_point.low
        for treatment in treatments
        if treatment.searched is not None and treatment.searched.result is not None
    }
    predicted = {prediction.treatment_id: prediction for prediction in predictions}
    return {
        loser: LeftOut(predicted[loser], by_id[better].label, lows[better])
        for loser, better in beaten(predictions, lows).items()
        if loser in by_id and not len(by_id[loser].trials)
    }


class Score(TableRow, name="predictions"):
    """A prediction beside what was measured; loads in requests/s with the ends of their 95 % intervals.

    ``error``: the predicted to the measured, less 1. ``before``: whether it was written down before any trial of its
    treatment was run. ``outcome``: hit, miss or not measured. ``slower``: how much longer the reference loop took
    beside the treatment's trials than beside its base's, 0.33: 33 %. ``corrected``: the error, were the prediction for
    a machine that is so much slower.
    """

    treatment: str
    base: str
    predicted: float
    predicted_low: float
    predicted_high: float
    bottleneck: str
    measured: float | None = None
    measured_low: float | None = None
    measured_high: float | None = None
    error: float | None = None
    slower: float | None = None
    corrected: float | None = None
    outcome: str
    registered: str
    before: bool | None = None
    extrapolation: float


def scores(predictions: Sequence[Registered], treatments: Sequence[TreatmentSummary]) -> list[Score]:
    """One row per prediction."""
    by_id = {treatment.id: treatment for treatment in treatments}
    return [
        _score(prediction, by_id.get(prediction.treatment_id), by_id.get(prediction.base_id))
        for prediction in predictions
    ]


_FEW = 4.0
"""Predictions for which the assumed error of the model counts."""


def scale(predictions: Sequence[Registered], treatments: Sequence[TreatmentSummary], leaving_out: str = "") -> float:
    """By how much the model's own error is larger than assumed, from predictions that were measured.

    The root mean square of what they missed by in standard deviations, with a prior at 1; ``leaving_out`` is a
    treatment that is left out, so that no prediction is judged by itself.
    """
    others = [prediction for prediction in predictions if prediction.treatment_id != leaving_out]
    rows = scores(others, treatments)
    return scale_of((row.predicted, row.predicted_low, row.predicted_high, row.measured) for row in rows)


def scale_of(outcomes: Iterable[tuple[float, float, float, float | None]]) -> float:
    """The same of (predicted, low, high, measured); what was not measured is left out."""
    missed = [
        math.log(measured / predicted) / (math.log(high / low) / 3.92)
        for predicted, low, high, measured in outcomes
        if measured is not None and high > low
    ]
    return math.sqrt((_FEW + sum(miss**2 for miss in missed)) / (_FEW + len(missed)))


def error(predicted: float, measured: float, slower: float = 0.0) -> float:
    """The predicted to the measured, less 1; ``slower`` corrects the prediction for a machine slower by that share."""
    return predicted / (1 + slower) / measured - 1


def _score(prediction: Registered, treatment: TreatmentSummary | None, base: TreatmentSummary | None) -> Score:
    score = Score(
        treatment=prediction.treatment,
        base=prediction.base,
        bottleneck=prediction.bottleneck_name,
        predicted=prediction.predicted,
        predicted_low=prediction.low,
        predicted_high=prediction.high,
        registered=prediction.time,
        extrapolation=prediction.extrapolation,
        outcome="not measured",
    )
    if treatment is None:
        return score
    if started := [datetime.fromisoformat(trial.started) for trial in treatment.trials if trial.valid]:
        score = replace(score, before=datetime.fromisoformat(prediction.time) <= min(started))
    if treatment.searched is None or treatment.searched.result is None:  # a bracket alone is no measurement
        return score
    measured = treatment.searched.result.breaking_point
    slower = drift.slower(treatment.trials, base.trials) if base is not None else None
    return replace(
        score,
        measured=measured.value,
        measured_low=measured.low,
        measured_high=measured.high,
        error=error(prediction.predicted, measured.value),
        slower=slower,
        corrected=error(prediction.predicted, measured.value, slower) if slower is not None else None,
        outcome="hit" if prediction.low <= measured.value <= prediction.high else "miss",
    )
