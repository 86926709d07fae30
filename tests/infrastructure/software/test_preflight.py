"""What machines lack for software, from what it declares."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from loadstone import plugins
from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.machines import Machine
from loadstone.infrastructure.software import preflight
from loadstone.infrastructure.software.base import Member, lasting
from loadstone.infrastructure.software.docker import Docker
from loadstone.infrastructure.software.swarm import Swarm


class Lacking:
    """A machine without some programs."""

    def __init__(self, name: str, *lacks: str) -> None:
        self.name = name
        self._lacks = lacks

    def facts(self, tools: Sequence[str]) -> Any:
        return SimpleNamespace(tools={tool: f"/bin/{tool}" for tool in tools if tool not in self._lacks})


class Tried(Docker):
    def preflight(self, machines: Sequence[Machine]) -> list[Finding]:
        return [Finding("kernel", "warning", f"tried on {machine.name}") for machine in machines]


def install(machine: str, package: str) -> str:
    return f"{package} on {machine}"


def test_missing_programs_are_named_and_the_kernel_is_tried_where_none_is_missing() -> None:
    machines: Any = [Lacking("worker-1"), Lacking("worker-2", "dockerd", "ip")]
    assert preflight.findings(Tried(), machines, install) == [
        Finding("dockerd", "error", "worker-2: dockerd is not installed", "docker.io on worker-2"),
        Finding("ip", "error", "worker-2: ip is not installed", "iproute2 on worker-2"),
        Finding("kernel", "warning", "tried on worker-1"),
    ]


def test_memory_for_all_members() -> None:
    mib = 2**20
    enough = 3 * Swarm.manager_mib * mib + 2 * Swarm.worker_mib * mib
    assert preflight.memory(Swarm(), 3, 2, enough, "5 hosts need").level == "ok"
    finding = preflight.memory(Swarm(), 3, 2, enough - 1, "5 hosts need")
    assert (finding.level, finding.message) == ("error", "5 hosts need about 460MiB, 459MiB is available")
    assert finding.remedy == "set fewer cluster.workers or managers, or close programs"


@pytest.mark.parametrize("name", plugins.names("software"))
def test_software_is_called_as_it_is_registered(name: str) -> None:
    assert plugins.find("software", name).name == name


@pytest.mark.parametrize(
    ("managers", "troubled", "lasts"),
    [
        (3, ["manager-2"], []),
        (3, ["manager-1", "manager-3"], ["manager-1", "manager-3"]),  # the others have no majority
        (2, ["manager-1"], ["manager-1"]),
        (1, ["manager-1"], ["manager-1"]),
        (3, ["manager-2", "worker-1"], ["worker-1"]),
    ],
)
def test_a_minority_of_managers_can_be_spared(managers: int, troubled: list[str], lasts: list[str]) -> None:
    machine: Any = None
    members = [Member(f"manager-{n + 1}", "manager", "", machine, "") for n in range(managers)]
    members.append(Member("worker-1", "worker", "", machine, ""))
    troubles = {member.name: "it is down" if member.name in troubled else "" for member in members}
    assert lasting(troubles, members) == [f"{name}: it is down" for name in lasts]
