"""Searches whose trials have margins: they say how far each was from its own limit."""

from __future__ import annotations

import math
import random

from loadstone.experiments.probe import NextTrial, Outcome
from loadstone.experiments.search import Search, next_probe
from tests.experiments.test_search import MOST


def measured(search: Search, capacity: float, slope: float, seed: int, reach: float = 0.05) -> list[Outcome]:
    """The history of a search whose trials say how far they were from their own limit."""
    done: list[Outcome] = []
    while isinstance(step := next_probe(search, done), NextTrial):
        rng = random.Random(f"{seed} {len(done)}")
        distance = math.log(capacity / step.load) + slope * rng.gauss(0, 1)
        margin = distance / (reach if distance >= 0 else reach / 10)
        done.append(Outcome(step.load, step.phase, "held" if distance >= 0 else "not held", margin=margin))
        assert len(done) < MOST
    return done


def test_a_search_with_margins_that_was_killed_resumes_to_the_same_end() -> None:
    whole = measured(Search(), 790, 0.05, 3)
    for cut in range(0, len(whole), 4):
        step = next_probe(Search(), whole[:cut])
        assert isinstance(step, NextTrial) and (step.load, step.phase) == (whole[cut].load, whole[cut].phase)
