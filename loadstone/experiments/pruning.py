"""A guided study: best predictions are measured first, and what they surely beat is left out.

Branch and bound: a treatment whose predicted breaking point, at the upper end of its 95 % interval, lies below the
lower end of a measured one cannot be the best, unless the prediction is wrong. It stands in the results with both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from loadstone.experiments.ledger import FinishedTrial
from loadstone.model.trial import Treatment

if TYPE_CHECKING:  # it brings NumPy along, and a plan is made without
    from loadstone.analysis.capacity import Registered

Campaign = tuple[Treatment, int]


def foretold(run_folder: Path) -> list[Registered]:
    """What was predicted in a run so far."""
    if not (run_folder / "predictions").exists():
        return []
    from loadstone.analysis.capacity import registered

    return registered(run_folder)[0]


def left_out(
    treatments: Iterable[Treatment],
    records: Sequence[FinishedTrial],
    foretold: Sequence[Registered],
    low: Callable[[Treatment], float | None],
) -> dict[str, str]:
    """Treatments that are not measured, each with the one that beats it, by id.

    ``low``: the lower end of a treatment's breaking point in requests/s, None while its search goes on. What was begun
    is always finished.
    """
    if not foretold:
        return {}
    from loadstone.analysis.capacity import beaten

    begun = {record.treatment_id for record in records}
    known = {treatment.id: low(treatment) for treatment in treatments if treatment.id in begun}
    return {
        loser: better
        for loser, better in beaten(foretold, {name: value for name, value in known.items() if value}).items()
        if loser not in begun
    }


def in_turn(
    campaigns: Iterable[Campaign], records: Sequence[FinishedTrial], foretold: Sequence[Registered]
) -> list[Campaign]:
    """What was begun first, then the highest prediction; what cannot be predicted goes before what can."""
    begun = {(record.treatment_id, record.repetition) for record in records}
    predicted: Mapping[str, float] = {prediction.treatment_id: prediction.predicted for prediction in foretold}

    def place(campaign: Campaign) -> tuple[int, bool, float]:
        treatment, repetition = campaign
        return repetition, (treatment.id, repetition) not in begun, -predicted.get(treatment.id, float("inf"))

    return sorted(campaigns, key=place)
