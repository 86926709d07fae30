"""The whole Hotel Reservation as processes: deployed, seeded, queried, checked, removed."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Callable, Iterator
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest

from loadstone.applications import catalogue
from loadstone.applications.checking import check
from loadstone.applications.seeding import Seeder
from loadstone.infrastructure import journal
from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.local import Local
from loadstone.model.cluster import Cluster
from loadstone.model.errors import DeploymentError, PreflightError
from loadstone.monitoring.replicas import UsageWindow
from loadstone.orchestration.process import Process
from tests.orchestration.conftest import deployed
from tests.support.audits import complete
from tests.support.summaries import check_of

pytestmark = [pytest.mark.system, pytest.mark.servers]

Deploy = Callable[..., tuple[Process, Seeder]]
BOOK = (
    "/reservation?inDate=2015-04-09&outDate=2015-04-11&hotelId=7&customerName=Cornell_1"
    "&username=Cornell_1&password=1111111111&number=1"
)
KEY = ("documents-reservation", "reservation")


@pytest.fixture
def deploy(own_folders: Path, tmp_path: Path) -> Iterator[Deploy]:
    """Deploy and seed the application for some settings, as a study does."""
    try:
        stone = stone_binary()
    except PreflightError as error:
        pytest.skip(str(error))
    started: list[Process] = []

    def start(stores_only: bool = False, **settings: str) -> tuple[Process, Seeder]:
        application = catalogue.load("hotel-reservation").application
        deployment = deployed(
            application, Local(Cluster()).sketch("process", 0), f"test-hotel-{os.getpid()}", **settings
        )
        process = Process(deployment, tmp_path / "run")
        if any(finding.level == "error" for finding in process.preflight()):
            pytest.skip(f"needs stores: {process.preflight()}")
        started.append(process)
        seeder = Seeder(stone, application, process, deployment)
        process.apply(stores_only=True)
        process.ready(stores_only=True)
        if stores_only:
            return process, seeder
        seeder.seed()
        process.apply()
        process.ready()
        return process, seeder

    yield start
    for process in started:
        process.remove()


def ask(process: Process, path: str, method: str = "GET", replica: int = 0) -> Any:
    url = f"http://{process.addresses('frontend', 'http')[replica]}{path}"
    with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=60) as response:
        return json.load(response)


def test_deploy_seed_ask_audit_check_remove(deploy: Deploy) -> None:
    process, seeder = deploy()
    window = UsageWindow(process)
    window.start()
    before = seeder.counts()
    assert before["documents-user", "user"] == 501
    found = ask(process, "/hotels?inDate=2015-04-09&outDate=2015-04-11&lat=38.0&lon=-122.1")
    assert found["features"], "hotels near a point in the middle of them"
    assert ask(process, BOOK, "POST") == {"message": "Reserve successfully!"}
    window.stop()

    rows = process.audit()
    assert complete([row.model_dump() | {"ok": row.ok} for row in rows], 22, image=False)
    after = seeder.counts()
    summary = check_of([{"name": "reservations", "all": {"sent": 1, "completed": 1}}])
    assert [row.ok for row in check(catalogue.load("hotel-reservation").application, before, after, summary)] == [True]
    used = {row.replica: row.cpu_s for row in window.rows()}
    assert len(used) == 22
    assert used["frontend-1"] > 0 and used["documents-reservation-1"] > 0

    seeder.reset()
    assert seeder.counts() == before
    assert process.events() == []
    process.remove()
    assert journal.entries() == []


def test_replicas_of_everything_each_hold_the_seed(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    process, seeder = deploy(scaling="unlimited")
    single = seeder.counts()
    process.remove()
    # The paper's limits do not fit a small machine, its replicas do.
    application = catalogue.load("hotel-reservation").application
    small = application.model_copy(update={"paper_resources": {}})
    monkeypatch.setattr(catalogue, "load", lambda _name: catalogue.LoadedApplication(small, None, ""))  # type: ignore[arg-type]
    process, seeder = deploy(scaling="horizontal", profile="paper")
    assert len(process.deployment.replicas) == 44
    assert seeder.counts() == {key: 2 * count for key, count in single.items()}
    for replica in (0, 1):
        assert ask(process, BOOK, "POST", replica) == {"message": "Reserve successfully!"}
    assert seeder.counts()[KEY] == 2 * single[KEY] + 2
    assert [row for row in process.audit() if not row.ok] == []


def test_a_service_that_does_not_become_ready_says_why(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    application = catalogue.load("hotel-reservation").application
    hasty = {
        name: service.model_copy(update={"readiness": service.readiness.model_copy(update={"within": 1.0})})
        for name, service in application.services.items()
        if service.tier == "logic"
    }
    changed = application.model_copy(update={"services": application.services | hasty})
    monkeypatch.setattr(catalogue, "load", lambda _name: catalogue.LoadedApplication(changed, None, ""))  # type: ignore[arg-type]
    monkeypatch.setattr(Seeder, "seed", lambda self: None)  # the stores stay empty
    with pytest.raises(DeploymentError) as caught:
        deploy()
    first, *expected = str(caught.value).splitlines()
    assert "was not ready within 1 s: http://127.0.0.1:" in first
    assert "/readyz answers 503: " in first
    assert expected[0] == "  its last log lines:"


def test_seeding_that_fails_says_why(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Seeder, "_run", partialmethod(Seeder._run, more={"wait_s": 1}))  # not half a minute
    process, seeder = deploy(stores_only=True)
    (share,) = process._shares.values()
    share.machine.stop(process._started.name, ["documents-geo-1"], "INT", 30)
    with pytest.raises(DeploymentError, match=r"seeding test-hotel-\d+ failed: stone seed: .*geo"):
        seeder.seed()
