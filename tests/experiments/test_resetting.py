"""When stores are emptied and filled anew."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from loadstone.experiments.deployment import Deployed
from loadstone.experiments.ledger import FinishedTrial
from loadstone.model.errors import DeploymentError
from tests.experiments.fakes import STUDY, Begin, FakeOrchestrator, conduct

pytestmark = pytest.mark.usefixtures("fake_layers")

ONE_DEPLOYMENT = STUDY.replace("scaling: [baseline, unlimited]", "load.connections: [1, 2]")
EACH = ONE_DEPLOYMENT.replace("repetitions: 2", "repetitions: 2, reset: per-treatment")


@pytest.fixture
def resets(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """The resets that were done."""
    done: list[bool] = []
    monkeypatch.setattr(Deployed, "reset", lambda deployed, listener: done.append(True))
    return done


def turns(records: Sequence[FinishedTrial]) -> int:
    """How often another treatment begins."""
    treatments = [record.treatment_id for record in records]
    return sum(now != before for before, now in zip([None, *treatments], treatments, strict=False))


def test_treatments_of_one_deployment_are_reset_each(begin: Begin, resets: list[bool]) -> None:
    plan, ledger = begin(EACH)
    conduct(plan, ledger)
    assert len(FakeOrchestrator.applied) == 1
    assert len(resets) == turns(ledger.records) >= 2


def test_images_whose_data_nothing_empties_are_deployed_anew_for_each_treatment(
    begin: Begin, resets: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, ledger = begin(EACH)
    monkeypatch.setattr(type(plan.application), "keeps_data", lambda application: True)
    conduct(plan, ledger)
    assert len(FakeOrchestrator.applied) == turns(ledger.records) >= 2


def test_a_reset_that_fails_is_done_again_before_the_next_trial(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def reset(deployed: Deployed, listener: object) -> None:
        calls.append(deployed.treatment.id)
        if len(calls) == 2:
            raise DeploymentError("seeding failed: half of it is there")

    monkeypatch.setattr(Deployed, "reset", reset)
    plan, ledger = begin(EACH)
    conduct(plan, ledger)
    failed = [record for record in ledger.records if record.outcome.verdict == "invalid"]
    assert ["half of it is there" in reason for record in failed for reason in record.row.reasons] == [True]
    assert len(calls) == turns(ledger.records) + 1


@pytest.mark.parametrize(("reset", "times"), [("never", 0), ("per-trial", 12)])
def test_the_other_ways_do_not_ask_for_the_treatment(begin: Begin, resets: list[bool], reset: str, times: int) -> None:
    plan, ledger = begin(EACH.replace("per-treatment", reset))
    conduct(plan, ledger)
    assert len(resets) == times
