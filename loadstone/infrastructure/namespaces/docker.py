"""A Docker engine on each emulated host, with a socket that this machine reaches."""

from __future__ import annotations

import json
import os
import time

import docker
import requests
from docker.errors import DockerException

from loadstone.infrastructure.base import Access, Finding, Say
from loadstone.infrastructure.namespaces.commands import missing
from loadstone.infrastructure.namespaces.host import Host
from loadstone.model.errors import DeploymentError

DAEMON = "dockerd"
_READY_WITHIN_S = 120.0
_ANSWER_WITHIN_S = 10
_ASK_EVERY_S = 0.05
_LONGEST_PATH = 107
"""Bytes in the path of a Unix socket."""


def preflight() -> list[Finding]:
    """What this machine lacks for an engine on each host."""
    return missing({DAEMON: "docker.io", "containerd": "containerd", "runc": "runc", "iptables": "iptables"})


def start(hosts: list[Host], managers: list[Host], workers: list[Host], say: Say, registry: str = "") -> Access:
    """An engine on each worker; nothing joins them. ``registry``: a ``host:port`` to trust without TLS."""
    start_engines(workers, say, registry)
    urls = {host.name: url(host) for host in workers}
    return Access("docker", addresses=tuple(urls.values()), engines=urls)


def start_engines(hosts: list[Host], say: Say, registry: str = "", **more: object) -> None:
    """Start the engine of each host and wait until all answer; ``more`` settings of the daemon, ``_`` for each ``-``.

    Raises DeploymentError with an engine's last words.
    """
    say(f"starting {len(hosts)} Docker engines")
    for host in hosts:
        file = host.folder / "docker.json"
        others = {key.replace("_", "-"): value for key, value in more.items()}
        file.write_text(json.dumps(settings(host, registry) | others, indent=1))
        host.spawn(DAEMON, [DAEMON, "--config-file", str(file)])
    for host in hosts:
        _wait(host)


def settings(host: Host, registry: str = "") -> dict[str, object]:
    """The engine's configuration: nothing of this machine's own engine is read or written."""
    return {
        "data-root": str(host.folder / "docker"),
        "exec-root": "/run/docker",  # the host's own /run
        "pidfile": "/run/docker.pid",
        "hosts": [url(host)],
        "cgroup-parent": f"/{host.containers}",
        "exec-opts": ["native.cgroupdriver=cgroupfs"],  # systemd, where there is one, is out of reach
        "insecure-registries": [registry] if registry else [],
        "log-level": "warn",
        "log-opts": {"max-size": "20m"},
    }


def url(host: Host) -> str:
    """Where the engine of a host answers, from this machine."""
    path = host.folder / "docker.sock"
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise DeploymentError(
            f"{path} is too long for a socket: {len(os.fsencode(path))} bytes, {_LONGEST_PATH} at most",
            "set LOADSTONE_DATA to a folder with a shorter path",
        )
    return f"unix://{path}"


def connect(host: Host) -> docker.DockerClient:
    """A client of the engine of a host."""
    return docker.DockerClient(base_url=url(host), version="auto", timeout=60)


def answers(host: Host) -> bool:
    """Whether the engine of a host answers now."""
    try:
        client = docker.APIClient(base_url=url(host), timeout=_ANSWER_WITHIN_S)
        return bool(client.ping())
    except (DockerException, requests.RequestException):
        return False


def _wait(host: Host) -> None:
    deadline = time.monotonic() + _READY_WITHIN_S
    while not answers(host):
        if not host.alive(DAEMON):
            raise DeploymentError(f"{host.name}: the Docker engine has ended:\n{host.log(DAEMON, 10)}")
        if time.monotonic() > deadline:
            raise DeploymentError(
                f"{host.name}: the Docker engine does not answer within {_READY_WITHIN_S:g} s:\n{host.log(DAEMON, 10)}"
            )
        time.sleep(_ASK_EVERY_S)
