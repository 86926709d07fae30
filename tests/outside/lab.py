"""A package outside of Loadstone: infrastructure, software, transport and orchestrator, found by entry points alone.

Nodes are addresses of this machine, the software is a ``stone echo`` on each, and replicas are what answers there.
``slot-1`` is reached by the client of the software, the others by a transport of the package.
"""

from __future__ import annotations

import contextlib
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loadstone import plugins
from loadstone.infrastructure import journal
from loadstone.infrastructure.base import Access, Finding, Infrastructure, Provision, Say
from loadstone.infrastructure.machines import Machine, Transport, connect
from loadstone.infrastructure.machines.exec import Exec
from loadstone.infrastructure.paths import data_root
from loadstone.infrastructure.software.base import Member, Software, await_until
from loadstone.model.cluster import Cluster, Node, Reach
from loadstone.model.deployment import Replica
from loadstone.model.errors import PreflightError
from loadstone.model.records.audit import AuditRow
from loadstone.orchestration.base import Orchestrator

FIRST_PORT = 17_923


@dataclass(frozen=True)
class Rail(Transport):
    """A program on this machine; ``slot`` is which of its nodes is meant."""

    slot: str
    state: str

    def command(self, argv: Sequence[str]) -> list[str]:
        return ["env", f"SLOT={self.slot}", *argv]

    def deliver(self, program: Path) -> str:
        return str(program)

    def node_options(self) -> list[str]:
        return ["--state", self.state]


class Inside(Rail, Exec):
    """The client of a parrot is ``env``; its container is this machine."""

    client = "env"


class Rack(Infrastructure):
    """Nodes at 127.1.0.1 and on, with any software that is registered."""

    name = "rack"
    software = frozenset(plugins.names("software"))

    def preflight(self, software: str, managers: int) -> list[Finding]:
        return [Finding("rack", "ok", f"{self.cluster.workers} addresses")]

    def sketch(self, software: str, managers: int) -> list[Node]:
        client = Node(name="client", role="client", address="127.0.0.1", cpus=(0,), memory=2**30)
        return [client, *(self._slot(client, number) for number in range(1, self.cluster.workers + 1))]

    def _slot(self, client: Node, number: int) -> Node:
        name = f"slot-{number}"
        way = {"slot": name, "state": str(data_root() / name)}
        reach = Reach(transport="rail", options=way)
        if number == 1:
            reach = Reach(transport="exec", options={"software": Parrot.name, **way})
        update = {"name": name, "role": "worker", "address": f"127.1.0.{number}", "shared": True, "reach": reach}
        return client.model_copy(update=update)

    def provide(self, software: str, managers: int, say: Say) -> Provision:
        nodes = self.sketch(software, managers)
        journal.save(
            journal.JournalEntry(
                name=self.entry_name,
                layer="infrastructure",
                implementation=self.name,
                folder="",
                facts={"deployments": [f"{self.entry_name}-{node.name}" for node in nodes[1:]]},
            )
        )
        machine = connect("this machine", Reach())
        members = [
            Member(node.name, node.role, node.address, machine, f"{self.entry_name}-{node.name}") for node in nodes[1:]
        ]
        for member in members:
            machine.begin(member.deployment, "1", self.entry_name)
        kind: Software = plugins.find("software", software)()
        return Provision(tuple(nodes), kind.start(members, "", Path(), say))

    def release(self) -> None:
        if (entry := journal.load(self.entry_name)) is not None:
            self.undo(entry)

    @classmethod
    def undo(cls, entry: journal.JournalEntry) -> list[str]:
        for deployment in entry.facts["deployments"]:
            connect("this machine", Reach()).end(deployment)
        journal.forget(entry.name)
        return [entry.name]


class Parrot(Software):
    """A ``stone echo`` on each member."""

    name = "parrot"
    inside = Inside

    def preflight(self, machines: Sequence[Machine]) -> list[Finding]:
        return []

    def start(self, members: Sequence[Member], registry: str, folder: Path, say: Say) -> Access:
        ports = {member.name: member.machine.ports(member.address, [FIRST_PORT])[0] for member in members}
        targets = {member.name: f"{member.address}:{ports[member.name]}" for member in members}
        say(f"starting {len(members)} parrots")
        for member in members:
            member.spawn("parrot", [member.machine.stone, "echo", "--listen", targets[member.name]])
        await_until(members, "parrot", lambda: next((t for t in targets.values() if not answers(t)), ""), 30.0)
        return Access(self.name, extra=targets)

    def check(self, cluster: Cluster) -> list[Finding]:
        return []

    def find(self, cluster: Cluster) -> Provision:
        raise PreflightError("a parrot is never there before it is started")


class Perch(Orchestrator):
    """A replica is what answers on its node."""

    name = "perch"
    software = Parrot.name
    environments = ("bare",)

    def preflight(self) -> list[Finding]:
        return []

    def render(self) -> dict[str, str]:
        return {"perch.txt": "".join(f"{each.name} {each.node}\n" for each in self.deployment.replicas)}

    def apply(self, stores_only: bool = False) -> None:
        """All runs already."""

    def ready(self, stores_only: bool = False) -> None:
        """Parrots are ready once they are started."""

    def addresses(self, service: str, port: str) -> list[str]:
        assert self.access is not None
        return [self.access.extra[replica.node] for replica in self.deployment.of(service)]

    def audit(self) -> list[AuditRow]:
        return [
            AuditRow(
                replica=replica.name,
                node=replica.node,
                what="answers",
                wanted=f"in {replica.node}",
                effective=self._where(replica) if answers(address) else "no",
            )
            for replica in self.deployment.replicas
            for address in [self.addresses(replica.service, "")[replica.index - 1]]
        ]

    def _where(self, replica: Replica) -> str:
        """The slot whose ``stone node`` answers for its node."""
        node = self.deployment.node(replica.node)
        environment = Path(f"/proc/{connect(node.name, node.reach).hello.pid}/environ").read_text().split("\0")
        return next(f"in {value}" for key, _, value in (each.partition("=") for each in environment) if key == "SLOT")

    def events(self) -> list[str]:
        return []

    def logs(self, service: str | None = None, lines: int = 50) -> dict[str, str]:
        return {}

    def remove(self) -> None:
        """The infrastructure ends what runs."""


def answers(target: str) -> bool:
    with contextlib.suppress(OSError):
        return bool(urllib.request.urlopen(f"http://{target}/", timeout=2).status == 200)
    return False
