"""A Docker engine on each worker; nothing joins them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loadstone.infrastructure.base import Access, Finding, Provision, Say
from loadstone.infrastructure.desk import client
from loadstone.infrastructure.docker_api import docker_errors
from loadstone.infrastructure.machines import Machine
from loadstone.infrastructure.software.base import Member, Software
from loadstone.infrastructure.software.docker import context, engines
from loadstone.infrastructure.software.docker.inside import ByDocker
from loadstone.model.cluster import Cluster
from loadstone.model.errors import LoadstoneError


class Docker(Software):
    """Compose runs on it."""

    name = "docker"
    inside = ByDocker
    tools = engines.TOOLS
    worker_mib = 80

    def conflicts(self, machines: Sequence[Machine]) -> list[Finding]:
        return engines.conflicts(machines)

    def start(self, members: Sequence[Member], registry: str, folder: Path, say: Say) -> Access:
        workers = [member for member in members if member.role == "worker"]
        engines.start(workers, registry, say)
        urls = {member.name: engines.url(member) for member in workers}
        return Access(self.name, addresses=tuple(urls.values()), engines=urls)

    def trouble(self, member: Member) -> str:
        return super().trouble(member) or engines.trouble(member)

    def check(self, cluster: Cluster) -> list[Finding]:
        try:
            engine = context.current()
            return [Finding("docker", "ok", f"{engine.url}, version {engine.api.version()['Version']}")]
        except LoadstoneError as error:
            return [Finding("docker", "error", error.message, error.remedy)]

    def find(self, cluster: Cluster) -> Provision:
        """The engine's machine as the only node."""
        engine = context.current()
        with docker_errors(engine.url):
            info = engine.api.info()
        worker = context.node(info["Name"], engine, info)
        access = Access(self.name, addresses=(engine.url,), engines={worker.name: engine.url})
        return Provision((client(shared=worker.reach.local), worker), access)
