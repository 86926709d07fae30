"""The Nomad cluster of NOMAD_ADDR; NOMAD_TOKEN and NOMAD_NAMESPACE count as for Nomad's own command line."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import psutil

from loadstone.infrastructure.base import Access, Finding, Provision
from loadstone.infrastructure.desk import client
from loadstone.infrastructure.failover import Unreachable
from loadstone.infrastructure.machines.exec import ROLE
from loadstone.infrastructure.software.docker import context
from loadstone.infrastructure.software.nomad import api
from loadstone.infrastructure.software.nomad.settings import CONSUL_PORT
from loadstone.model.cluster import Node, Reach, Role
from loadstone.model.errors import LoadstoneError, PreflightError

_DEFAULT = "http://127.0.0.1:4646"
_TRUE = ("1", "true")

_Attributes = dict[str, str]


class _Found(NamedTuple):
    """A node as Nomad describes it."""

    attributes: _Attributes
    cores: tuple[int, ...]
    """Those that containers use. The agent computes limits as a part of the cores that it runs on itself."""
    role: Role
    """``client`` where the node's metadata say so."""


def check() -> list[Finding]:
    """Whether Nomad answers, and which of its nodes run no containers."""
    try:
        nodes = _nodes()
    except LoadstoneError as error:
        remedy = error.remedy or "set NOMAD_ADDR to http://HOST:4646 of a server that runs"
        return [Finding("nomad", "error", error.message, remedy)]
    return [
        Finding("nomad", "ok", f"{_address()}, {len(nodes)} nodes"),
        *(Finding("nomad", "warning", *doubt) for name, node in nodes.items() for doubt in _doubts(name, node)),
    ]


def _doubts(name: str, node: _Found) -> Iterator[tuple[str, str]]:
    """What may be wrong with a node, and the remedy."""
    if not _runs_containers(node):
        refused = "raw_exec and exec apply no CPU limit and are refused for limited treatments"
        yield (
            f"node {name} has no docker driver, so nothing is placed there; {refused}",
            "install Docker there and start its Nomad agent again",
        )
    if (counted := int(node.attributes["cpu.numcores"])) != len(node.cores):
        yield (
            f"Nomad counts {counted} cores on {name}, containers use {len(node.cores)} of them; if its agent runs on"
            " more than those, limits come out too large, and the audit says so",
            "let the agent run on the same cores as containers",
        )


def find() -> Provision:
    """All nodes that are ready, take replicas and run containers: workers, and those with the role of clients.

    Without clients this machine is one.
    """
    listed = {name: node for name, node in _nodes().items() if _runs_containers(node)}
    found = [_node(name, node) for name, node in listed.items()]
    _require_mounts({node.name: listed[node.name] for node in found if not node.reach.local})
    clients, workers = ([node for node in found if node.role == role] for role in ("client", "worker"))
    nodes = {node.name: listed[node.name] for node in workers}
    here = [node for node in workers if node.reach.local]
    managers = len(api.nomad([_address()], retry_s=0).get("/v1/status/peers"))
    access = Access(
        "nomad",
        addresses=(_address(),),
        engines={node.name: url for node in here if (url := _engine())},
        extra={
            **api.extra([_consul(nodes)], os.environ.get("NOMAD_NAMESPACE", ""), _mhz(nodes)),
            "managers": str(managers),
        },
    )
    return Provision((*(clients or [client(shared=bool(here))]), *workers), access)


def _address() -> str:
    return os.environ.get("NOMAD_ADDR", _DEFAULT).rstrip("/")


def _nodes() -> dict[str, _Found]:
    """Each node that is ready and takes replicas, by its name. Raises PreflightError where two have the same."""
    nomad = api.nomad([_address()], retry_s=0)
    listed = [node for node in nomad.get("/v1/nodes") if node["Status"] == "ready" and _takes_replicas(node)]
    for name, times in Counter(str(node["Name"]) for node in listed).items():
        if times > 1:
            remedy = "give each a name of its own: `name` in the configuration of its agent"
            raise PreflightError(f"{times} nodes are called {name}", remedy)
    found = {}
    for summary in sorted(listed, key=lambda node: str(node["Name"])):
        node = nomad.get(f"/v1/node/{summary['ID']}")
        cores = node["NodeResources"]["Cpu"].get("ReservableCpuCores")
        found[summary["Name"]] = _Found(
            node["Attributes"],
            tuple(cores or range(int(node["Attributes"]["cpu.numcores"]))),
            "client" if (node.get("Meta") or {}).get(ROLE) == "client" else "worker",
        )
    return found


def _takes_replicas(node: dict[str, Any]) -> bool:
    return node["SchedulingEligibility"] == "eligible" and not node["Drain"]


def _runs_containers(node: _Found) -> bool:
    return node.attributes.get("driver.docker") in _TRUE


def _node(name: str, found: _Found) -> Node:
    address = found.attributes["unique.network.ip-address"]
    here = _is_ours(address) and found.attributes["kernel.version"] == os.uname().release
    memory = int(found.attributes["memory.totalbytes"])
    namespace = os.environ.get("NOMAD_NAMESPACE", "default")
    way = {"software": "nomad", "node": name, "address": _address(), "namespace": namespace}
    reach = Reach() if here else Reach(transport="exec", options=way)
    return Node(name=name, role=found.role, address=address, cpus=found.cores, memory=memory, shared=here, reach=reach)


def _require_mounts(nodes: dict[str, _Found]) -> None:
    """Raise PreflightError for nodes where no agent could read which limits are in force."""
    closed = [name for name, node in nodes.items() if node.attributes.get("driver.docker.volumes.enabled") not in _TRUE]
    if closed:
        raise PreflightError(
            f"no container may see /proc and /sys/fs/cgroup of {', '.join(closed)}, so limits could not be read back",
            'set plugin "docker" { config { volumes { enabled = true } } } for their Nomad agents and start them again',
        )


def _is_ours(address: str) -> bool:
    return any(address == own.address for addresses in psutil.net_if_addrs().values() for own in addresses)


def _engine() -> str:
    """The URL of this machine's engine; empty if it does not answer."""
    try:
        engine = context.current()
    except PreflightError:
        return ""
    return engine.url if engine.silence() is None else ""


def _mhz(nodes: dict[str, _Found]) -> int:
    """What all nodes count a core as; raises PreflightError where a limit would mean something else on each."""
    counted = {name: int(node.attributes["cpu.totalcompute"]) / len(node.cores) for name, node in nodes.items()}
    different = sorted(set(counted.values()))
    if different and (len(different) > 1 or different[0] % 1):
        listed = ", ".join(f"{name} {mhz:g}" for name, mhz in counted.items())
        raise PreflightError(
            f"a limit would mean another share of a core on each node, for they count a core as so many MHz: {listed}",
            "set cpu_total_compute in the `client` block of each node's agent to 1000 times its cores",
        )
    return int(different[0]) if different else 0


def _consul(nodes: dict[str, _Found]) -> str:
    """Where Consul answers: CONSUL_HTTP_ADDR, else beside Nomad. Raises PreflightError if that is nowhere."""
    if without := [name for name, node in nodes.items() if "consul.version" not in node.attributes]:
        raise PreflightError(
            f"no Consul agent beside Nomad on {', '.join(without)}: services find each other in Consul's catalogue",
            "run a Consul agent on every node; `consul { address = ... }` in Nomad's configuration says where it is",
        )
    given = os.environ.get("CONSUL_HTTP_ADDR")
    beside = [node.attributes["unique.network.ip-address"] for node in nodes.values()]
    hosts = [given] if given else [f"{host}:{CONSUL_PORT}" for host in ["127.0.0.1", *beside[:1]]]
    silent = []
    for address in (host if "://" in host else f"http://{host}" for host in hosts):
        try:
            api.consul([address], retry_s=0).text("/v1/status/leader")
            return address
        except Unreachable as error:
            silent.append(str(error))
    raise PreflightError("; ".join(silent), "set CONSUL_HTTP_ADDR to an address of Consul's HTTP API")
