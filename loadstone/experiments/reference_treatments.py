"""Which treatments the others are predicted from, and the trials that show what a request costs them.

A treatment is predicted from the first of the plan that differs from it in scaling, placement, limits and replicas
alone: what else differs changes what a request costs, and that must be measured. Where a study sets
``load.capacity.predict``, these reference treatments are searched first, then loaded five times below their breaking
point.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from loadstone.experiments.next_trial import NextTrial, Outcome, readable
from loadstone.model.trial import Treatment

LOADS = (0.05, 0.2, 0.35, 0.5, 0.75)
"""Shares of the breaking point to load it with: low enough that the bottleneck is not throttled, and far enough apart
to show a trend; the first shows what the services use when they do next to nothing."""
_ATTEMPTS = 2
"""Trials at one of these loads, if the first is invalid."""
_PREDICTED = ("scaling", "placement")


def reference_of(treatments: Iterable[Treatment], treatment: Treatment) -> Treatment:
    """The treatment that ``treatment`` is predicted from; itself where it is the first of its kind."""
    return next(candidate for candidate in treatments if _costs(candidate) == _costs(treatment))


def among(treatments: Sequence[Treatment]) -> list[Treatment]:
    """The treatments that others are predicted from, or could be, in their order."""
    return [treatment for treatment in treatments if reference_of(treatments, treatment) is treatment]


def _costs(treatment: Treatment) -> dict[str, Any]:
    settings = treatment.settings.model_dump(exclude=set(_PREDICTED))
    return {**settings, "application": treatment.application_digest, "varied": treatment.varied}


def next_load(breaking_point: float, duration_s: float, history: Sequence[Outcome]) -> NextTrial | None:
    """The next trial of a reference treatment whose search has found its breaking point; None when all were done."""
    for share in LOADS:
        load = readable(share * breaking_point)
        there = [outcome for outcome in history if outcome.phase == "model" and outcome.load == load]
        if len(there) < _ATTEMPTS and all(outcome.verdict == "invalid" for outcome in there):
            return NextTrial(load, "model", duration_s)
    return None
