"""A resolved deployment: every replica with its node, limits and needs; what orchestrators render."""

from __future__ import annotations

from loadstone.model.application import Entry, Readiness, Resources, Tier
from loadstone.model.base import Model
from loadstone.model.cluster import Node
from loadstone.model.environment import Environment
from loadstone.model.proxy import Proxy
from loadstone.model.software import StoreSoftware

DATA = "/data"
"""The folder for files of a service of ``stone``, in a container."""

EXECUTABLE = 0o555
"""The mode of a configuration file that is a script."""


def is_script(text: str) -> bool:
    """Whether the text of a configuration file names its interpreter, so that it can be run as a program."""
    return text.startswith("#!")


class Replica(Model):
    """One replica of a service, placed on a node."""

    service: str
    index: int
    tier: Tier
    node: str
    resources: Resources
    stone: str | None = None
    software: str | None = None
    image: str | None = None
    """An image that is neither ours nor a store's. Exactly one of ``stone``, ``software`` and ``image`` is given."""
    entrypoint: tuple[str, ...] = ()
    """Program and first arguments of an image, instead of its own entrypoint and command (Kubernetes: ``command``)."""
    command: tuple[str, ...] = ()
    """Arguments of an image's entrypoint, instead of its own (Kubernetes: ``args``)."""
    environment: dict[str, str] = {}
    configs: dict[str, str] = {}
    """Files that are mounted read-only: text by path in the container."""
    volumes: tuple[str, ...] = ()
    """Paths in the container that hold data; empty at the start, gone at the end. Of ``stone`` it is ``DATA``."""
    ports: dict[str, int]
    needs: tuple[str, ...]
    readiness: Readiness
    in_front: bool = False
    """Whether it only passes requests on to what it needs."""
    stack: bool = False
    """Whether it watches from beside: on one node, on the ports that it declares, and no part of the application."""

    @property
    def store(self) -> bool:
        """Whether it is a store: started and filled before the services that need it."""
        return self.software is not None and not self.in_front and not self.stack

    @property
    def name(self) -> str:
        """``rate-1``, ``rate-2`` ...: unique in its deployment."""
        return f"{self.service}-{self.index}"

    @property
    def main_port(self) -> str:
        """The name of the port that dependent services use. An image may have no ports."""
        return next(port for port in self.ports if port != "admin")


class Deployment(Model):
    """All replicas of an application for one treatment, in start order."""

    name: str
    application: str
    profile: str
    documents: str
    entry: Entry
    """Where the treatment's load enters."""
    entries: tuple[Entry, ...]
    """Where requests enter, each published: the application's own entry, or the proxy before it, first; then those of
    its workloads."""
    nodes: tuple[Node, ...]
    replicas: tuple[Replica, ...]
    software: dict[str, StoreSoftware]
    external: str = ""
    """The address of what someone else deployed; then it has no replicas."""
    scaling: str = "baseline"
    environment: Environment | None = None
    """What the study sets; None where it leaves that to the orchestrator and the machines."""
    proxy: Proxy | None = None
    """NGINX before the entry of the load."""
    behind: Entry | None = None
    """Where it passes requests on to."""
    beside: bool = False
    """Whether its nodes run another application, which may have the ports that this one declares."""
    allowed: dict[str, tuple[str, ...]] = {}
    """The nodes that a service may run on; any worker where it is not named."""
    resolves_names: bool = False
    """Whether a replica reaches a service by its name; else by the address of one of its replicas."""
    images: dict[str, str] = {}
    """Image references by what is in them: ``stone``, software by name, others by their own reference."""
    warnings: tuple[str, ...] = ()

    def enters(self, replica: Replica, port: str) -> bool:
        """Whether requests enter at a port of a replica."""
        return Entry(service=replica.service, port=port) in self.entries

    def services(self) -> dict[str, list[Replica]]:
        """The replicas of each service, in start order."""
        return {replica.service: self.of(replica.service) for replica in self.replicas}

    def of(self, service: str) -> list[Replica]:
        """The replicas of one service."""
        return [replica for replica in self.replicas if replica.service == service]

    def node(self, name: str) -> Node:
        """The node of that name."""
        return next(node for node in self.nodes if node.name == name)


class FoundReplica(Model):
    """A replica as its orchestrator runs it now."""

    name: str
    """``geo-1``: service and number."""
    service: str
    node: str
    """Loadstone's name of the node; empty while it has none."""
    state: str
    """In the orchestrator's own word."""
    healthy: bool
    why: str = ""
    """Why it is not healthy, with the orchestrator's own events."""
    hopeless: bool = False
    """Waiting will not make it healthy: no node may take it, its image is nowhere."""
    container: str = ""
    """The container's full id, once there is one."""
    image: str = ""
    """The id (``sha256:...``) of the image that it actually runs; empty if not reported."""
    addresses: dict[str, str] = {}
    """``host:port`` by port name, as the client reaches it; published ports only."""
    address: str = ""
    """Its own in the network of its deployment; empty where it has none."""
