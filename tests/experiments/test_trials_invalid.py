"""The exit code of a run with invalid trials: 4 where they are why it has no answer."""

from __future__ import annotations

import pytest

from loadstone.cli import running
from loadstone.model.errors import TrialsInvalid
from loadstone.workloads.base import DriverError
from tests.experiments.fakes import SEARCH, Begin, FakeDriver, conduct

pytestmark = pytest.mark.usefixtures("fake_layers")

NARROW = SEARCH.replace("start: 100", "start: 100, highest: 300")


def test_a_single_invalid_trial_is_not_why_a_range_has_no_breaking_point(begin: Begin) -> None:
    plan, ledger = begin(NARROW)
    driver = FakeDriver(capacity=1e6)
    driver.raises[2] = DriverError("stone load exited with 1")
    conduct(plan, ledger, driver)
    assert sum(record.outcome.verdict == "invalid" for record in ledger.records) == 1
    running.print_outcome(plan, ledger, [])


def test_the_search_that_is_named_is_the_one_that_invalid_trials_ended(begin: Begin) -> None:
    plan, ledger = begin(NARROW.replace("repetitions: 1", "repetitions: 1, order: sequential"))
    driver = FakeDriver(capacity=1e6)
    driver.raises.update({place: DriverError("stone load exited with 1") for place in range(5, 20)})
    conduct(plan, ledger, driver)
    assert {record.row.treatment for record in ledger.records} == {"scaling=baseline", "scaling=unlimited"}
    with pytest.raises(TrialsInvalid, match=r"were invalid: scaling=unlimited: 5 trials in a row were invalid"):
        running.print_outcome(plan, ledger, [])
