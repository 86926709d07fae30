"""Removes what a deployment made in one engine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from docker.errors import NotFound

from loadstone.infrastructure.base import Access
from loadstone.infrastructure.docker_api import Engine, Unreachable, told

_AT_ONCE = 4


def remove(access: Access, label: str) -> None:
    """Remove the containers with this label, with their volumes, and the networks; an engine does that at once."""
    engine = Engine(access.addresses[0])
    filters = {"label": label}

    def remove_container(identity: str) -> None:
        with told(engine.url):
            try:
                engine.api.remove_container(identity, v=True, force=True)
            except NotFound:  # somebody else was faster
                pass

    try:
        with told(engine.url):
            containers = [one["Id"] for one in engine.api.containers(all=True, filters=filters)]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(remove_container, containers))
        with told(engine.url):
            for network in engine.api.networks(filters=filters):
                engine.api.remove_network(network["Id"])
    except Unreachable:
        if not access.cluster:  # in a cluster of ours everything goes with its nodes
            raise
