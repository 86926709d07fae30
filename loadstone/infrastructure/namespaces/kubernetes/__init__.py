"""Kubernetes on emulated hosts: real control plane, real kubelets, pods below the hosts' control groups."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import yaml

from loadstone.infrastructure import builds
from loadstone.infrastructure.base import Access, Finding, Say
from loadstone.infrastructure.kubernetes_api import Api, not_ready
from loadstone.infrastructure.namespaces.commands import missing, run
from loadstone.infrastructure.namespaces.host import Host
from loadstone.infrastructure.namespaces.kubernetes import managers as manager_side
from loadstone.infrastructure.namespaces.kubernetes import pause
from loadstone.infrastructure.namespaces.kubernetes import workers as worker_side
from loadstone.infrastructure.namespaces.kubernetes.certificates import Certificates
from loadstone.infrastructure.namespaces.kubernetes.plan import DNS_READY_PORT, Plan
from loadstone.model.errors import DeploymentError

_READY_WITHIN_S = 180.0
_ANSWER_WITHIN_S = 5.0
_LOOK_EVERY_S = 0.1
_PROGRAMS = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "conntrack": "conntrack",
    "haproxy": "haproxy",
    "openssl": "openssl",
}


def preflight() -> list[Finding]:
    """What this machine lacks for Kubernetes."""
    findings = missing(_PROGRAMS)
    if not any(Path(place, "bridge").exists() for place in worker_side.PLUGINS):
        remedy = "sudo apt-get install -y containernetworking-plugins"
        findings.append(Finding("CNI plugins", "error", "the plugins that connect pods are not installed", remedy))
    return [*findings, builds.missing("kubernetes")]


def start(hosts: list[Host], managers: list[Host], workers: list[Host], say: Say, registry: str = "") -> Access:
    """A control plane on the managers, nodes on the workers; returns when all nodes are ready and DNS answers.

    Nodes are called like their hosts. ``registry``: a ``host:port`` to trust without TLS. Raises DeploymentError with
    the last words of what did not start.
    """
    plan = Plan(
        tuple(managers),
        tuple(workers),
        hosts[0].folder.parent / "kubernetes",
        builds.binary("kubernetes", say),
    )
    plan.folder.mkdir()
    certificates = Certificates(plan)
    certificates.make()
    say(f"starting Kubernetes on {len(managers)} managers")
    for host in managers:
        manager_side.start_store_and_api(host, plan, certificates)
    for host in workers:
        worker_side.start_engine(host, plan, registry)
    for host in hosts:
        worker_side.connect(host, plan)
    _load_pause(plan)
    apis = [Api([str(file)], direct=True) for file in plan.admin_files]
    for host, api in zip(managers, apis, strict=True):
        _await(plan, f"the API server on {host.name}", partial(_why_no_api, api))
    for manifest in yaml.safe_load_all((Path(__file__).parent / "templates" / "coredns-rights.yaml").read_text()):
        apis[0].apply(manifest)
    say(f"starting {len(workers)} nodes")
    for host in managers:
        manager_side.start_controllers(host, plan, certificates)
    for host in workers:
        worker_side.start_node(host, plan, certificates)
    _await(plan, "the cluster", partial(_why_no_nodes, apis[0], workers))
    for host in managers:
        _await(plan, f"DNS on {host.name}", partial(_why_no_names, host))
    return Access(
        "kubernetes",
        addresses=tuple(str(file) for file in plan.admin_files),
        engines={host.name: worker_side.socket(host) for host in workers},
    )


def _load_pause(plan: Plan) -> None:
    """The image that every pod needs, into each engine, as soon as it answers."""
    image = plan.folder / "pause.tar"
    pause.write(image)
    for host in plan.workers:
        ask = ["ctr", "--address", worker_side.socket(host), "--namespace", "k8s.io"]
        _await(plan, f"containerd on {host.name}", partial(_why_not, [*ask, "version"]))
        run(*ask, "images", "import", str(image))


def _why_not(command: list[str]) -> str:
    try:
        run(*command)
        return ""
    except DeploymentError as error:
        return str(error)


def _why_no_api(api: Api) -> str:
    try:
        api.text("/readyz")
        return ""
    except DeploymentError as error:
        return str(error)


def _why_no_nodes(api: Api, workers: list[Host]) -> str:
    try:
        nodes = {node["metadata"]["name"]: node for node in api.items("/api/v1/nodes")}
    except DeploymentError as error:
        return str(error)
    states = {host.name: not_ready(nodes.get(host.name)) or _tainted(nodes[host.name]) for host in workers}
    return "; ".join(f"{name}: {why}" for name, why in states.items() if why)


def _tainted(node: dict[str, Any]) -> str:
    """A node that has become ready is let go a moment later."""
    return ", ".join(f"it has the taint {taint['key']}" for taint in node["spec"].get("taints", []))


def _why_no_names(host: Host) -> str:
    connection = HTTPConnection(host.address, DNS_READY_PORT, timeout=_ANSWER_WITHIN_S)
    try:
        connection.request("GET", "/ready")
        answer = connection.getresponse()
        return "" if answer.status == 200 else f"CoreDNS says {answer.read().decode(errors='replace').strip()}"
    except (OSError, HTTPException) as error:
        return str(error)
    finally:
        connection.close()


def _await(plan: Plan, what: str, why_not: Callable[[], str]) -> None:
    """Until nothing is wrong; raises DeploymentError as soon as a daemon ends, or when it takes too long."""
    deadline = time.monotonic() + _READY_WITHIN_S
    while why := why_not():
        for host in plan.hosts:
            for daemon in host.names():
                if not host.alive(daemon):
                    raise DeploymentError(f"{host.name}: {daemon} has ended:\n{host.log(daemon, 10)}")
        if time.monotonic() > deadline:
            raise DeploymentError(f"{what} is not ready within {_READY_WITHIN_S:g} s: {why}")
        time.sleep(_LOOK_EVERY_S)
