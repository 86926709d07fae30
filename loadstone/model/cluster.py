"""Clusters and their nodes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from loadstone.model.base import Model
from loadstone.model.guest import Guest
from loadstone.model.instances import Instances
from loadstone.model.inventory import HostName
from loadstone.model.units import BitRate, Pause

Role = Literal["manager", "worker", "client"]


class Link(Model):
    """What the network between emulated hosts is held to."""

    rate: BitRate | None = None
    """Bits per second in each direction of a host's link; by default not limited."""
    delay: Pause = 0.0
    """Added to each packet that a host sends."""


class Cluster(Model):
    """The cluster of a study."""

    infrastructure: str = "local"
    """Where nodes come from: ``local`` is this machine, ``namespaces`` emulates hosts on it, ``qemu`` makes virtual
    machines in place of them, ``existing`` is a cluster that you have, ``hosts`` are machines that you log in to by
    SSH. ``chameleon``, ``opentofu`` and ``vagrant`` make machines and give them back; ``cloudlab`` takes those of an
    experiment."""
    managers: Annotated[int | None, Field(ge=0, le=9)] = None
    """Nodes that run the orchestrator's own services; 3 with ``high_availability: on``, else 1, by default."""
    workers: Annotated[int, Field(ge=1, le=1000)] = 1
    """Nodes that run replicas. Of listed hosts the first ones are used; by default all of them."""
    inventory: Annotated[str | None, Field(examples=["hosts.yaml"])] = None
    """The file that lists the hosts of infrastructure ``hosts``, or the manifest of your experiment for ``cloudlab``,
    as seen from the folder where ``loadstone`` is started."""
    hosts: Annotated[list[HostName] | None, Field(min_length=1, examples=[["node-1", "node-2"]])] = None
    """The workers of infrastructure ``hosts``, instead of an inventory: by their names in the SSH configuration."""
    instances: Instances | None = None
    """Machines that an infrastructure makes: which, where and for how long."""
    machine: Literal["vm"] | None = None
    """``vm`` declares that the machines of the cluster are virtual. A study that sets an ``environment`` is refused
    where they are and this does not say so; its results call it ``vm (guest given)``, or ``vm-container``."""
    install: bool = False
    """Whether packages of programs that hosts and machines reached by SSH lack are installed there by ``apt-get``; they
    stay."""
    link: Link | None = None
    """The network links of emulated hosts."""
    emulated_ok: bool = False
    """Allow what ``--emulated-ok`` of ``loadstone run`` allows, so that the study runs without that option."""
    images: Literal["packaged", "official"] = "packaged"
    """Stores in containers: made from the distribution's packages, or the official images, pulled."""
    registry: Annotated[str | None, Field(examples=["registry.example.org:5000/loadstone"])] = None
    """Images are pushed here, and nodes pull them; without it they are loaded into each node's engine."""


class Reach(Model):
    """How a machine is reached: data, so that a journal can hold it."""

    transport: str = "here"
    """``here``, ``emulated``, ``ssh``, ``exec``, the name of one that a package registers, or ``planned``."""
    options: dict[str, str] = {}
    """The transport's own: the host that ssh is given, the names of an emulated host's parts, the software of a cluster
    and where it answers. Of a ``planned`` machine, which is yet to be made, none."""

    @property
    def planned(self) -> bool:
        """Whether the machine is yet to be made, so nothing of it can be looked at."""
        return self.transport == "planned"

    @property
    def local(self) -> bool:
        """Whether the machine has the kernel of this one."""
        return self.transport in ("here", "emulated")

    @property
    def through_cluster(self) -> bool:
        """Whether it is reached in a container, by the client of its cluster."""
        return self.transport == "exec"

    @property
    def by_login(self) -> bool:
        """Whether it is a machine elsewhere on which anything can be started, as by SSH."""
        return not (self.planned or self.local or self.through_cluster)


class Node(Model):
    """A node that the infrastructure hands out. ``cpus`` are the cores that it may use."""

    name: str
    role: Role
    address: str
    cpus: tuple[int, ...]
    memory: int
    emulated: bool = False
    shared: bool = False
    """Its cores are also used by the client, so the generator may disturb the system under test."""
    reach: Reach = Reach()
    """The way to its machine."""
    guest: Guest | None = None
    """Where it is a virtual machine that the study has made."""

    @property
    def kernel_reach(self) -> Reach:
        """The way to the machine whose kernel settings it depends on: of a guest, to this one."""
        return Reach() if self.guest is not None else self.reach
