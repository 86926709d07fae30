"""Nothing is started on members: replicas are processes on them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loadstone.infrastructure.base import Access, Finding, Provision, Say
from loadstone.infrastructure.software.base import Member, Software
from loadstone.model.cluster import Cluster
from loadstone.model.errors import PreflightError


class Process(Software):
    """Machines are all that it needs; there is no cluster of it that could be found."""

    name = "process"
    worker_mib = 10
    clustered = False

    def start(self, members: Sequence[Member], registry: str, folder: Path, say: Say) -> Access:
        return Access(self.name)

    def check(self, cluster: Cluster) -> list[Finding]:
        return [Finding("process", "error", "processes have no cluster that could be there before", _REMEDY)]

    def find(self, cluster: Cluster) -> Provision:
        raise PreflightError("processes have no cluster that could be there before", _REMEDY)


_REMEDY = "use infrastructure: hosts, which puts them on machines that you log in to"
