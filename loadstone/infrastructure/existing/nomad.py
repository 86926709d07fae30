"""The Nomad cluster that NOMAD_ADDR names; NOMAD_TOKEN and NOMAD_NAMESPACE count as for Nomad's own command line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import psutil

from loadstone.infrastructure.base import Access, Finding, Provision
from loadstone.infrastructure.existing.here import client
from loadstone.infrastructure.software.docker import context
from loadstone.infrastructure.software.nomad import api
from loadstone.infrastructure.software.nomad.api import Unreachable
from loadstone.model.cluster import Cluster, Node
from loadstone.model.errors import LoadstoneError, PreflightError

_DEFAULT = "http://127.0.0.1:4646"
_CONSUL_PORT = 8500
_AT_ONCE = 0.0
"""Seconds to wait for a cluster that does not answer."""

_YES = ("1", "true")

_Attributes = dict[str, str]


class _Found(NamedTuple):
    """What Nomad knows of a node."""

    attributes: _Attributes
    cores: tuple[int, ...]
    """Those that containers use. Its agent sees them too: in its arithmetic a limit is a part of all that it sees."""


def preflight(cluster: Cluster) -> list[Finding]:
    """Whether Nomad answers, and which of its nodes run no containers."""
    try:
        nodes = _nodes()
    except LoadstoneError as error:
        message, _, remedy = str(error).partition("\n  ")
        return [
            Finding("nomad", "error", message, remedy or "set NOMAD_ADDR to http://HOST:4646 of a server that runs")
        ]
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


def provide(cluster: Cluster) -> Provision:
    """All nodes that are ready, take replicas and run containers as workers."""
    nodes = {name: one for name, one in _nodes().items() if _runs_containers(one)}
    workers = [_node(name, found) for name, found in nodes.items()]
    here = [node for node in workers if node.here]
    _require_mounts({node.name: nodes[node.name] for node in workers if not node.here})
    managers = len(api.nomad([_address()], retry_s=_AT_ONCE).get("/v1/status/peers"))
    access = Access(
        "nomad",
        addresses=(_address(),),
        engines={node.name: url for node in here if (url := _engine())},
        extra={
            **api.extra([_consul(nodes)], os.environ.get("NOMAD_NAMESPACE", ""), _mhz(nodes)),
            "managers": str(managers),
        },
    )
    return Provision((client(shared=bool(here)), *workers), access)


def _address() -> str:
    return os.environ.get("NOMAD_ADDR", _DEFAULT).rstrip("/")


def _nodes() -> dict[str, _Found]:
    """Each node that is ready and takes replicas, by its name."""
    nomad = api.nomad([_address()], retry_s=_AT_ONCE)
    listed = [one for one in nomad.get("/v1/nodes") if one["Status"] == "ready" and _takes_replicas(one)]
    found = {}
    for one in sorted(listed, key=lambda one: str(one["Name"])):
        node = nomad.get(f"/v1/node/{one['ID']}")
        cores = node["NodeResources"]["Cpu"].get("ReservableCpuCores")
        found[one["Name"]] = _Found(node["Attributes"], tuple(cores or range(int(node["Attributes"]["cpu.numcores"]))))
    return found


def _takes_replicas(node: dict[str, Any]) -> bool:
    return node["SchedulingEligibility"] == "eligible" and not node["Drain"]


def _runs_containers(node: _Found) -> bool:
    return node.attributes.get("driver.docker") in _YES


def _node(name: str, found: _Found) -> Node:
    address = found.attributes["unique.network.ip-address"]
    here = _is_ours(address) and found.attributes["kernel.version"] == os.uname().release
    memory = int(found.attributes["memory.totalbytes"])
    return Node(name=name, role="worker", address=address, cpus=found.cores, memory=memory, shared=here, here=here)


def _require_mounts(nodes: dict[str, _Found]) -> None:
    """Raise PreflightError for nodes where no agent could read which limits are in force."""
    closed = [name for name, one in nodes.items() if one.attributes.get("driver.docker.volumes.enabled") not in _YES]
    if closed:
        raise PreflightError(
            f"no container may see /proc and /sys/fs/cgroup of {', '.join(closed)}, so limits could not be read back",
            'set plugin "docker" { config { volumes { enabled = true } } } for their Nomad agents and start them again',
        )


def _is_ours(address: str) -> bool:
    return any(address == one.address for some in psutil.net_if_addrs().values() for one in some)


def _engine() -> str:
    """The URL of this machine's engine; empty if it does not answer."""
    try:
        engine = context.current()
    except PreflightError:
        return ""
    return engine.url if engine.silence() is None else ""


def _mhz(nodes: dict[str, _Found]) -> int:
    """What all nodes count a core as; raises PreflightError where a limit would mean something else on each."""
    counted = {name: int(one.attributes["cpu.totalcompute"]) / len(one.cores) for name, one in nodes.items()}
    different = sorted(set(counted.values()))
    if different and (len(different) > 1 or different[0] % 1):
        told = ", ".join(f"{name} {mhz:g}" for name, mhz in counted.items())
        raise PreflightError(
            f"a limit would mean another share of a core on each node, for they count a core as so many MHz: {told}",
            "set cpu_total_compute in the `client` block of each node's agent to 1000 times its cores",
        )
    return int(different[0]) if different else 0


def _consul(nodes: dict[str, _Found]) -> str:
    """Where Consul answers: CONSUL_HTTP_ADDR, else beside Nomad. Raises PreflightError if that is nowhere."""
    if without := [name for name, one in nodes.items() if "consul.version" not in one.attributes]:
        raise PreflightError(
            f"no Consul agent beside Nomad on {', '.join(without)}: services find each other in Consul's catalogue",
            "run a Consul agent on every node; `consul { address = ... }` in Nomad's configuration says where it is",
        )
    given = os.environ.get("CONSUL_HTTP_ADDR")
    beside = [one.attributes["unique.network.ip-address"] for one in nodes.values()]
    places = [given] if given else [f"{host}:{_CONSUL_PORT}" for host in ["127.0.0.1", *beside[:1]]]
    addresses = [place if "://" in place else f"http://{place}" for place in places]
    silent = []
    for address in addresses:
        try:
            api.consul([address], retry_s=_AT_ONCE).text("/v1/status/leader")
            return address
        except Unreachable as error:
            silent.append(str(error))
    raise PreflightError("; ".join(silent), "set CONSUL_HTTP_ADDR to an address of Consul's HTTP API")
