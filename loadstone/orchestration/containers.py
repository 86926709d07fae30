"""What all orchestrators of containers share: deliver images, wait, read back, notice what died, remove.

An orchestrator of containers supplies the format of its files and the queries of its cluster; see ``swarm/``.
"""

from __future__ import annotations

import http.client
import json
import secrets
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import ClassVar

from loadstone.infrastructure import images, journal
from loadstone.infrastructure.base import Access, Finding, Say
from loadstone.infrastructure.machines import exec
from loadstone.model.application import Entry
from loadstone.model.cluster import Node, Role
from loadstone.model.deployment import DATA, Deployment, FoundReplica, Replica
from loadstone.model.errors import DeploymentError
from loadstone.model.records.audit import AuditRow
from loadstone.model.records.node.replicas import Subject, Used
from loadstone.orchestration import agent
from loadstone.orchestration.auditing import audit_container
from loadstone.orchestration.base import Orchestrator
from loadstone.orchestration.environment import Files
from loadstone.orchestration.limits_reader import Reader
from loadstone.orchestration.start_order import start_order

LABEL = "loadstone.deployment"
SERVICE_LABEL = "loadstone.service"

_POLL_S = 0.25
_LAST_LINES = 15
_ANSWER_S = 5.0
_MACHINES_WITHIN_S = 60.0
_KNOWN_AGAIN_WITHIN_S = 30.0
_WITHOUT: dict[Role, str] = {"client": "it could generate no load", "worker": "its limits could not be read back"}
"""What is impossible without the machine of a node, by its role."""


class Containers(Orchestrator):
    """Replicas in containers of a cluster; found again by the names and labels that ``render`` gives them."""

    environments = ("container", "vm-container")
    files: ClassVar[Files] = "volume"
    """Where services of ``stone`` keep theirs."""

    # What each orchestrator supplies

    @abstractmethod
    def _create(self, services: list[str]) -> None:
        """Make these services in the cluster, as rendered. Making what is there changes nothing.

        Raises DeploymentError in the cluster's words, with the remedy where there is one.
        """

    @abstractmethod
    def _find(self) -> list[FoundReplica]:
        """Every replica of this deployment that there is now."""

    @abstractmethod
    def _log(self, found: FoundReplica, lines: int) -> str | None:
        """The last lines of a replica's log; None where it cannot be read."""

    @abstractmethod
    def _lost(self) -> list[str]:
        """Nodes that are down, as sentences."""

    @abstractmethod
    def scale(self, service: str, replicas: int) -> None:
        """Run so many replicas of a service from now on; returns at once."""

    @classmethod
    @abstractmethod
    def _delete(cls, access: Access, name: str) -> None:
        """Remove everything of the deployment of that name and wait until it is gone; nothing there is no error."""

    @classmethod
    def _entrance(cls, deployment: Deployment) -> dict[str, str]:
        """Options of the way into a node's container (``machines/exec.py``) that depend on the deployment."""
        return {}

    # What follows from that

    def __init__(self, deployment: Deployment, folder: Path, access: Access | None = None) -> None:
        if access is not None:  # a sketch names images by our version, a deployment by what is in them
            references = {what: images.reference(what, access) for what in deployment.images}
            deployment = deployment.model_copy(update={"images": references})
        nodes = tuple(self._entered(node, deployment) for node in deployment.nodes)
        super().__init__(deployment.model_copy(update={"nodes": nodes}), folder, access)
        self._reader = Reader(nodes)
        self._born: dict[str, str] = {}
        self._image_ids: dict[str, str] = {}
        self._ids_by_digest: dict[str, str] = {}

    @property
    def cluster(self) -> Access:
        """The way in to the cluster, which is there once anything is to be done in it."""
        if self.access is None:
            raise DeploymentError(f"{self.deployment.name} has no cluster yet")
        return self.access

    def preflight(self) -> list[Finding]:
        warnings = [Finding("deployment", "warning", warning) for warning in self.deployment.warnings]
        packaged = [what for what, name in self.deployment.images.items() if name.startswith("loadstone/")]
        return [*warnings, *images.findings(packaged, self.access), *self._missing_ways()]

    @classmethod
    def _entered(cls, node: Node, deployment: Deployment) -> Node:
        """The node with all that the way to its machine needs."""
        if not node.reach.through_cluster:
            return node
        options = {**node.reach.options, **cls._entrance(deployment)}
        return node.model_copy(update={"reach": node.reach.model_copy(update={"options": options})})

    def _missing_ways(self) -> Iterator[Finding]:
        """Why machines cannot be reached, as far as that is known before anything is deployed."""
        software = {node.reach.options["software"] for node in agent.nodes(self.deployment)}
        for client in filter(None, map(exec.missing_client, software)):
            message = f"{client} is not installed: it leads to your cluster's nodes, which know the limits in force"
            yield Finding(client, "error", message, f"install {client}, and let it reach your cluster")
        by_login = Reader(node for node in self.deployment.nodes if node.reach.transport == "ssh")
        for role, otherwise in _WITHOUT.items():
            for name, why in by_login.unreachable(role).items():
                remedy = f"let `ssh {name}` log in without a question, as root or with sudo"
                yield Finding(name, "error", f"{why}; {otherwise}", remedy)

    def prepare(self, say: Say) -> None:
        self._begin()
        delivered = images.deliver(self.cluster, list(self.deployment.images), say)
        self._image_ids = {what: image.id for what, image in delivered.items() if image.id}
        self._ids_by_digest = {image.digest: image.id for image in delivered.values() if image.digest}
        summaries = {what: asdict(image) for what, image in delivered.items()}
        (self.folder / "images.json").write_text(json.dumps(summaries, indent=1), encoding="utf-8")

    def apply(self, stores_only: bool = False) -> None:
        if not self._image_ids:
            self.prepare(lambda _sentence: None)
        chosen = [replica for replica in self.deployment.replicas if replica.store or not stores_only]
        started: list[str] = []
        for group in self._groups(chosen):
            if started:
                self._await([replica for replica in chosen if replica.service in started], time.monotonic())
            started = [*started, *group]
            self._create(started)

    def _groups(self, replicas: list[Replica]) -> list[list[str]]:
        """The services of replicas in the order in which they are started."""
        return start_order(replicas)

    def _begin(self) -> None:
        there = journal.load(self.deployment.name)
        if there is None:
            entry = journal.JournalEntry(
                name=self.deployment.name,
                layer="orchestrators",
                implementation=self.name,
                folder=str(self.folder.resolve()),
                facts={"access": self.cluster.as_data(), "password": secrets.token_hex(32)},
            )
            self.folder.mkdir(parents=True, exist_ok=True)
            journal.save(entry)

    @property
    def password(self) -> str:
        entry = journal.load(self.deployment.name)
        return str(entry.facts["password"]) if entry is not None else ""

    def ready(self, stores_only: bool = False) -> None:
        started = time.monotonic()
        self._await([replica for replica in self.deployment.replicas if replica.store or not stores_only], started)
        if stores_only:
            if any(replica.store for replica in self.deployment.replicas):
                for role in _WITHOUT:
                    self._wait_for_machines(role, "stores cannot be seeded")
        else:
            for entry in self.deployment.entries:
                self._wait_for_entry(entry, started)
            self._wait_for_machines("client", "load cannot be generated")
            self._wait_for_machines("worker", "limits cannot be read back")
        self._born |= {found.name: found.container for found in self._find()}

    def _await(self, wanted: list[Replica], started: float) -> None:
        """Wait until these are ready; raises DeploymentError for the first that takes too long since ``started``."""
        while waiting := self._not_ready(wanted):
            for replica, found in waiting:
                if (found is not None and found.hopeless) or time.monotonic() - started > replica.readiness.within:
                    raise DeploymentError(self._complaint(replica, found))
            time.sleep(_POLL_S)

    def _not_ready(self, wanted: Iterable[Replica]) -> list[tuple[Replica, FoundReplica | None]]:
        found = {each.name: each for each in self._find()}
        return [
            (replica, found.get(replica.name))
            for replica in wanted
            if replica.name not in found or not found[replica.name].healthy
        ]

    def _complaint(self, replica: Replica, found: FoundReplica | None) -> str:
        message = f"{replica.name} was not ready within {replica.readiness.within:g} s"
        if found is not None and found.hopeless:
            message = f"{replica.name} cannot be started"
        lost = "".join(f"\n  {sentence}" for sentence in self._lost())
        if found is None:
            return f"{message}: {self.name} made no container for it{lost}"
        text = f"{message}: {found.why or found.state}{lost}"
        lines = (self._log(found, _LAST_LINES) or "").splitlines()
        if lines:
            text += "\n  its last log lines:\n" + "\n".join(f"    {line}" for line in lines)
        return text

    def _wait_for_entry(self, entry: Entry, started: float) -> None:
        """What requests enter answers from where the load comes from, whatever it says."""
        within = self.deployment.of(entry.service)[0].readiness.within
        while True:
            targets = self.addresses(entry.service, entry.port)
            silent = [f"{target}: {why}" for target in targets if (why := _why_silent(target)) is not None]
            if targets and not silent:
                return
            if time.monotonic() - started > within:
                reason = "; ".join(silent) or f"{self.name} published no port for it"
                raise DeploymentError(f"{entry.service} is ready, but cannot be reached: {reason}")
            time.sleep(_POLL_S)

    def _wait_for_machines(self, role: Role, otherwise: str) -> None:
        """The machines of a role answer; raises DeploymentError with what is the case otherwise, and why."""
        started = time.monotonic()
        while unreachable := self._reader.unreachable(role):
            if time.monotonic() - started > _MACHINES_WITHIN_S:
                reasons = [*unreachable.values(), *self._why_no_agent()]
                raise DeploymentError(f"{otherwise}:" + "".join(f"\n  {why}" for why in reasons))
            time.sleep(_POLL_S)

    def _why_no_agent(self) -> list[str]:
        """Why the containers that wait on nodes do not run, in the cluster's words, where it can say so."""
        return []

    def addresses(self, service: str, port: str) -> list[str]:
        return self._known(service, lambda found: found.addresses.get(port))

    def inner(self, service: str, port: str) -> list[str]:
        number = self.deployment.of(service)[0].ports[port]
        return self._known(
            service, lambda found: f"{found.address}:{number}" if found.address else found.addresses.get(port)
        )

    def _known(self, service: str, address: Callable[[FoundReplica], str | None]) -> list[str]:
        """Addresses of a service's replicas; after first readiness, retries for 30 s: a newly elected manager may not
        list them yet."""
        started = time.monotonic()
        while True:
            found = [known for each in self._find() if each.service == service and (known := address(each))]
            if found or not self._born or time.monotonic() - started > _KNOWN_AGAIN_WITHIN_S:
                return list(dict.fromkeys(found))
            time.sleep(_POLL_S)

    def nodes(self) -> dict[str, str]:
        return {found.name: found.node for found in self._find()}

    def audit(self) -> list[AuditRow]:
        replicas = {replica.name: replica for replica in self.deployment.replicas}
        rows = []
        seen = {found.name: found for found in self._find()}
        folders = {
            name: DATA for name, replica in replicas.items() if replica.stone is not None and DATA in replica.volumes
        }
        standings = self._reader.read(list(seen.values()), ("limits", "environment"), folders)
        facts = self._reader.facts(list(seen.values()))
        for name, replica in replicas.items():
            if (found := seen.get(name)) is None:
                rows.append(AuditRow(replica=name, node="none", what="container", wanted="running", effective="none"))
                continue
            rows += audit_container(found, replica, self.deployment, standings[name], facts.get(found.node), self.files)
            wanted = self._image_ids.get(replica.software or replica.image or "stone", found.image)
            if found.image:
                rows.append(AuditRow(replica=name, node=found.node, what="image", wanted=wanted, effective=found.image))
        return rows

    def usage(self) -> dict[str, Used]:
        standings = self._reader.read([found for found in self._find() if found.container])
        return {name: standing.usage for name, standing in standings.items() if standing.usage is not None}

    def subjects(self) -> dict[str, tuple[str, Subject]]:
        return {
            found.name: (found.node, Subject(container=found.container)) for found in self._find() if found.container
        }

    def new_peaks(self) -> bool:
        return self._reader.new_peaks([found for found in self._find() if found.container])

    def events(self) -> list[str]:
        if not self._born:
            return []
        try:
            return self._what_happened()
        except DeploymentError as error:
            return [f"the cluster cannot be queried: {error}"]

    def _what_happened(self) -> list[str]:
        sentences = list(self._lost())
        now = {found.name: found for found in self._find()}
        for name, container in self._born.items():
            found = now.get(name)
            if found is None:
                sentences.append(f"{name} is gone")
            elif found.container != container:
                sentences.append(f"{name} was replaced: {found.why or found.state}")
            elif not found.healthy:
                sentences.append(f"{name} is not healthy any more: {found.why or found.state}")
        for name, standing in self._reader.read([replica for replica in now.values() if replica.healthy]).items():
            if standing.usage is None:
                sentences.append(f"what {name} does cannot be read any more: {standing.absent}")
            elif killed := standing.usage.oom_kills:
                sentences.append(f"{name} ran out of memory: the kernel killed {killed} of its processes")
        return sentences

    def logs(self, service: str | None = None, lines: int = 50) -> dict[str, str | None]:
        return {
            found.name: self._log(found, lines) for found in self._find() if service is None or found.service == service
        }

    def remove(self) -> None:
        entry = journal.load(self.deployment.name)
        if entry is not None:
            self.undo(entry)
        self._born, self._image_ids = {}, {}

    @classmethod
    def undo(cls, entry: journal.JournalEntry) -> list[str]:
        cls._delete(Access.of(entry.facts["access"]), entry.name)
        journal.forget(entry.name)
        return [entry.name]


def _why_silent(target: str) -> str | None:
    """Why nothing speaks at ``host:port``; None if something does: HTTP, or a protocol in which servers greet."""
    connection = http.client.HTTPConnection(target, timeout=_ANSWER_S)
    try:
        connection.request("GET", "/")
        connection.getresponse()
        return None
    except http.client.BadStatusLine as error:
        return str(error) if isinstance(error, http.client.RemoteDisconnected) else None
    except (OSError, http.client.HTTPException) as error:
        return str(error) or type(error).__name__
    finally:
        connection.close()
