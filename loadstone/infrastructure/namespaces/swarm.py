"""A Docker swarm of emulated hosts: managers that run no replicas, workers that do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import requests
from docker import DockerClient
from docker.errors import APIError, DockerException
from docker.models.nodes import Node

from loadstone.infrastructure.base import Access, Finding, Say
from loadstone.infrastructure.namespaces import docker
from loadstone.infrastructure.namespaces.commands import impossible
from loadstone.infrastructure.namespaces.host import Host
from loadstone.model.errors import DeploymentError

LABEL = "loadstone.node"
_PORT = 2377
_READY_WITHIN_S = 120.0
_LOOK_EVERY_S = 0.1
_PASSING = ("does not have a leader", "update out of sequence", "code = Unavailable")
"""What a manager says while another is voted in, and when a node changed between being read and written."""
_JOINING = ("will continue in the background", "already part of a swarm")
"""What an engine says that takes long to join: waiting for it to be ready is all there is to do."""
T = TypeVar("T")


def preflight() -> list[Finding]:
    """What this machine lacks for a swarm."""
    findings = docker.preflight()
    if why := impossible("ip link add probe type vxlan id 7 dstport 4789"):
        findings.append(
            Finding("vxlan", "error", f"the kernel has no VXLAN, which Swarm's networks are made of: {why}",
                    "use a kernel with CONFIG_VXLAN, or load the module: sudo modprobe vxlan")
        )  # fmt: skip
    return findings


def start(hosts: list[Host], managers: list[Host], workers: list[Host], say: Say, registry: str = "") -> Access:
    """Join all hosts and wait until every node is ready; ``registry``: a ``host:port`` to trust without TLS.

    Nodes are called like their hosts and labelled ``loadstone.node=<name>``; managers are drained.
    """
    docker.start_engines(hosts, say, registry)
    say(f"joining {len(managers) + len(workers)} engines to a swarm")
    first = managers[0]
    try:
        client = docker.connect(first)
        client.swarm.init(advertise_addr=first.address, listen_addr=f"{first.address}:{_PORT}")
        tokens = client.swarm.attrs["JoinTokens"]
        for host in hosts[1:]:  # one after the other: each manager must be voted in
            _join(host, first, tokens["Manager" if host in managers else "Worker"])
        _await_all(client, hosts)
        for node in patiently(client.nodes.list):
            _label(node, [host.name for host in managers])
    except (DockerException, requests.RequestException) as error:
        raise DeploymentError(f"the swarm cannot be made: {error}\n{first.log(docker.DAEMON, 10)}") from None
    return Access(
        "swarm",
        addresses=tuple(docker.url(host) for host in managers),
        engines={host.name: docker.url(host) for host in workers},
    )


def patiently(act: Callable[[], T]) -> T:
    """What ``act`` returns, done again while the swarm is between two states; raises what it raises otherwise."""
    deadline = time.monotonic() + _READY_WITHIN_S
    while True:
        try:
            return act()
        except APIError as error:
            if not any(words in str(error) for words in _PASSING) or time.monotonic() > deadline:
                raise
        time.sleep(_LOOK_EVERY_S)


def _join(host: Host, first: Host, token: str) -> None:
    def join() -> None:
        docker.connect(host).swarm.join(
            remote_addrs=[f"{first.address}:{_PORT}"],
            join_token=token,
            advertise_addr=host.address,
            listen_addr=f"{host.address}:{_PORT}",
        )

    try:
        patiently(join)
    except APIError as error:
        if not any(words in str(error) for words in _JOINING):
            raise


def _await_all(client: DockerClient, hosts: list[Host]) -> None:
    """Until each host is a ready node; raises DeploymentError that names those which are not."""
    deadline = time.monotonic() + _READY_WITHIN_S
    while True:
        nodes = [node.attrs for node in patiently(client.nodes.list)]
        states = {node["Description"].get("Hostname"): node["Status"]["State"] for node in nodes}
        late = [host.name for host in hosts if states.get(host.name) != "ready"]
        if not late:
            return
        if time.monotonic() > deadline:
            how = ", ".join(f"{name} is {states.get(name, 'absent')}" for name in late)
            raise DeploymentError(f"not all nodes of the swarm are ready within {_READY_WITHIN_S:g} s: {how}")
        time.sleep(_LOOK_EVERY_S)


def _label(node: Node, managers: list[str]) -> None:
    name = node.attrs["Description"]["Hostname"]

    def update() -> None:
        node.reload()
        availability = "drain" if name in managers else "active"
        node.update({**node.attrs["Spec"], "Labels": {LABEL: name}, "Availability": availability})

    patiently(update)
