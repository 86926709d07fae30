"""What software of a cluster must offer, and the members on which it is started."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import ClassVar

from loadstone.infrastructure import builds
from loadstone.infrastructure.base import Access, Finding, Provision, Say
from loadstone.infrastructure.machines import Completed, Machine
from loadstone.infrastructure.machines.exec import Exec
from loadstone.infrastructure.software import room
from loadstone.model.cluster import Cluster, Role
from loadstone.model.errors import DeploymentError
from loadstone.model.records.node.deployments import NodeDeployment, SpawnArgs

_LOOK_EVERY_S = 0.1
_LAST_LINES = 10


@dataclass(frozen=True)
class Member:
    """One machine of a cluster, with the deployment in its journal that holds what the cluster runs there."""

    name: str
    """The name of the node; its software calls it so, too."""
    role: Role
    address: str
    """An IP address that all members and the client reach."""
    machine: Machine
    deployment: str
    """Started by the machine's provider, and ended with the machine."""
    room: bool = False
    """Daemons and commands run in a room (``software.room``): the machine has other users than this cluster."""

    @cached_property
    def _begun(self) -> NodeDeployment:
        found = self.machine.deployment(self.deployment)
        if found is None:
            raise DeploymentError(f"{self.name}: the journal of this machine has no deployment {self.deployment!r}")
        return found

    @property
    def folder(self) -> PurePosixPath:
        """Everything of the cluster on this machine's disk."""
        return PurePosixPath(self._begun.folder)

    @property
    def group(self) -> str:
        """The control group of the cluster on this machine, below each mount; a daemon is in ``<group>/<its name>``."""
        if self._begun.group is None:
            raise DeploymentError(f"{self.name}: there are no control groups in which its daemons could run")
        return self._begun.group

    @property
    def containers(self) -> str:
        """The control group below which an engine makes those of containers."""
        return f"{self.group}/containers"

    def program(self, name: str, say: Say) -> str:
        """The path there of a binary of ``builds``, which is built or fetched, and delivered, where it is not."""
        return self.machine.deliver(builds.binary(name, say))

    def spawn(self, name: str, argv: Sequence[str], env: Mapping[str, str] = {}) -> None:
        """Start a daemon that outlives us. Whether it could start is seen by ``ended`` and ``log``."""
        command = (*self._enter, *argv)
        self.machine.spawn(SpawnArgs(deployment=self.deployment, name=name, argv=command, env=dict(env)))

    def write(self, name: str, text: str | bytes, mode: int = 0o644) -> str:
        """Write a file below ``folder``; returns its path there."""
        path = str(self.folder / name)
        self.machine.put(text.encode() if isinstance(text, str) else text, path, mode)
        return path

    def run(self, argv: Sequence[str], given: str = "", within_s: float = 60.0) -> Completed:
        """Run a command to its end, where daemons run; it dies with us."""
        return self.machine.run([*self._enter, *argv], given=given.encode(), within_s=within_s)

    @cached_property
    def _enter(self) -> tuple[str, ...]:
        """The command line that enters the room."""
        return room.enter(self.machine, self.deployment, self.name, self.address) if self.room else ()

    def socket(self, name: str) -> str:
        """The path here of the Unix socket ``name`` in ``folder``. Raises DeploymentError if it is too long."""
        return self.machine.socket(str(self.folder / name))

    def ended(self) -> list[str]:
        """The daemons that were spawned and do not run any more."""
        found = self.machine.deployment(self.deployment)
        return [process.name for process in found.processes if not process.alive] if found is not None else []

    def log(self, name: str, lines: int = _LAST_LINES) -> str:
        """The last lines that a daemon wrote; empty if it was never spawned."""
        return self.machine.log(self.deployment, name, lines)


class Software(ABC):
    """Starts on members, or finds what is there. Made once for a cluster; keeps nothing of its own."""

    name: ClassVar[str]
    """As orchestrators name it in ``software``."""
    tools: ClassVar[Mapping[str, str]] = {}
    """The programs that each member must have, and the distribution's package of each."""
    builds: ClassVar[tuple[str, ...]] = ()
    """The binaries that Loadstone delivers to members: names of ``loadstone.infrastructure.builds``."""
    manager_mib: ClassVar[int] = 0
    """Memory that a manager takes before anything is deployed, with some room."""
    worker_mib: ClassVar[int] = 0
    inside: ClassVar[type[Exec] | None] = None
    """The way into a container on a node, by the client of a cluster that was there; None where there is none."""
    clustered: ClassVar[bool] = True
    """Whether members become a cluster that has a way in; else they are machines and no more."""
    remote_api: ClassVar[bool] = False
    """Whether the desk reaches its API over the network; else through a socket of a member's, or there is none."""

    @property
    def managed(self) -> bool:
        """Whether it runs services of its own on managers."""
        return self.manager_mib > 0

    def preflight(self, machines: Sequence[Machine]) -> list[Finding]:
        """What machines lack beyond ``tools`` and ``builds``, such as a part of the kernel; changes nothing."""
        return []

    def conflicts(self, machines: Sequence[Machine]) -> list[Finding]:
        """What of the machines' own gets in its way where members share a network with it; changes nothing."""
        return []

    @abstractmethod
    def start(self, members: Sequence[Member], registry: str, folder: Path, say: Say) -> Access:
        """Start it on members and return when it takes replicas.

        ``registry``: a ``host:port`` to trust without TLS, or empty; ``folder``: here, empty, for what the desk needs
        of the cluster (keys, a kubeconfig). It vanishes with the cluster, and with it all that members hold.
        Raises DeploymentError with the last words of a daemon that ended.
        """

    def stop(self, members: Sequence[Member]) -> None:  # noqa: B027 - most leave nothing outside of their control group
        """Undo what outlives the processes of a member: links, rules of a firewall. May be called twice."""

    def trouble(self, member: Member) -> str:
        """What no longer works on a member; empty if all does."""
        ended = member.ended()
        return f"{', '.join(ended)} has ended" if ended else ""

    @abstractmethod
    def check(self, cluster: Cluster) -> list[Finding]:
        """Whether software of this kind that is there can be used; changes nothing."""

    @abstractmethod
    def find(self, cluster: Cluster) -> Provision:
        """The nodes of what is there, and the way in. Raises PreflightError."""


def await_until(members: Sequence[Member], what: str, complaint: Callable[[], str], within_s: float) -> None:
    """Until ``complaint`` returns nothing; raises DeploymentError as soon as a daemon ends, or when time is up."""
    deadline = time.monotonic() + within_s
    while why := complaint():
        for member in members:
            for daemon in member.ended():
                raise DeploymentError(f"{member.name}: {daemon} has ended:\n{member.log(daemon)}")
        if time.monotonic() > deadline:
            raise DeploymentError(f"{what} is not ready within {within_s:g} s: {why}")
        time.sleep(_LOOK_EVERY_S)


def listening(ports: Sequence[int]) -> list[str]:
    """The command that succeeds where a process listens on one of these TCP ports, as the kernel lists sockets
    (proc_net_tcp)."""
    numbers = "|".join(f"{port:04X}" for port in ports)
    return ["grep", "-qsE", f"^ *[0-9]+: [0-9A-F]+:({numbers}) [0-9A-F]+:0000 0A ", "/proc/net/tcp", "/proc/net/tcp6"]


def lasting(troubles: Mapping[str, str], members: Sequence[Member]) -> list[str]:
    """Troubles by member, as sentences. Some of several managers can be spared, as long as most of them work."""
    found = {name: why for name, why in troubles.items() if why}
    managers = {member.name for member in members if member.role == "manager"}
    spared = managers if 2 * len(managers & found.keys()) < len(managers) else set()
    return [f"{name}: {why}" for name, why in found.items() if name not in spared]
