"""Where spans are received: on clients of the cluster, with one receiver or several on each, else on this machine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from loadstone.infrastructure.hosts.claims import CLAIM
from loadstone.infrastructure.machines import Machine, connect, exec
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.errors import DeploymentError
from loadstone.model.records.observed import SpanCounts
from loadstone.monitoring.receiver import Receiver, ReceiverError
from loadstone.orchestration import agent

_OTLP_PORTS = (4317, 4318)
"""gRPC and HTTP, in the container of a client that waits; further receivers there have those that follow."""
_HOST_PORTS = (24317, 24318)
"""On a host, or the next that are free: among those that its firewall lets other hosts reach."""
_QUIET_S = 2.6
"""Without a span for so long, all are in: services send what they have every two seconds."""
_WITHIN_S = 15.0
_BEGUN_WITHIN_S = 30.0
_MERGED_WITHIN_S = 600.0


class ReceivingPlace:
    """One receiver. ``grpc`` and ``http`` are where spans arrive; ``problem`` is why the trial's were not recorded.

    ``number`` counts the receivers of its machine, from 0.
    """

    def __init__(self, node: Node, number: int, forward: str | None) -> None:
        self.node = node
        self.local = not _receives(node)
        self.grpc = self.http = f"{node.address}:0"
        self.problem = ""
        self.anew = False
        """Whether it was started for this trial, and services may have sent spans before."""
        self._number = number
        self._forward = ["--forward", forward] if forward is not None else []
        self._machine: Machine | None = None
        self._receiver: Receiver | None = None
        self._file = ""
        if node.reach.through_cluster:
            self._at(node.address, *self._ports(_OTLP_PORTS))

    def start(self) -> None:
        """Start the receiver, unless its machine is a container that comes with the deployment."""
        if not self.local and not self.node.reach.through_cluster:
            self._machine = connect(self.node.name, self.node.reach)
            self._at(self.node.address, *self._machine.ports(self.node.address, self._ports(_HOST_PORTS)))
        if self.local or self._machine is not None:
            self._receive()

    def begin(self, deployment: Deployment, file: Path) -> None:
        """A trial begins; where this machine receives, its spans go into ``file``. Raises nothing."""
        self.problem, self.anew = "", False
        try:
            if self._receiver is None or not self._receiver.alive():  # services keep sending to its address
                self._begin_anew(deployment)
            assert self._receiver is not None
            self._file = str(file.resolve()) if self._machine is None else f"{self._scratch()}/{file.name}"
            self._receiver.order("begin", {"file": self._file, "since_ns": time.time_ns()}, _BEGUN_WITHIN_S)
        except (ReceiverError, DeploymentError) as error:
            self.problem = str(error)

    def end(self, file: Path) -> SpanCounts:
        """The counts of a trial, whose spans are in ``file``; all unknown where there is a problem. Raises nothing."""
        if self.problem:
            return SpanCounts()
        try:
            assert self._receiver is not None
            counts = self._receiver.order("end", {"quiet_s": _QUIET_S, "within_s": _WITHIN_S}, _MERGED_WITHIN_S)
            if self._machine is not None:
                file.write_bytes(self._machine.get(self._file))
        except (ReceiverError, DeploymentError) as error:
            self.problem = str(error)
            return SpanCounts()
        return SpanCounts.model_validate(counts)

    def stop(self) -> None:
        """End the receiver. May be called twice."""
        if self._receiver is not None:
            self._receiver.stop()
            self._receiver = None

    def _begin_anew(self, deployment: Deployment) -> None:
        self.stop()
        if not self.local:
            node = deployment.node(self.node.name)
            self._machine = connect(node.name, node.reach)
        self._receive()
        self.anew = True

    def _receive(self) -> None:
        cpus = self.node.cpus if self.local else ()
        arguments = ["--grpc", self.grpc, "--http", self.http, *self._forward]
        self._receiver = Receiver(arguments, cpus, self._machine)
        self.grpc, self.http = self._receiver.grpc, self._receiver.http

    def _ports(self, first: Sequence[int]) -> list[int]:
        return [port + len(first) * self._number for port in first]

    def _at(self, address: str, grpc: int, http: int) -> None:
        self.grpc, self.http = f"{address}:{grpc}", f"{address}:{http}"

    def _scratch(self) -> str:
        """The folder of its machine that goes with the deployment, or with the claim of the host."""
        if self.node.reach.through_cluster:
            return agent.SCRATCH
        claim = self._machine.deployment(CLAIM) if self._machine is not None else None
        if claim is None:
            raise ReceiverError(f"{self.node.name} is no longer claimed by this study")
        return claim.folder


def places(deployment: Deployment, desk: Node, receivers: int, forward: str | None) -> list[ReceivingPlace]:
    """That many receivers on the clients, in turn where there are fewer; on this machine where it is the client."""
    clients = [node for node in deployment.nodes if node.role == "client" and _receives(node)] or [desk]
    return [ReceivingPlace(clients[n % len(clients)], n // len(clients), forward) for n in range(receivers)]


def _receives(node: Node) -> bool:
    """Whether a machine that is not this one can run a receiver: in a cluster, the container that waits on it."""
    reach = node.reach
    return exec.kind(reach.options["software"]).waits if reach.through_cluster else reach.by_login
