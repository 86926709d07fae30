"""All that a host lacks is found at once, as long as it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.hosts import Hosts, checks, claims
from loadstone.infrastructure.machines import MachineLost
from loadstone.model.cluster import Cluster
from loadstone.model.errors import DeploymentError
from loadstone.model.inventory import InventoryHost

ADDRESS = "10.0.0.1"


@dataclass
class FakeMachine:
    """A machine that lacks nothing, unless it is given otherwise."""

    name: str = "node-1"
    unlimited: str = ""
    free: int = 2**40
    offset_s: float = 0.0
    address: str = ADDRESS
    users: list[Any] = field(default_factory=list)
    lost_at: str = ""
    lacks: tuple[str, ...] = ()

    def _ask(self, what: str) -> None:
        if self.lost_at == what:
            raise MachineLost(f"{self.name}: it cannot be reached: timed out", "check that it is up")

    def facts(self, tools: tuple[str, ...] = ()) -> SimpleNamespace:
        self._ask("facts")
        return SimpleNamespace(
            os="Debian",
            arch="x86_64",
            cpus=(0, 1),
            memory_available=2**33,
            swap=0,
            unlimited_because=self.unlimited,
            disks={"/": 2**40, "/tmp": self.free},
            tools={name: f"/usr/bin/{name}" for name in tools if name not in self.lacks},
        )

    def deployments(self) -> list[Any]:
        return self.users

    def clock_offset_s(self) -> float:
        return self.offset_s

    def ports(self, address: str, wanted: list[int]) -> tuple[int, ...]:
        self._ask("ports")
        if address != self.address:
            raise DeploymentError(f"{self.name}: cannot assign requested address")
        return tuple(wanted)

    def run(self, argv: list[str]) -> SimpleNamespace:
        return SimpleNamespace(code=1, stdout="", complaint="")


def look(machine: FakeMachine) -> list[Finding]:
    host = InventoryHost(address=ADDRESS, owner="Ada")  # type: ignore[arg-type]
    return checks.look("node-1", machine, host, "hosts.yaml")  # type: ignore[arg-type]


def test_a_host_that_lacks_nothing_is_one_line_of_facts() -> None:
    (found,) = look(FakeMachine())
    assert (found.level, found.message) == ("ok", "Debian, x86_64, 2 cores, 8GiB available")


def test_every_lack_is_a_finding() -> None:
    users = [SimpleNamespace(deployment="claim", owner="over-ssh, started today")]
    machine = FakeMachine(unlimited="no cpuset", free=2**20, offset_s=-60.0, address="10.0.0.9", users=users)
    found = look(machine)
    assert [(each.what, each.level, each.message) for each in found] == [
        ("node-1", "error", "another study uses this host: over-ssh, started today"),
        ("node-1", "error", "limits cannot be set there: no cpuset"),
        ("node-1", "error", "its disk is full: /tmp has 1MiB left"),
        ("node-1", "error", "its clock is 60.0 s behind this machine's"),
        ("node-1", "error", f"it has no address {ADDRESS} on which replicas could listen"),
    ]
    assert all(each.remedy for each in found)
    assert [each.stops for each in found] == [True, False, False, False, False]


@pytest.mark.parametrize("when", ["facts", "ports"])
def test_a_host_that_does_not_answer_is_that_and_nothing_else(when: str) -> None:
    (found,) = look(FakeMachine(lost_at=when, offset_s=60.0))
    assert (found.message, found.stops) == ("it cannot be reached: timed out (ask Ada)", True)


def test_the_software_is_checked_on_the_hosts_that_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = {
        "node-1": FakeMachine("node-1", free=0, lacks=("dockerd", "iptables")),
        "node-2": FakeMachine("node-2", lost_at="facts"),
        "node-3": FakeMachine("node-3", lacks=("dockerd",)),
    }
    names = list(machines)
    listed = {name: InventoryHost(address=ADDRESS) for name in names}  # type: ignore[arg-type]
    inventory = SimpleNamespace(hosts=listed, ssh=SimpleNamespace(config=None))
    monkeypatch.setattr(Hosts, "_read", classmethod(lambda *_: inventory))
    monkeypatch.setattr(claims.Claimed, "machine", property(lambda self: machines[self.name]))
    found = Hosts(Cluster(infrastructure="hosts", inventory="hosts.yaml"), "x").preflight("docker", 0)
    messages = [f"{each.what}: {each.message}" for each in found if each.level == "error"]
    assert messages == [
        "node-1: its disk is full: /tmp has 0GiB left",
        "node-2: it cannot be reached: timed out",
        "dockerd: node-1: dockerd is not installed",
        "iptables: node-1: iptables is not installed",
        "dockerd: node-3: dockerd is not installed",
    ]
