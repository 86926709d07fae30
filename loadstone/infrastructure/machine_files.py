"""Files with which other tools make or prepare the machines of a study: Ansible, Vagrant, OpenTofu, CloudLab.

Each tool has a function, registered as an entry point of ``loadstone.machine_files`` under the name that
``loadstone render --infrastructure`` takes: ``render(needs: MachineNeeds) -> dict[str, str]``, texts by file name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loadstone.model.cluster import Cluster, Role


@dataclass(frozen=True)
class MachineNeeds:
    """What machines a study needs: enough for each of its treatments."""

    study: str
    cluster: Cluster
    """The cluster of the first treatment."""
    software: tuple[str, ...]
    """What runs on them, as infrastructures name it: ``process``, ``swarm``, ``nomad``, ``kubernetes``."""
    managers: int
    workers: int
    clients: int = 1
    entry_ports: tuple[int, ...] = ()
    """Where the requests of its applications enter."""

    @property
    def machines(self) -> dict[str, Role]:
        """Names and roles: ``manager-1``, ``worker-1``, ``worker-2``, ``client-1``."""
        counts: dict[Role, int] = {"manager": self.managers, "worker": self.workers, "client": self.clients}
        return {f"{role}-{number + 1}": role for role, count in counts.items() for number in range(count)}


Render = Callable[[MachineNeeds], dict[str, str]]
