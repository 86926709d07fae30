"""Engines become one swarm."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from docker.errors import APIError

from loadstone.infrastructure.docker_api import Engine
from loadstone.infrastructure.software.base import Member, await_until
from loadstone.infrastructure.software.docker import engines

LABEL = "loadstone.node"
PORT = 2377
_READY_WITHIN_S = 120.0
_RETRY_EVERY_S = 0.1
_TRANSIENT = ("does not have a leader", "update out of sequence", "code = Unavailable")
"""What a manager answers while another is elected, and when a node changed between being read and written."""
_JOINING = ("will continue in the background", "already part of a swarm")
"""What an engine answers that takes long to join: it joins in the background."""
Result = TypeVar("Result")


def join(members: Sequence[Member], managers: Sequence[Member]) -> None:
    """One swarm of all engines, of which the first manager's is the first; returns when every node is ready.

    Raises DockerException, and DeploymentError that names the nodes which are not ready in time.
    """
    first = managers[0]
    client = _connect(first)
    client.init_swarm(advertise_addr=first.address, listen_addr=f"{first.address}:{PORT}")
    tokens = client.inspect_swarm()["JoinTokens"]
    # One after the other: each manager must be elected. Managers come first, so that workers know all of them.
    for member in sorted(members, key=lambda member: member.role):
        if member != first:
            _join(member, first, tokens["Manager" if member in managers else "Worker"])
    await_until(members, "the swarm", lambda: _not_ready(client, members), _READY_WITHIN_S)
    for node in retry(client.nodes):
        _label(client, node["ID"], [member.name for member in managers])


def retry(act: Callable[[], Result]) -> Result:
    """What ``act`` returns, done again while the swarm is between two states; raises what it raises otherwise."""
    deadline = time.monotonic() + _READY_WITHIN_S
    while True:
        try:
            return act()
        except APIError as error:
            if not any(text in str(error) for text in _TRANSIENT) or time.monotonic() > deadline:
                raise
        time.sleep(_RETRY_EVERY_S)


def _connect(member: Member) -> Any:
    return Engine(engines.url(member)).api


def _join(member: Member, first: Member, token: str) -> None:
    def join() -> None:
        _connect(member).join_swarm(
            remote_addrs=[f"{first.address}:{PORT}"],
            join_token=token,
            advertise_addr=member.address,
            listen_addr=f"{member.address}:{PORT}",
        )

    try:
        retry(join)
    except APIError as error:
        if not any(text in str(error) for text in _JOINING):
            raise


def _not_ready(client: Any, members: Sequence[Member]) -> str:
    nodes = retry(client.nodes)
    states = {node["Description"].get("Hostname"): node["Status"]["State"] for node in nodes}
    late = [member.name for member in members if states.get(member.name) != "ready"]
    return ", ".join(f"{name} is {states.get(name, 'absent')}" for name in late)


def _label(client: Any, node_id: str, managers: list[str]) -> None:
    def update() -> None:
        node = client.inspect_node(node_id)
        name = node["Description"]["Hostname"]
        availability = "drain" if name in managers else "active"
        spec = {**node["Spec"], "Labels": {LABEL: name}, "Availability": availability}
        client.update_node(node_id, node["Version"]["Index"], spec)

    retry(update)
