"""The Kubernetes cluster of your kubeconfig's current context: KUBECONFIG, or ~/.kube/config."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kubernetes.utils.quantity import parse_quantity

from loadstone.infrastructure import journal
from loadstone.infrastructure.base import Access, Finding, Provision
from loadstone.infrastructure.desk import client
from loadstone.infrastructure.kubernetes_api import KubernetesApi, current_context, not_ready
from loadstone.infrastructure.machines.exec import ROLE
from loadstone.infrastructure.namespaces import Namespaces, desk_folder, members_of, nodes_of
from loadstone.infrastructure.namespaces.emulated import EmulatedHosts
from loadstone.infrastructure.software.kubernetes.workers import SOCKET
from loadstone.model.cluster import Node, Reach, Role
from loadstone.model.errors import LoadstoneError, PreflightError

_RIGHTS = (("create", "namespaces"), ("list", "nodes"), ("create", "pods/exec"))
_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")


def check() -> list[Finding]:
    """Whether the cluster answers, and what you may do in it."""
    try:
        api = KubernetesApi([_kubeconfig()], direct=Namespaces.holding(_kubeconfig()) is not None)
        version = api.get("/version")["gitVersion"]
        lacking = [f"{verb} {what}" for verb, what in _RIGHTS if not _may(api, verb, what)]
    except LoadstoneError as error:
        return [Finding("kubernetes", "error", error.message, error.remedy)]
    if lacking:
        message = f"you may not {' and '.join(lacking)} in the cluster at {api.host}"
        remedy = "ask who runs it for these rights: every deployment is a namespace of its own"
        return [Finding("kubernetes", "error", message, remedy)]
    return [Finding("kubernetes", "ok", f"{api.host}, version {version}")]


def find() -> Provision:
    """Nodes that are ready and take any pod are workers; those of the control plane that do not are managers.

    Nodes that are labelled for it are clients, else this machine is.
    """
    kubeconfig = _kubeconfig()
    if (ours := Namespaces.holding(kubeconfig)) is not None:
        return _emulated(*ours)
    api = KubernetesApi([kubeconfig])
    listed = [node for node in api.items("/api/v1/nodes") if not not_ready(node)]
    context = current_context(kubeconfig)  # what `down` uses too, whatever is current by then
    way = {"kubeconfig": kubeconfig, "context": context}
    nodes = [_node(node, role, way) for node in listed if (role := _role(node)) is not None]
    planes = sum(map(_is_control_plane, listed))
    access = Access(
        "kubernetes",
        addresses=(kubeconfig,),
        extra={
            "context": context,
            **({"managers": str(planes)} if planes else {}),  # a provider's are not to be seen
        },
    )
    here = [] if any(node.role == "client" for node in nodes) else [client(shared=False)]
    return Provision((*here, *sorted(nodes, key=lambda node: (node.role, node.name))), access)


def _kubeconfig() -> str:
    """The file, or several with ':' between them; raises PreflightError where there is none."""
    given = os.environ.get("KUBECONFIG")
    named = given or str(Path.home() / ".kube" / "config")
    if not any(Path(file).expanduser().exists() for file in named.split(os.pathsep) if file):
        where = f"KUBECONFIG={given}" if given else f"{named} (KUBECONFIG is not set)"
        raise PreflightError(f"there is no kubeconfig: {where}", "set KUBECONFIG to the file of your cluster")
    return named


def _may(api: KubernetesApi, verb: str, what: str) -> bool:
    resource, _, part = what.partition("/")
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": verb, "resource": resource, "subresource": part}},
    }
    return bool(api.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)["status"]["allowed"])


def _role(node: dict[str, Any]) -> Role | None:
    """None for a node that takes no pods, or only some."""
    taints = [taint for taint in node["spec"].get("taints", []) if taint["effect"] != "PreferNoSchedule"]
    if any(taint["key"] in _CONTROL_PLANE for taint in taints):
        return "manager"
    generates = node["metadata"].get("labels", {}).get(ROLE) == "client"
    if any(taint["key"] != ROLE or not generates for taint in taints) or node["spec"].get("unschedulable"):
        return None
    return "client" if generates else "worker"


def _is_control_plane(node: dict[str, Any]) -> bool:
    return any(label in node["metadata"].get("labels", {}) for label in _CONTROL_PLANE)


def _node(node: dict[str, Any], role: Role, way: dict[str, str]) -> Node:
    name = node["metadata"]["name"]
    addresses = {entry["type"]: entry["address"] for entry in node["status"]["addresses"]}
    memory = parse_quantity(node["status"]["allocatable"]["memory"])  # type: ignore[no-untyped-call]
    return Node(
        name=name,
        role=role,
        address=addresses.get("InternalIP") or addresses.get("ExternalIP") or addresses["Hostname"],
        cpus=tuple(range(int(node["status"]["capacity"]["cpu"]))),
        memory=int(memory),
        reach=Reach(transport="exec", options={"software": "kubernetes", "node": name, **way}),
    )


def _emulated(entry: journal.JournalEntry, emulated: EmulatedHosts) -> Provision:
    """Hosts of this machine, whose engines and whose kernel answer."""
    nodes = nodes_of(emulated)
    access = Access(
        "kubernetes",
        addresses=tuple(map(str, sorted(desk_folder(emulated).glob("admin-*")))),
        engines={member.name: member.socket(SOCKET) for member in members_of(nodes) if member.role == "worker"},
        cluster=entry.name,
        switch=emulated.switch.daemons,
        extra={"managers": str(sum(node.role == "manager" for node in nodes))},
    )
    return Provision(tuple(nodes), access)
