"""The emulated hosts of one cluster, made and removed together."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sys
from dataclasses import asdict, dataclass, replace
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.machines import connect, in_parallel, this_machine
from loadstone.infrastructure.namespaces import nameserver
from loadstone.infrastructure.namespaces.host import Host
from loadstone.infrastructure.namespaces.network import SWITCH, Network, one_at_a_time, subnet_for, used_subnets
from loadstone.infrastructure.paths import data_root
from loadstone.model.errors import DeploymentError
from loadstone.model.records.node.deployments import NodeLimits, SpawnArgs

_NAMESERVER = "nameserver"
_MOST_THREADS = 16_384
"""Most threads of all hosts of a cluster together, several times what the largest application needs: a fork bomb in a
container leaves this machine half of the process ids of a small one."""
_MARK = ".loadstone"
"""In the folder of a cluster's hosts, a link to its id: whole or not there, whenever a desk is killed."""


@dataclass(frozen=True)
class EmulatedHosts:
    """Hosts and their network; plain data that the journal can hold, from which all names follow."""

    id: str
    """In the name of everything that is made, so that clusters of several Loadstones never meet."""
    subnet: str
    hosts_folder: str
    """Everything of all hosts on disk."""
    names: tuple[str, ...]
    """Names of the hosts, in the order of their addresses."""
    group: str = ""
    """The control group of all hosts together, once it is claimed."""
    state: str = ""
    """The folder of the node of this machine that has the hosts in its journal, whatever ``data_root()`` is later."""

    @classmethod
    def planned(cls, names: list[str], root: Path) -> EmulatedHosts:
        """A new cluster in a subnet that is free now; ``root``: where its folder will be. Makes nothing."""
        number = secrets.token_hex(3)
        subnet = subnet_for(len(names), used_subnets())
        return cls(number, str(subnet), str(root / f"emulated-{number}"), tuple(names), state=str(data_root()))

    @classmethod
    def of(cls, data: dict[str, Any]) -> EmulatedHosts:
        """From what the journal holds."""
        return cls(**{**data, "names": tuple(data["names"])})

    def as_data(self) -> dict[str, Any]:
        """As the journal holds it."""
        return asdict(self)

    @property
    def cluster(self) -> str:
        """What namespaces are called, and the deployment in the journal of this machine's node."""
        return f"emulated-{self.id}"

    @property
    def network(self) -> Network:
        """Switch and links."""
        return Network(self.cluster, f"ls{self.id}", IPv4Network(self.subnet))

    @property
    def hosts(self) -> list[Host]:
        """All hosts, whether they are there or not."""
        network = self.network
        return [
            self._host(name, str(network.address(number)), network.namespace(name))
            for number, name in enumerate(self.names)
        ]

    @property
    def switch(self) -> Host:
        """The switch is a host too: it answers for names."""
        return self._host(SWITCH, self.network.switch, self.network.namespace())

    def _host(self, name: str, address: str, namespace: str) -> Host:
        folder = Path(self.hosts_folder, name)
        group = f"{self.group}/{name}"
        return Host(name, address, namespace, folder, self.cluster, group, self.network.switch, self.state)

    def claim(self, cores: tuple[int, ...] = ()) -> EmulatedHosts:
        """Claim folder and subnet exclusively, and a control group on ``cores``, which is known then.

        Held by ``one_at_a_time`` since they were chosen.
        """
        Path(self.hosts_folder).mkdir(parents=True)
        Path(self.hosts_folder, _MARK).symlink_to(self.id)
        self.network.claim()
        limits = NodeLimits(cores=cores, pids=_MOST_THREADS)
        begun = this_machine(self.state).begin(self.cluster, self.id, "emulated hosts", limits)
        if begun.group is None:
            raise DeploymentError(f"emulated hosts need control groups: {begun.unlimited_because}")
        return replace(self, group=begun.group)

    def make(self, rate: float | None = None, delay: float | None = None) -> None:
        """Connect and boot the hosts; all is claimed already."""
        self.network.connect(list(self.names), rate, delay)
        self.start_switch()
        for host in self.hosts:
            host.boot()

    def start_switch(self) -> None:
        """Boot what answers for names. The switch itself is there once it is claimed."""
        self.switch.boot()
        machine = connect(SWITCH, self.switch.reach)
        machine.begin(_NAMESERVER, self.cluster, self.cluster)
        command = (sys.executable, "-I", "-S", nameserver.__file__, self.switch.address)
        machine.spawn(SpawnArgs(deployment=_NAMESERVER, name=_NAMESERVER, argv=command))
        machine.close()

    def remove(self) -> None:
        """End and delete everything, whichever of it is there; whatever the state it was left in."""
        self.refuse_foreign()
        this_machine(self.state).end(self.cluster)
        self.network.remove()
        for mounted in self._mounts():  # none of ours is; a user may have mounted something to look at it
            subprocesses.run(["umount", "--lazy", mounted])
        with contextlib.suppress(FileNotFoundError):
            # Beside each other: to remove the images and layers of engines, which are large, is to wait for disks.
            in_parallel(shutil.rmtree, filter(Path.is_dir, Path(self.hosts_folder).iterdir()))
            shutil.rmtree(self.hosts_folder)  # with the mark, which is there until nothing else is
        with one_at_a_time(), contextlib.suppress(OSError):  # other clusters' folders may be there
            Path(self.hosts_folder).parent.rmdir()

    def refuse_foreign(self) -> None:
        """Raise DeploymentError for a folder that this cluster did not create: a journal entry may name any."""
        folder, mark = Path(self.hosts_folder), Path(self.hosts_folder, _MARK)
        if not os.path.lexists(folder) or (folder.is_dir() and not any(folder.iterdir())):
            return
        ours = not folder.is_symlink() and mark.is_symlink() and os.readlink(mark) == self.id
        if not ours or mark.lstat().st_uid != os.geteuid():
            raise DeploymentError(f"{folder} is not the folder of {self.cluster}", "remove it by hand if it is")

    def _mounts(self) -> list[str]:
        """What is mounted below the folder in this namespace, the innermost first."""
        import psutil  # slow to load; it reads what the kernel writes for blanks in a path

        points = (mounted.mountpoint for mounted in psutil.disk_partitions(all=True))
        below = f"{os.path.realpath(self.hosts_folder)}/"
        return sorted((point for point in points if point.startswith(below)), reverse=True)
