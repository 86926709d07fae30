"""Studies on Nomad, as a user runs them: a worker stops, a leader is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadstone.infrastructure.machines import close_all
from loadstone.infrastructure.namespaces import Namespaces
from loadstone.infrastructure.namespaces.emulated import EmulatedHosts
from loadstone.infrastructure.software.nomad import api
from loadstone.model.cluster import Cluster
from tests.support import applications
from tests.support.audits import complete
from tests.traces import MACHINE, snapshot

pytestmark = [pytest.mark.root, pytest.mark.nomad, pytest.mark.timeout(1800)]

# What a worker that has stopped never answers is given up when its time is up: the trial lasts as long.
STUDY = """\
version: 1
name: on-nomad
application: application.yaml
orchestrator: nomad
cluster: {infrastructure: namespaces, workers: 2}
high_availability: HIGH
resources: RESOURCES
load: {rates: RATES, slo: {p99: 4s}, timeout: 5s, lateness: 10s, connections: 8}
trial: {warmup: 1s, duration: 4s, order: sequential}
"""


Application = Callable[[], dict[str, Any]]


def hotel() -> dict[str, Any]:
    return applications.patient("hotel-reservation")


class User:
    """Runs one study in a folder of their own."""

    def __init__(self, folder: Path, application: dict[str, Any], rates: list[int], high: str = "off") -> None:
        self.folder = folder
        limits = json.dumps(applications.limits(application, cpu=0.08))  # Nomad reserves what it limits
        text = STUDY.replace("RESOURCES", limits).replace("RATES", str(rates)).replace("HIGH", high)
        (folder / "study.yaml").write_text(text)
        (folder / "application.yaml").write_text(yaml.safe_dump(application))
        self._run = subprocess.Popen(
            [Path(sys.executable).parent / "loadstone", "run", "study.yaml"],
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1"},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def when_loaded(self, number: int) -> EmulatedHosts:
        """The hosts, once the load of so many trials has begun."""
        self._until(lambda: len(list(self.folder.glob("results/*/*/trials/*/load.json"))) == number)
        entries = [json.loads(file.read_text()) for file in self.folder.glob("state/*.json")]
        (facts,) = [entry["facts"] for entry in entries if entry["layer"] == "infrastructure"]
        return EmulatedHosts.of(facts)

    def _until(self, condition: Callable[[], Any]) -> None:
        while not condition():
            assert self._run.poll() is None, self._run.communicate()[0]
            time.sleep(0.1)

    def ends(self, code: int) -> str:
        """Wait for the end of the run."""
        output = self._run.communicate()[0]
        assert self._run.returncode == code, output
        return output

    def trials(self) -> list[dict[str, Any]]:
        """Finished trials in their order, each with its files."""
        files = [*self.folder.glob("results/*/*/trials/*/trial.json")]
        rows = [json.loads(file.read_text())["row"] | {"folder": file.parent} for file in files]
        return sorted(rows, key=lambda row: int(row["order"]))

    def gone(self) -> None:
        """Nothing that was made is left."""
        self._run.kill()
        self._run.wait()
        subprocess.run([Path(sys.executable).parent / "loadstone", "down"], check=True)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a name that is short enough for sockets; afterwards the machine is as before."""
    infrastructure = Namespaces(Cluster(infrastructure="namespaces", workers=2), "unused")
    if wrong := [finding.message for finding in infrastructure.preflight("nomad", 1) if finding.level == "error"]:
        pytest.skip("; ".join(wrong))
    before = snapshot()
    with tempfile.TemporaryDirectory(prefix="loadstone-") as name:
        for variable in ("STATE", "DATA"):  # hosts are stopped by the node that has them in its journal
            monkeypatch.setenv(f"LOADSTONE_{variable}", f"{name}/{variable.lower()}")
        yield Path(name)
        close_all()
        assert list(Path(name).glob("data/*/*")) == []
    after = snapshot()
    assert {kind: after[kind] for kind in MACHINE} == {kind: before[kind] for kind in MACHINE}


def nothing_left(mark: str) -> None:
    left = snapshot(mark)
    assert {kind: lines for kind, lines in left.items() if lines and kind not in MACHINE} == {}


@pytest.mark.parametrize(
    ("application", "replicas"),
    [(applications.shop, applications.SHOP), pytest.param(hotel, 22, marks=pytest.mark.long)],
    ids=["shop", "hotel"],
)
def test_a_worker_that_stops_costs_one_trial(folder: Path, application: Application, replicas: int) -> None:
    user = User(folder, application(), [15, 20, 25])
    try:
        emulated = user.when_loaded(2)
        next(host for host in emulated.hosts if host.name == "worker-2").stop()
        output = user.ends(4)
        first, second, third = user.trials()
        assert [trial["verdict"] == "invalid" for trial in (first, second, third)] == [False, True, False], output
        assert "worker-2: it is down" in " ".join(second["reasons"])
        for whole in (first, third):  # on a cluster that was made anew
            audit = json.loads((whole["folder"] / "audit.json").read_text())
            assert complete(audit, replicas)
            assert {row["effective"] for row in audit if row["what"] == "cpu"} == {"0.08"}
            assert {row["node"] for row in audit} == {"worker-1", "worker-2"}
            assert all(row["ok"] for row in json.loads((whole["folder"] / "checks.json").read_text()))
        nothing_left(emulated.id)
    finally:
        user.gone()


def test_trials_go_on_without_the_leader(folder: Path) -> None:
    user = User(folder, applications.shop(), [15, 20], high="on")
    try:
        emulated = user.when_loaded(1)
        managers = [host for host in emulated.hosts if host.name.startswith("manager-")]
        nomad = api.nomad([f"http://{host.address}:4646" for host in managers])
        leader = nomad.get("/v1/status/leader").partition(":")[0]
        next(host for host in managers if host.address == leader).stop()
        output = user.ends(0)
        assert [trial["verdict"] == "invalid" for trial in user.trials()] == [False, False], output
        nothing_left(emulated.id)
    finally:
        user.gone()
