"""Made machines are prepared once, side by side, before their software is checked; what fails gives them back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

from loadstone.infrastructure import journal
from loadstone.infrastructure.base import Finding, Infrastructure
from loadstone.infrastructure.cloud import held, login
from loadstone.infrastructure.cloud.cloudlab import CloudLab
from loadstone.infrastructure.cloud.service import CloudService, Made
from loadstone.infrastructure.cloud.vagrant import Vagrant
from loadstone.infrastructure.hosts import Hosts
from loadstone.infrastructure.preparation.playing import HostOutcome, TaskChange
from loadstone.infrastructure.preparation.troubles import Trouble
from loadstone.model.cluster import Cluster
from loadstone.model.document import Document
from loadstone.model.errors import Interrupted, PreflightError
from loadstone.model.instances import Instances
from loadstone.model.inventory import Inventory

MACHINES = "study-machines"
"""The journal's name of them."""


class FakeService(CloudService):
    """Machines are names."""

    usual_login = "root"
    there: ClassVar[list[str]] = []

    def where(self) -> str:
        return "a cloud"

    def check(self, count: int) -> list[Finding]:
        return []

    def make(self, names: Sequence[str], public_key: str, until: datetime, say: Callable[[str], None]) -> list[Made]:
        type(self).there[:] = names
        return [Made(name, f"127.0.0.{number + 2}", "192.0.2.1") for number, name in enumerate(names)]

    def remove(self) -> None:
        type(self).there.clear()


class Roles:
    """Stands in for Ansible: has the settings of each play, and the names of its hosts."""

    def __init__(self) -> None:
        self.played: list[dict[str, Any]] = []
        self.troubles: dict[str, Trouble] = {}
        self.interrupted = False

    def play(
        self,
        playbook: str,
        inventory: Inventory,
        settings: Mapping[str, Any],
        check: bool,
        progress: Callable[[str, str, bool], None],
    ) -> dict[str, HostOutcome]:
        assert (playbook, check) == ("prepare", False)
        self.played.append({**settings, "hosts": list(inventory.hosts)})
        for task in ("packages", "clock"):
            for host in inventory.hosts:
                progress(host, task, False)
                progress(host, task, True)
        if self.interrupted:
            raise Interrupted("interrupted while hosts were prepared")
        outcomes = {name: HostOutcome([TaskChange("packages", "install chrony")]) for name in inventory.hosts}
        for name, trouble in self.troubles.items():
            outcomes[name].trouble = trouble
        return outcomes

    def prepared_for(self) -> list[list[str]]:
        return [each["prepare_for"] for each in self.played]


@pytest.fixture
def roles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Roles]:
    made = Roles()
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(Vagrant, "service", FakeService)
    monkeypatch.setattr(login, "wait_until_reached", lambda *_: None)
    monkeypatch.setattr(login, "close", lambda *_: None)
    monkeypatch.setattr(Hosts, "preflight", lambda *_: [])
    monkeypatch.setattr("loadstone.infrastructure.preparation.playing.play", made.play)
    yield made
    journal.remove_all(None)
    assert FakeService.there == [] and journal.entries() == []


def machines(workers: int = 1, **instances: Any) -> Vagrant:
    given = Instances.model_validate(instances)
    return Vagrant(Cluster(infrastructure="vagrant", workers=workers, instances=given), "study-cluster")


def quiet(_text: str) -> None:
    pass


def test_machines_are_prepared_by_the_roles_for_what_runs_on_them(roles: Roles) -> None:
    steps: list[str] = []
    machines(clock_bound="80us").acquire("swarm", 1, steps.append, [5000])
    (played,) = roles.played
    assert played["hosts"] == ["client-1", "manager-1", "worker-1"]
    assert (played["prepare_for"], played["entry_ports"], played["others"]) == (["swarm"], ["5000/tcp"], [])
    assert played["clock_bound_us"] == pytest.approx(80) and played["clock_within_s"] >= 60
    assert steps[-3:] == [
        "preparing 3 machines for swarm",
        "preparing 3 machines: packages",
        "preparing 3 machines: clock",
    ]


def test_this_machine_reaches_their_ports_where_it_generates_the_load(roles: Roles) -> None:
    machines(clients=0).acquire("process", 0, quiet)
    assert roles.played[0]["others"] == ["127.0.0.1"]


def test_they_are_prepared_before_their_software_is_checked(roles: Roles, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[int] = []

    def look(*_: object) -> list[Finding]:
        checked.append(len(roles.played))
        return []

    monkeypatch.setattr(Hosts, "preflight", look)
    machines().acquire("process", 0, quiet)
    assert checked == [1]


def test_they_are_prepared_once_for_each_software_and_again_where_some_are_added(roles: Roles) -> None:
    infrastructure = machines()
    for software in ("process", "process", "nomad", "process"):
        infrastructure.acquire(software, 0, quiet)
    assert roles.prepared_for() == [["process"], ["nomad", "process"]]
    machines(workers=2).acquire("process", 0, quiet)
    assert roles.prepared_for()[2:] == [["process"]] and roles.played[-1]["hosts"][-1] == "worker-2"


def test_kept_machines_are_not_prepared_again(roles: Roles) -> None:
    infrastructure = machines()
    infrastructure.acquire("process", 0, quiet)
    infrastructure.give_back(True, quiet)
    kept = held.listed()[MACHINES]
    assert kept.kept and kept.prepared == ["process"]
    machines().acquire("process", 0, quiet)
    assert len(roles.played) == 1


def test_kept_machines_open_the_ports_of_another_study(roles: Roles) -> None:
    for ports in ([5000], [5000], [8080]):
        machines().acquire("process", 0, quiet, ports)
    assert [each["entry_ports"] for each in roles.played] == [["5000/tcp"], ["8080/tcp"]]


def test_an_image_that_has_everything_is_left_as_it_is(roles: Roles) -> None:
    machines(prepare=False).acquire("process", 0, quiet)
    assert roles.played == [] and held.listed()[MACHINES].prepared == []


def test_what_fails_is_a_message_for_each_machine_and_all_are_given_back(roles: Roles) -> None:
    roles.troubles = {
        "client-1": Trouble("client-1: it runs Fedora 40; Debian or Ubuntu is needed", "use hosts of these"),
        "worker-1": Trouble("worker-1: disk full", ""),
    }
    with pytest.raises(PreflightError) as raised:
        machines().acquire("process", 0, quiet)
    assert str(raised.value).splitlines() == [
        "client-1: it runs Fedora 40; Debian or Ubuntu is needed",
        "  use hosts of these",
        "worker-1: disk full",
    ]
    assert raised.value.exit_code == 3
    assert FakeService.there == [] and journal.entries() == []


def test_a_signal_gives_them_back(roles: Roles) -> None:
    roles.interrupted = True
    with pytest.raises(Interrupted):
        machines().acquire("process", 0, quiet)
    assert FakeService.there == [] and journal.entries() == []


def test_hosts_of_the_users_are_never_prepared() -> None:
    assert Hosts.acquire is CloudLab.acquire is Infrastructure.acquire, "which does nothing"


@pytest.mark.parametrize("owner", ["1e3", "on", "Ada: desk #2"])
def test_the_inventory_reads_back_any_owner(tmp_path: Path, owner: str) -> None:
    written = login.write(tmp_path, [Made("worker-1", "192.0.2.1", "192.0.2.1")], "root", owner)
    assert Document.read(written).parse(Inventory).hosts["worker-1"].owner == owner
