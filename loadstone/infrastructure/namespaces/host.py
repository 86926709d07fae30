"""One emulated host: namespaces of its own (network, mount, UTS) and a control group that holds all its processes.

Its first process, which this machine's node spawns, keeps the mount and UTS namespaces that ``software.room`` sets up:
whatever is mounted in them ends with the last process of the host, so killing the control group unmounts everything.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.machines import this_machine
from loadstone.infrastructure.namespaces.commands import WITH_US, environment
from loadstone.infrastructure.software import room
from loadstone.model.cluster import Reach
from loadstone.model.errors import DeploymentError
from loadstone.model.records.node.deployments import SpawnArgs

_DAEMONS, _CONTAINERS = "daemons", "containers"


@dataclass(frozen=True)
class Host:
    """A host on this machine: pure data, and what can be done with it. The same data finds it again later."""

    name: str
    """Within its cluster, and what it calls itself: ``worker-2``."""
    address: str
    """Its IP address, which this machine and all hosts of its cluster reach."""
    namespace: str
    """Its network namespace: a path such as ``/run/netns/<cluster>-worker-2``."""
    folder: Path
    """Everything of it on disk."""
    cluster: str
    """The deployment in the journal of this machine's node to which its first process, ``name``, belongs."""
    group: str
    """Its control group: daemons are in ``<group>/daemons``, containers belong below ``<group>/containers``."""
    nameserver: str = "127.0.0.1"
    """The address of its name server."""
    state: str = ""
    """The folder of the node of this machine that has ``cluster`` in its journal; ``data_root()`` where it is empty."""

    @property
    def reach(self) -> Reach:
        """The way to it as a machine."""
        names = ("name", "address", "namespace", "cluster", "group", "nameserver", "state")
        return Reach(transport="emulated", options={"folder": str(self.folder), **{k: getattr(self, k) for k in names}})

    @property
    def daemons(self) -> str:
        """The control group of its daemons."""
        return f"{self.group}/{_DAEMONS}"

    @property
    def containers(self) -> str:
        """The control group below which its engine makes those of containers."""
        return f"{self.group}/{_CONTAINERS}"

    def boot(self) -> None:
        """Start its first process; the network namespace must be there. Also starts a stopped host again."""
        self.folder.mkdir(parents=True, exist_ok=True)
        enter = ("nsenter", f"--net={self.namespace}")
        first = SpawnArgs(deployment=self.cluster, name=self.name, argv=enter, groups=(_DAEMONS, _CONTAINERS))
        room.start(first, this_machine(self.state), (self.name, self.address, self.nameserver))

    def run(self, argv: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a command in the host to its end, which is ours at the latest; ``options`` as of ``subprocesses.run``.

        Output is captured text.
        """
        return subprocesses.run([*WITH_US, *self.command(argv)], **{"env": environment(), **options})

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs ``argv`` in the host, among its daemons."""
        # Without WITH_US: that is the death of the thread that starts it, and a channel outlives the one that opens it.
        return [*self._join(), *self._enter(), *argv]

    def up(self) -> bool:
        """Whether the host was booted and not stopped since."""
        return room.find(this_machine(self.state), self.cluster, self.name) is not None

    def stop(self) -> None:
        """End every process of the host at once, as a power cut would. May be called twice."""
        this_machine(self.state).stop(self.cluster, [self.name], "KILL", 0.0)

    def _join(self) -> list[str]:
        """The command line that joins the control group of the daemons."""
        return [str(stone_binary()), "node", "join", self.daemons]

    def _enter(self) -> list[str]:
        """The command line that enters the host."""
        if (first := room.find(this_machine(self.state), self.cluster, self.name)) is None:
            raise DeploymentError(f"emulated host {self.name} is not running")
        return ["nsenter", "--target", str(first.pid), "--net", "--mount", "--uts", "--"]
