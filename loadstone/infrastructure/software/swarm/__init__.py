"""A Docker swarm: managers that run no replicas, workers that do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import requests
from docker.errors import DockerException

from loadstone.infrastructure.base import Access, Finding, Provision, Say
from loadstone.infrastructure.machines import Machine
from loadstone.infrastructure.software.base import Member
from loadstone.infrastructure.software.docker import Docker, engines
from loadstone.infrastructure.software.swarm import found, joining
from loadstone.model.cluster import Cluster
from loadstone.model.errors import DeploymentError

_VXLAN = "ip link add probe type vxlan id 7 dstport 4789"


class Swarm(Docker):
    """An engine on each member; nodes are called like members and labelled ``loadstone.node=<name>``."""

    name = "swarm"
    tools = {**engines.TOOLS, "unshare": "util-linux"}
    manager_mib = 100

    def preflight(self, machines: Sequence[Machine]) -> list[Finding]:
        tried = {machine.name: machine.run(["unshare", "--net", "sh", "-c", _VXLAN]) for machine in machines}
        return [
            Finding(
                "vxlan",
                "error",
                f"{name}: the kernel has no VXLAN, which Swarm's networks are made of: {done.complaint}",
                "use a kernel with CONFIG_VXLAN, or load the module: sudo modprobe vxlan",
            )
            for name, done in tried.items()
            if done.code
        ]

    def start(self, members: Sequence[Member], registry: str, folder: Path, say: Say) -> Access:
        engines.start(members, registry, say)
        say(f"joining {len(members)} engines to a swarm")
        managers = [member for member in members if member.role == "manager"]
        try:
            joining.join(members, managers)
        except (DockerException, requests.RequestException) as error:
            last = managers[0].log(engines.DAEMON)
            raise DeploymentError(f"the swarm cannot be made: {error}\n{last}") from None
        return Access(
            self.name,
            addresses=tuple(engines.url(member) for member in managers),
            engines={member.name: engines.url(member) for member in members if member.role == "worker"},
        )

    def find(self, cluster: Cluster) -> Provision:
        return found.find()
