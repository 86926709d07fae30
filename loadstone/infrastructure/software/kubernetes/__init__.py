"""Kubernetes: a real control plane on managers, real kubelets on workers, pods below the members' control groups."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, ClassVar

import yaml

from loadstone.infrastructure import temporary
from loadstone.infrastructure.base import Access, Finding, Provision, Say
from loadstone.infrastructure.kubernetes_api import KubernetesApi, not_ready
from loadstone.infrastructure.machines import Machine, in_parallel
from loadstone.infrastructure.software.base import Member, Software, await_until, listening
from loadstone.infrastructure.software.kubernetes import found, managers, pause, workers
from loadstone.infrastructure.software.kubernetes.certificates import PRIVATE, Certificates
from loadstone.infrastructure.software.kubernetes.inside import ByKubernetes
from loadstone.infrastructure.software.kubernetes.plan import DNS_READY_PORT, ClusterPlan
from loadstone.model.cluster import Cluster
from loadstone.model.errors import DeploymentError

KUBELET_PORT = 10250
_READY_WITHIN_S = 180.0
_ANSWER_WITHIN_S = 5.0


class Kubernetes(Software):
    """Nodes are called like the members; managers run no pods."""

    name = "kubernetes"
    inside = ByKubernetes
    tools: ClassVar[dict[str, str]] = {
        "containerd": "containerd",
        "ctr": "containerd",
        "runc": "runc",
        "ip": "iproute2",
        "iptables": "iptables",
        "conntrack": "conntrack",
        "haproxy": "haproxy",
    }
    builds = ("kubernetes",)
    remote_api = True
    manager_mib = 450
    worker_mib = 250

    def preflight(self, machines: Sequence[Machine]) -> list[Finding]:
        findings = []
        if shutil.which("openssl") is None:
            remedy = "sudo apt-get install -y openssl"
            findings.append(Finding("openssl", "error", "openssl, which issues certificates, is not here", remedy))
        plugins = [f"{folder}/bridge" for folder in workers.PLUGIN_FOLDERS]
        for machine in machines:
            if machine.run(["sh", "-c", 'for file; do [ ! -x "$file" ] || exit 0; done; exit 1', "any", *plugins]).code:
                message = f"{machine.name}: the plugins that connect pods are not installed"
                findings.append(Finding("CNI plugins", "error", message, workers.INSTALL_PLUGINS))
        return findings

    def conflicts(self, machines: Sequence[Machine]) -> list[Finding]:
        used = in_parallel(lambda machine: machine.run(listening([KUBELET_PORT])).code == 0, machines)
        return [
            Finding(
                "kubelet",
                "error",
                f"{machine.name}: a kubelet of its own listens on port {KUBELET_PORT}: it is a node of another cluster",
                "use another host, or stop it while studies run there: sudo systemctl stop kubelet",
            )
            for machine, found in zip(machines, used, strict=True)
            if found
        ]

    def start(self, members: Sequence[Member], registry: str, folder: Path, say: Say) -> Access:
        binaries = in_parallel(lambda member: member.program("kubernetes", say), members)
        plan = ClusterPlan(
            tuple(member for member in members if member.role == "manager"),
            tuple(member for member in members if member.role == "worker"),
            {member.name: binary for member, binary in zip(members, binaries, strict=True)},
        )
        certificates = Certificates(plan)
        files = [_write_admin(folder, manager, certificates) for manager in plan.managers]
        apis = [KubernetesApi([str(file)], direct=True) for file in files]
        say(f"starting Kubernetes on {len(plan.managers)} managers")
        in_parallel(lambda member: managers.start_store_and_api(member, plan, certificates), plan.managers)
        in_parallel(lambda member: workers.start_engine(member, plan, registry), plan.workers)
        in_parallel(lambda member: workers.connect(member, plan), members)
        _load_pause(plan)
        for manager, api in zip(plan.managers, apis, strict=True):
            _await(plan, f"the API server on {manager.name}", partial(_why_no_api, api))
        rights = Path(__file__).parent / "templates" / "coredns-rights.yaml"
        for manifest in yaml.safe_load_all(rights.read_text()):
            apis[0].apply(manifest)
        say(f"starting {len(plan.workers)} nodes")
        in_parallel(lambda member: managers.start_controllers(member, plan, certificates), plan.managers)
        in_parallel(lambda member: workers.start_node(member, plan, certificates), plan.workers)
        _await(plan, "the cluster", partial(_why_no_nodes, apis[0], plan.workers))
        for manager in plan.managers:
            _await(plan, f"DNS on {manager.name}", partial(_why_no_names, manager))
        return Access(
            "kubernetes",
            addresses=tuple(str(file) for file in files),
            engines={worker.name: worker.socket(workers.SOCKET) for worker in plan.workers},
        )

    def stop(self, members: Sequence[Member]) -> None:
        in_parallel(workers.disconnect, members)

    def check(self, cluster: Cluster) -> list[Finding]:
        return found.check()

    def find(self, cluster: Cluster) -> Provision:
        return found.find()


def _write_admin(folder: Path, manager: Member, certificates: Certificates) -> Path:
    """The administrator's kubeconfig of a manager, here: any API server will do."""
    file = folder / f"admin-{manager.name}.kubeconfig"
    file.touch(PRIVATE)
    file.write_text(certificates.kubeconfig("admin", manager))
    return file


def _load_pause(plan: ClusterPlan) -> None:
    """The image that every pod needs, into each engine, as soon as it answers."""
    with temporary.directory("kubernetes") as folder:
        file = Path(folder, "pause.tar")
        pause.write(file)
        archive = file.read_bytes()
    for worker in plan.workers:
        _await(plan, f"containerd on {worker.name}", partial(_why_no_engine, worker))
    in_parallel(lambda worker: workers.load_pause(worker, archive), plan.workers)


def _why_no_engine(worker: Member) -> str:
    done = worker.run(workers.ctr(worker, "version"))
    return done.complaint if done.code else ""


def _why_no_api(api: KubernetesApi) -> str:
    try:
        api.text("/readyz")
        return ""
    except DeploymentError as error:
        return str(error)


def _why_no_nodes(api: KubernetesApi, members: Sequence[Member]) -> str:
    try:
        nodes = {node["metadata"]["name"]: node for node in api.items("/api/v1/nodes")}
    except DeploymentError as error:
        return str(error)
    states = {member.name: not_ready(nodes.get(member.name)) or _tainted(nodes[member.name]) for member in members}
    return "; ".join(f"{name}: {why}" for name, why in states.items() if why)


def _tainted(node: dict[str, Any]) -> str:
    """A node that has become ready keeps its taint for a moment."""
    return ", ".join(f"it has the taint {taint['key']}" for taint in node["spec"].get("taints", []))


def _why_no_names(manager: Member) -> str:
    connection = HTTPConnection(manager.address, DNS_READY_PORT, timeout=_ANSWER_WITHIN_S)
    try:
        connection.request("GET", "/ready")
        answer = connection.getresponse()
        body = answer.read().decode(errors="replace").strip()
        return "" if answer.status == 200 else f"CoreDNS answers {answer.status}: {body}"
    except (OSError, HTTPException) as error:
        return str(error)
    finally:
        connection.close()


def _await(plan: ClusterPlan, what: str, complaint: Callable[[], str]) -> None:
    await_until(plan.members, what, complaint, _READY_WITHIN_S)
