"""All trials of a study wait alike for their next send, whatever its factors vary."""

from __future__ import annotations

from typing import Any

import pytest

from loadstone.model.records.summary import TrialSummary
from loadstone.workloads.base import Offer, Progress
from loadstone.workloads.stone import load_plan
from tests.experiments.fakes import SEARCH, STUDY, Conduct, FakeDriver

FIXED = STUDY.replace("repetitions: 2", "repetitions: 1")
VARIED = FIXED.replace("rates: [100, 200, 300], ", "")
SCALING = "scaling: [baseline, unlimited]"


class Planning(FakeDriver):
    """Notes how the generator would wait in each trial."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[tuple[Any, ...]] = []

    def run(self, offer: Offer, progress: Progress) -> TrialSummary:
        plan = load_plan(offer)
        self.waits.append(tuple(plan.get(key) for key in ("wait", "wait_rate", "lateness_ms")))
        return super().run(offer, progress)


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        (VARIED.replace(SCALING, "load.rates: [[20], [30, 9000]]"), ("auto", 9000.0, None)),
        (FIXED.replace(SCALING, "load.threads: [1, 2]"), ("auto", 300.0, None)),
        (FIXED.replace(SCALING, "load.lateness: [2ms, 50ms]"), ("auto", 300.0, 2.0)),
        (SEARCH.replace(f"factors: {{{SCALING}}}", ""), ("precise", 100_000.0, None)),
    ],
)
def test_all_trials_of_a_study_wait_alike(conduct: Conduct, text: str, wait: tuple[Any, ...]) -> None:
    driver = Planning()
    conduct(text, driver)
    assert len(driver.waits) > 1 and set(driver.waits) == {wait}
