"""A log that is missing costs no trial: it is one of its warnings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import docker.errors
import pytest

from loadstone.infrastructure.base import Access
from loadstone.orchestration.docker import engines
from loadstone.workloads.base import DriverError
from tests.experiments.fakes import Begin, FakeDriver, FakeOrchestrator, conduct

pytestmark = pytest.mark.usefixtures("fake_layers")


def logs(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("trials/*/logs/*")}


def test_a_cluster_that_gives_no_logs_leaves_trials_with_a_warning(begin: Begin) -> None:
    plan, ledger = begin()
    FakeOrchestrator.silent = True
    conduct(plan, ledger)
    assert {record.outcome.verdict for record in ledger.records} == {"held", "not held"}
    expected = "the logs of replicas are missing: the cluster cannot be queried"
    assert all(expected in record.row.warnings for record in ledger.records)
    assert logs(ledger.folder) == set()


def test_a_log_that_cannot_be_read_is_named_and_the_others_are_kept(begin: Begin) -> None:
    plan, ledger = begin()
    FakeOrchestrator.logless = ["cache-1", "cache-2"]
    conduct(plan, ledger)
    expected = "the logs of these replicas cannot be read and are missing: cache-1, cache-2"
    assert all(expected in record.row.warnings for record in ledger.records)
    assert logs(ledger.folder) == {"web-1.log"}


def test_the_failure_of_a_trial_is_its_own_and_not_that_of_its_logs(begin: Begin) -> None:
    plan, ledger = begin()
    FakeOrchestrator.silent = True
    driver = FakeDriver()
    driver.raises[1] = DriverError("stone load exited with 1")
    conduct(plan, ledger, driver)
    (failed,) = (record.row for record in ledger.records if record.outcome.verdict == "invalid")
    assert failed.reasons == ("the load generator failed: stone load exited with 1",)
    assert "the logs of replicas are missing: the cluster cannot be queried" in failed.warnings


def test_an_engine_that_refuses_a_log_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refuses:
        url = "unix:///engine"

        def __init__(self, url: str) -> None:
            self.api = self

        def logs(self, container: str, **options: Any) -> bytes:
            raise docker.errors.APIError("configured logging driver does not support reading")

    monkeypatch.setattr(engines, "Engine", Refuses)
    found = engines.Engines(Access("docker", engines={"a": "unix:///engine"}))
    assert found.log("a", "c" * 64, 10) is None
