"""Removes what a deployment made in one engine."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import requests
from docker.errors import APIError

from loadstone.infrastructure.base import Access
from loadstone.infrastructure.docker_api import Engine, Unreachable, told
from loadstone.model.errors import DeploymentError

_AT_ONCE = 4
_GONE_WITHIN_S = 120.0


def remove(access: Access, label: str) -> None:
    """Remove the containers with this label, with their volumes, and the networks; wait until they are gone."""
    engine = Engine(access.addresses[0])
    filters = {"label": label}
    deadline = time.monotonic() + _GONE_WITHIN_S
    try:
        with told(engine.url):
            while containers := engine.api.containers(all=True, filters=filters):
                if time.monotonic() > deadline:
                    left = ", ".join(one["Names"][0].strip("/") for one in containers[:5])
                    raise DeploymentError(f"the engine does not remove {left}", "its log says why")
                with ThreadPoolExecutor(_AT_ONCE) as pool:
                    list(pool.map(lambda one: _remove_container(engine, one["Id"]), containers))
            for network in engine.api.networks(filters=filters):
                engine.api.remove_network(network["Id"])
    except Unreachable:
        if not access.cluster:  # in a cluster of ours everything goes with its nodes
            raise


def _remove_container(engine: Engine, identity: str) -> None:
    try:
        engine.api.remove_container(identity, v=True, force=True)
    except APIError as error:
        if error.status_code not in (requests.codes.not_found, requests.codes.conflict):  # it is being removed
            raise
