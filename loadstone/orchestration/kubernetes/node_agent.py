"""What waits on nodes of Kubernetes for `stone` to be started into it: a DaemonSet. Pure."""

from __future__ import annotations

from typing import Any

from loadstone.infrastructure.machines.exec import ROLE
from loadstone.model.deployment import Deployment
from loadstone.orchestration import agent
from loadstone.orchestration.containers import LABEL
from loadstone.orchestration.kubernetes import manifests

_APP = "loadstone.agent"


def files(deployment: Deployment, pull: str) -> dict[str, str]:
    """Its file by name; none where the machines of all nodes are reached otherwise."""
    return {"agent.yaml": manifests.dump([manifest(deployment, pull)])} if agent.nodes(deployment) else {}


def manifest(deployment: Deployment, pull: str) -> dict[str, Any]:
    """The DaemonSet. Its pods carry no service's label, so they are never taken for replicas."""
    namespace = manifests.namespace_of(deployment.name)
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": agent.NAME, "namespace": namespace, "labels": {LABEL: namespace}},
        "spec": {
            "selector": {"matchLabels": {_APP: namespace}},
            "template": {"metadata": {"labels": {_APP: namespace}}, "spec": _pod(deployment, pull)},
        },
    }


def _pod(deployment: Deployment, pull: str) -> dict[str, Any]:
    folders = [{"name": _volume(path), "hostPath": {"path": path, "type": "Directory"}} for path in agent.MOUNTS]
    return {
        "affinity": manifests.affinity("In", [node.name for node in agent.nodes(deployment)]),
        "tolerations": [{"key": ROLE, "operator": "Exists"}],
        "hostNetwork": True,  # the daemon of the node's clock answers on the loopback interface
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 1,
        "containers": [_container(deployment, pull)],
        "volumes": [*folders, {"name": _volume(agent.SCRATCH), "emptyDir": {}}],
    }


def _container(deployment: Deployment, pull: str) -> dict[str, Any]:
    return {
        "name": agent.NAME,
        "image": deployment.images["stone"],
        "imagePullPolicy": pull,
        "args": list(agent.ARGUMENTS),
        "resources": {"requests": {"cpu": 0, "memory": 0}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [
            *({"name": _volume(path), "mountPath": seen, "readOnly": True} for path, seen in agent.MOUNTS.items()),
            {"name": _volume(agent.SCRATCH), "mountPath": agent.SCRATCH},
        ],
    }


def _volume(path: str) -> str:
    """``sys-fs-cgroup`` for ``/sys/fs/cgroup``."""
    return path.strip("/").replace("/", "-")
