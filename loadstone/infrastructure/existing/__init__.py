"""A cluster that you have. Nothing is installed in it; what a deployment makes there is labelled and removed with it.

Each kind of software finds its own by ``Software.check`` and ``find``. What is the same for all is checked here.
"""

from __future__ import annotations

from collections import Counter

from loadstone import plugins
from loadstone.infrastructure.base import Finding, Infrastructure, Provision, Say
from loadstone.infrastructure.desk import client
from loadstone.infrastructure.software import load_software
from loadstone.model.cluster import Cluster, Node
from loadstone.model.errors import LoadstoneError, PreflightError


class Existing(Infrastructure):
    """All nodes that run replicas are taken; ``cluster.workers``, where it is given, must be how many those are."""

    name = "existing"
    software = frozenset(plugins.names("software")) - {"process"}
    finds_clusters = True
    names_workers = False

    @classmethod
    def client_machines(cls, cluster: Cluster) -> int | None:
        return None

    def preflight(self, software: str, managers: int) -> list[Finding]:
        kind = load_software(software)
        findings: list[Finding] = list(kind.check(self.cluster))
        if any(finding.level == "error" for finding in findings):
            return findings
        try:
            return [*findings, *self._findings(kind.find(self.cluster), managers)]
        except LoadstoneError as error:
            return [*findings, Finding(software, "error", str(error))]

    def sketch(self, software: str, managers: int) -> list[Node]:
        try:
            return list(load_software(software).find(self.cluster).nodes)
        except LoadstoneError:  # nothing answers yet: nodes like this machine
            here = client(shared=False)
            workers = [f"worker-{number + 1}" for number in range(self.cluster.workers)]
            return [here, *(here.model_copy(update={"name": name, "role": "worker"}) for name in workers)]

    def provide(self, software: str, managers: int, say: Say) -> Provision:
        say(f"looking at your {software} cluster")
        provision = load_software(software).find(self.cluster)
        for finding in self._findings(provision, managers):
            if finding.level == "error":
                raise PreflightError(finding.message, finding.remedy)
        return provision

    def release(self) -> None:
        """Nothing was made."""

    def _findings(self, provision: Provision, managers: int) -> list[Finding]:
        workers = [node for node in provision.nodes if node.role == "worker"]
        wrong = [*self._wrong_counts(workers, provision, managers), *self._wrong_nodes(workers, provision)]
        cores, memory = sum(len(node.cpus) for node in workers), sum(node.memory for node in workers)
        message = f"{', '.join(node.name for node in workers)}: {cores} cores, {memory / 2**30:.1f} GiB"
        return [Finding("cluster", "error", *pair) for pair in wrong] or [Finding("cluster", "ok", message)]

    def _wrong_counts(self, workers: list[Node], provision: Provision, managers: int) -> list[tuple[str, str]]:
        wrong = []
        wanted = self.cluster.workers
        if "workers" in self.cluster.model_fields_set and wanted != len(workers):
            message = f"nodes that run replicas: your cluster has {len(workers)}, the study needs {wanted}"
            wrong.append((message, f"set cluster.workers: {len(workers)}, or leave it out"))
        there = provision.access.extra.get("managers") if provision.access is not None else None
        if there is not None and int(there) != managers:
            message = f"managers: your cluster has {there}, the study needs {managers}"
            wrong.append((message, f"set cluster.managers: {there}, which says what this cluster is"))
        return wrong

    def _wrong_nodes(self, workers: list[Node], provision: Provision) -> list[tuple[str, str]]:
        wrong = []
        if not workers:
            wrong.append(("no node of your cluster runs replicas now", "is there one that is ready and not drained?"))
        for name, times in Counter(node.name for node in provision.nodes).items():
            if times > 1:
                wrong.append((f"{times} nodes are called {name}", "give each a host name of its own"))
        reached = provision.access.engines if provision.access is not None else {}
        far = [node.name for node in workers if node.name not in reached]
        if far and not self.cluster.registry:
            message = f"images cannot be loaded into {', '.join(far)} from here"
            wrong.append((message, "set cluster.registry to one that your nodes pull from"))
        return wrong
