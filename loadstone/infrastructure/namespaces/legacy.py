"""Software that is still started on emulated hosts alone, until it is written over members."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from loadstone.infrastructure.base import Access, Finding, Provision, Say
from loadstone.infrastructure.machines import Machine
from loadstone.infrastructure.machines.emulated import Emulated
from loadstone.infrastructure.namespaces.host import Host
from loadstone.infrastructure.software.base import Member, Software
from loadstone.model.cluster import Cluster


class _Legacy(Software):
    name: ClassVar[str]

    def _module(self, of: str) -> Any:
        return importlib.import_module(f"loadstone.infrastructure.{of}.{self.name}")

    def preflight(self, machines: Sequence[Machine]) -> list[Finding]:
        return list(self._module("namespaces").preflight())

    def start(self, members: Sequence[Member], registry: str, folder: Path, say: Say) -> Access:
        hosts = {member.name: _host(member) for member in members}
        managers = [hosts[member.name] for member in members if member.role == "manager"]
        workers = [hosts[member.name] for member in members if member.role == "worker"]
        started: Access = self._module("namespaces").start([*managers, *workers], managers, workers, say, registry)
        return started

    def trouble(self, member: Member) -> str:
        host = _host(member)
        ended = [daemon for daemon in host.names() if not host.alive(daemon)]
        return f"{', '.join(ended)} has ended" if ended else ""

    def check(self, cluster: Cluster) -> list[Finding]:
        return list(self._module("existing").preflight(cluster))

    def find(self, cluster: Cluster) -> Provision:
        found: Provision = self._module("existing").provide(cluster)
        return found


class Kubernetes(_Legacy):
    name = "kubernetes"
    manager_mib = 450
    worker_mib = 250


def _host(member: Member) -> Host:
    transport = member.machine._transport
    assert isinstance(transport, Emulated)
    return transport._host
