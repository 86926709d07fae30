"""Replicas as pods of Kubernetes, all of a deployment in a namespace of its own."""

from __future__ import annotations

import socket
import time
from functools import cached_property
from pathlib import Path

from loadstone.infrastructure import images
from loadstone.infrastructure.base import Access, Finding
from loadstone.infrastructure.failover import Refused, Unreachable
from loadstone.infrastructure.kubernetes_api import KubernetesApi, connect, not_ready
from loadstone.model.deployment import Deployment, FoundReplica
from loadstone.model.errors import DeploymentError
from loadstone.orchestration import agent
from loadstone.orchestration.base import Place
from loadstone.orchestration.containers import LABEL, SERVICE_LABEL, Containers
from loadstone.orchestration.kubernetes import manifests, node_agent, pods
from loadstone.orchestration.kubernetes.inside import OnNode
from loadstone.orchestration.kubernetes.manifests import Manifest

_LOG_BYTES = 1 << 22
"""The most that is read of a log; its lines are cut off by the runtime at 16 KiB."""
_GONE_WITHIN_S = 180.0
_OPEN_WITHIN_S = 60.0
_ACCEPT_WITHIN_S = 5.0
_LOOK_EVERY_S = 0.25


class Kubernetes(Containers):
    """Deployments and StatefulSets; neighbours are found by the DNS names of headless Services."""

    name = "kubernetes"
    software = "kubernetes"
    resolves_names = True
    managed = True

    def __init__(self, deployment: Deployment, folder: Path, access: Access | None = None) -> None:
        super().__init__(deployment, folder, access)
        self._pods: dict[str, str] = {}

    # What is deployed

    def preflight(self) -> list[Finding]:
        wrong = [Finding("kubernetes", "error", sentence) for sentence in manifests.objections(self.deployment)]
        return [*super().preflight(), *wrong]

    def render(self) -> dict[str, str]:
        return manifests.files(self.deployment, self._pull) | node_agent.files(self.deployment, self._pull)

    @property
    def _pull(self) -> str:
        """Images that Loadstone loads into engines are never pulled, so a missing image is reported as missing."""
        return "Never" if self.access is not None and not self.access.registry else "IfNotPresent"

    @property
    def _namespace(self) -> str:
        return manifests.namespace_of(self.deployment.name)

    @property
    def _objects(self) -> str:
        return f"/api/v1/namespaces/{self._namespace}"

    @cached_property
    def _api(self) -> KubernetesApi:
        return connect(self.cluster)

    @classmethod
    def _entrance(cls, deployment: Deployment) -> dict[str, str]:
        return {"namespace": manifests.namespace_of(deployment.name)}

    # Doing it

    def _create(self, services: list[str]) -> None:
        _refuse_foreign(self._api, self._namespace)
        self._api.apply(manifests.namespace_manifest(self.deployment))
        self._api.apply(manifests.secret_manifest(self.deployment, self.password))
        if agent.nodes(self.deployment):
            self._api.apply(node_agent.manifest(self.deployment, self._pull))
        for service in services:
            for manifest in manifests.service_manifests(self.deployment, service, self._pull):
                self._api.apply(manifest)

    def scale(self, service: str, replicas: int) -> None:
        kind = "statefulsets" if self.deployment.of(service)[0].store else "deployments"
        path = f"/apis/apps/v1/namespaces/{self._namespace}/{kind}/{service}/scale"
        self._api.merge(path, {"spec": {"replicas": replicas}})

    @classmethod
    def _delete(cls, access: Access, name: str) -> None:
        try:
            _delete_namespace(connect(access), manifests.namespace_of(name))
        except Unreachable:
            if not access.cluster:  # one of ours that does not answer any more goes as a whole
                raise

    # Asking about it

    def ready(self, stores_only: bool = False) -> None:
        super().ready(stores_only)
        started = time.monotonic()
        while closed := self._closed():
            if time.monotonic() - started > _OPEN_WITHIN_S:
                name, address = closed[0]
                raise DeploymentError(
                    f"{name} is ready, but its node opened no port for it within {_OPEN_WITHIN_S:g} s: {address}",
                    "does kube-proxy, or what stands in for it, run there, and does no firewall lie between?",
                )
            time.sleep(_LOOK_EVERY_S)

    def _closed(self) -> list[tuple[str, str]]:
        """Published addresses that do not answer yet: a node opens its port a moment after the replica is ready."""
        found = [(replica.name, address) for replica in self._find() for address in replica.addresses.values()]
        return [(name, address) for name, address in found if not _accepts(address)]

    def _find(self) -> list[FoundReplica]:
        listed = self._api.items(f"{self._objects}/pods", labelSelector=SERVICE_LABEL)
        self._pods = pods.names(listed)
        found = pods.replicas(listed, self._warnings(listed), self._published(), self.deployment)
        if {replica.image for replica in found} <= {"", *self._image_ids.values()}:
            return found
        ids = self._ids_by_digest | self._ids_by_manifest
        return [replica.model_copy(update={"image": ids.get(replica.image, replica.image)}) for replica in found]

    @cached_property
    def _ids_by_manifest(self) -> dict[str, str]:
        """A node that has ever pulled an image names it by its manifest, others name the same by its configuration."""
        return images.ids_by_manifest(self.deployment.images, self.cluster)

    def inside(self) -> Place | None:
        """The node of a store: from the network of any node all pods are reached."""
        stores = {replica.service for replica in self.deployment.replicas if replica.store}
        names = [found.node for found in self._find() if found.service in stores and found.node]
        nodes = [node for node in self.deployment.nodes if node.name in names[:1]]
        return OnNode(nodes[0]) if nodes else super().inside()

    def _warnings(self, listed: list[Manifest]) -> list[Manifest]:
        """Events, which only matter where something is not as it should be."""
        if len(listed) == len(self.deployment.replicas) and all(map(pods.is_ready, listed)):
            return []
        return self._api.items(f"{self._objects}/events", fieldSelector="type=Warning")

    def _published(self) -> dict[str, dict[int, int]]:
        """By service, the port on nodes by container port."""
        return {
            service["metadata"]["labels"][manifests.PUBLISHED_LABEL]: {
                port["port"]: port["nodePort"] for port in service["spec"]["ports"]
            }
            for service in self._api.items(f"{self._objects}/services", labelSelector=manifests.PUBLISHED_LABEL)
        }

    def _log(self, found: FoundReplica, lines: int) -> str | None:
        if found.name not in self._pods:
            return None
        try:
            return self._api.text(
                f"{self._objects}/pods/{self._pods[found.name]}/log", tailLines=str(lines), limitBytes=str(_LOG_BYTES)
            )
        except DeploymentError:  # it has not begun, or its node does not answer
            return None

    def _why_no_agent(self) -> list[str]:
        events = self._api.items(f"{self._objects}/events", fieldSelector="type=Warning")
        of_agents = (event for event in events if event["involvedObject"]["name"].startswith(agent.NAME))
        return list(dict.fromkeys(event["message"].strip() for event in of_agents))

    def _lost(self) -> list[str]:
        listed = {node["metadata"]["name"]: node for node in self._api.items("/api/v1/nodes")}
        workers = [node.name for node in self.deployment.nodes if node.role == "worker"]
        return [f"node {name} is down: {why}" for name in workers if (why := not_ready(listed.get(name)))]

    def versions(self) -> dict[str, str]:
        if self.access is None:
            return {}
        found = {"kubernetes": str(self._api.get("/version")["gitVersion"]).removeprefix("v")}
        for node in self._api.items("/api/v1/nodes"):
            engine, _, version = node["status"]["nodeInfo"]["containerRuntimeVersion"].partition("://")
            found[engine] = version
        return found


def _accepts(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), _ACCEPT_WITHIN_S).close()
        return True
    except OSError:
        return False


def _refuse_foreign(api: KubernetesApi, namespace: str) -> None:
    """Raise DeploymentError for a namespace that Loadstone did not create: it would be deleted at the end."""
    there = _namespace(api, namespace)
    if there is not None and there["metadata"].get("labels", {}).get(LABEL) != namespace:
        raise DeploymentError(
            f"the cluster has a namespace {namespace!r} that Loadstone did not make", "give the study another name"
        )


def _namespace(api: KubernetesApi, namespace: str) -> Manifest | None:
    try:
        found: Manifest = api.get(f"/api/v1/namespaces/{namespace}")
        return found
    except Refused as error:
        if error.status != 404:
            raise
        return None


def _delete_namespace(api: KubernetesApi, namespace: str) -> None:
    """Delete a namespace with all that is in it, and wait until it is gone; one that is not ours stays."""
    there = _namespace(api, namespace)
    if there is None or there["metadata"].get("labels", {}).get(LABEL) != namespace:
        return
    api.delete(f"/api/v1/namespaces/{namespace}")
    deadline = time.monotonic() + _GONE_WITHIN_S
    while (there := _namespace(api, namespace)) is not None:
        _forget_unreachable(api, namespace)
        if time.monotonic() > deadline:
            conditions = there["status"].get("conditions", [])
            why = "; ".join(condition["message"] for condition in conditions if condition["status"] == "True")
            raise DeploymentError(f"namespace {namespace} is not gone within {_GONE_WITHIN_S:g} s: {why}")
        time.sleep(_LOOK_EVERY_S)


def _forget_unreachable(api: KubernetesApi, namespace: str) -> None:
    """Delete pods on nodes that are down by force: no kubelet is left there to confirm their end."""
    down = {node["metadata"]["name"] for node in api.items("/api/v1/nodes") if not_ready(node)}
    for pod in api.items(f"/api/v1/namespaces/{namespace}/pods") if down else []:
        if pod["spec"].get("nodeName") in down:
            api.delete(f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}", gracePeriodSeconds="0")
