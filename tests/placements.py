"""Synthetic runs that vary placement: the capacity of each is given, as that of any other level."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.model.placement import LETTERS
from tests import observed
from tests.synthetic import Synthetic

SPLITS = {"FLC-D": 1300.0, "FL-CD": 1100.0, "FLD-C": 800.0}


@dataclass
class Placed(Synthetic):
    """``capacities`` by the names of splits."""

    factor: str = "placement"
    name: str = "placed"

    def _study(self) -> dict[str, Any]:
        study = super()._study()
        study["factors"]["placement"] = [_placement(name) for name in study["factors"]["placement"]]
        return study


def _placement(name: str) -> dict[str, Any]:
    node_of = {letter: f"worker-{number}" for number, group in enumerate(name.split("-"), 1) for letter in group}
    return {"name": name, "tiers": {tier: [node_of[letter]] for tier, letter in LETTERS.items()}}


def placed(results: Path, kind: str = "rich", **settings: Any) -> Path:
    """A run of three splits, observed on machines that have everything or on emulated hosts (``poor``)."""
    defaults: dict[str, Any] = {"rates": [200, 500, 700], "repetitions": 4, "duration_s": 2.0, "capacities": SPLITS}
    folder = Placed(**{**defaults, **settings}).write(results)
    observed.observe(folder, kind, capacity=900)
    return folder
