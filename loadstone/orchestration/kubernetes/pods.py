"""From pods, as the API of Kubernetes lists them, to replicas. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from loadstone.model.deployment import Deployment, FoundReplica
from loadstone.orchestration.containers import SERVICE_LABEL

Json = dict[str, Any]

_HOPELESS = ("ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError")
"""Reasons of a container that waits, none of which goes away by itself."""
_PASSING = "untolerated taint {node.kubernetes.io/"
"""What a node is given while it is not ready, cannot be reached, has no network yet; Kubernetes takes it back."""
_ON_ITS_WAY = ("ContainerCreating", "PodInitializing")
_SYNC = "timed out waiting for the condition"
"""Ends the message of a kubelet that has not received a secret or a ConfigMap yet; it retries."""


def replicas(
    pods: Iterable[Json], warnings: Iterable[Json], ports: dict[str, dict[int, int]], deployment: Deployment
) -> list[FoundReplica]:
    """A replica for each pod that is not on its way out, and for each that could not even be made.

    ``warnings``: the namespace's events. ``ports``: by published service, the port on nodes by container port. Replicas
    are numbered by age, those of stores by their pods' own numbers.
    """
    messages = _by_object(warnings)
    found = [
        _replica(f"{service}-{number}", service, pod, messages.get(pod["metadata"]["name"], ""), ports, deployment)
        for service, ones in sorted(_by_service(pods).items())
        for number, pod in _numbered(ones)
    ]
    return found + list(_not_made({replica.name for replica in found}, messages, deployment))


def names(pods: Iterable[Json]) -> dict[str, str]:
    """Kubernetes' names of the pods by those of their replicas."""
    return {
        f"{service}-{number}": pod["metadata"]["name"]
        for service, ones in _by_service(pods).items()
        for number, pod in _numbered(ones)
    }


def is_ready(pod: Json) -> bool:
    """Whether its readiness check passes, or it has none and runs."""
    return _condition(pod, "Ready").get("status") == "True"


def _by_service(pods: Iterable[Json]) -> dict[str, list[Json]]:
    found = defaultdict(list)
    for pod in pods:
        over = pod["status"].get("phase") in ("Succeeded", "Failed")  # evicted: there is another one for it
        if "deletionTimestamp" not in pod["metadata"] and not over:
            found[pod["metadata"]["labels"][SERVICE_LABEL]].append(pod)
    return found


def _numbered(pods: list[Json]) -> list[tuple[int, Json]]:
    if any(owner["kind"] == "StatefulSet" for pod in pods for owner in pod["metadata"].get("ownerReferences", [])):
        return sorted(
            ((int(pod["metadata"]["name"].rpartition("-")[2]) + 1, pod) for pod in pods), key=lambda item: item[0]
        )
    by_age = sorted(pods, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))
    return list(enumerate(by_age, start=1))


def _by_object(warnings: Iterable[Json]) -> dict[str, str]:
    """The last warning about each object."""
    by_age = sorted(warnings, key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime") or ""))
    return {event["involvedObject"]["name"]: event["message"].strip() for event in by_age}


def _replica(
    name: str, service: str, pod: Json, warning: str, ports: dict[str, dict[int, int]], deployment: Deployment
) -> FoundReplica:
    status = (pod["status"].get("containerStatuses") or [{}])[0]
    waiting = status.get("state", {}).get("waiting") or {}
    ready = is_ready(pod)
    scheduled = _condition(pod, "PodScheduled")
    unplaced = scheduled.get("reason") == "Unschedulable" and _PASSING not in scheduled.get("message", "")
    node = pod["spec"].get("nodeName", "")
    return FoundReplica(
        name=name,
        service=service,
        node=node,
        state=waiting.get("reason") or pod["status"].get("phase", "Pending"),
        healthy=ready,
        why="; ".join(_reasons(pod, status, warning if not ready else "")),
        hopeless=unplaced or (waiting.get("reason") in _HOPELESS and not waiting.get("message", "").endswith(_SYNC)),
        container=status.get("containerID", "").rpartition("://")[2],
        image=status.get("imageID", "").rpartition("@")[2],
        addresses=_addresses(service, node, ports, deployment),
        address=pod["status"].get("podIP", ""),
    )


def _reasons(pod: Json, status: Json, warning: str) -> Iterator[str]:
    """What went wrong with a pod, the deepest cause first."""
    scheduled = _condition(pod, "PodScheduled")
    if scheduled.get("status") == "False":
        yield f"no node may run it: {scheduled.get('message', scheduled.get('reason', ''))}"
        return
    state, last = status.get("state", {}), status.get("lastState", {})
    if ended := state.get("terminated") or last.get("terminated"):
        what = "ran out of memory and was killed" if ended.get("reason") == "OOMKilled" else "ended"
        yield f"its container {what}, exit code {ended['exitCode']}"
    waiting = state.get("waiting") or {}
    if waiting.get("reason", "") not in ("", *_ON_ITS_WAY):
        yield ": ".join(filter(None, (waiting["reason"], waiting.get("message"))))
    elif warning:
        yield warning


def _addresses(service: str, node: str, ports: dict[str, dict[int, int]], deployment: Deployment) -> dict[str, str]:
    known = {host.name: host.address for host in deployment.nodes}
    opened = ports.get(service, {})
    declared = deployment.of(service)[0].ports
    return {key: f"{known[node]}:{opened[port]}" for key, port in declared.items() if port in opened and node in known}


def _not_made(there: set[str], messages: dict[str, str], deployment: Deployment) -> Iterator[FoundReplica]:
    """Replicas without a pod whose maker complains: a quota, a policy."""
    for replica in deployment.replicas:
        if replica.name in there:
            continue
        for maker, message in messages.items():
            if maker == replica.service or maker.rpartition("-")[0] == replica.service:  # a ReplicaSet has a hash
                yield FoundReplica(
                    name=replica.name, service=replica.service, node="", state="not made", healthy=False, why=message
                )
                break


def _condition(pod: Json, kind: str) -> Json:
    return next((condition for condition in pod["status"].get("conditions", []) if condition["type"] == kind), {})
