"""Nomad with Consul on emulated hosts: servers of both on managers, agents of both and an engine on workers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loadstone.infrastructure import builds
from loadstone.infrastructure.base import Access, Finding, Say
from loadstone.infrastructure.namespaces import docker
from loadstone.infrastructure.namespaces.host import Host
from loadstone.infrastructure.software.nomad import api
from loadstone.infrastructure.software.nomad.api import Refused, Unreachable
from loadstone.model.errors import DeploymentError

MHZ = 1000
"""What a core counts as: shares of CPU are then thousandths of a core, whatever the processor."""

_DATACENTER = "emulated"
_READY_WITHIN_S = 180.0
_LOOK_EVERY_S = 0.1
_BRIDGES_ARE_FILTERED = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")


def preflight() -> list[Finding]:
    """What this machine lacks for Nomad and Consul."""
    return [*docker.preflight(), builds.missing("consul"), builds.missing("nomad")]


def start(hosts: list[Host], managers: list[Host], workers: list[Host], say: Say, registry: str = "") -> Access:
    """Start all agents and wait until Consul has a leader and every worker is ready for containers.

    Nodes are called like their hosts. ``registry``: a ``host:port`` to trust without TLS.
    """
    consul, nomad = str(builds.binary("consul", say)), str(builds.binary("nomad", say))
    say(f"starting Consul on {len(hosts)} hosts, Nomad's servers on {len(managers)}")
    for host in hosts:
        _spawn(host, "consul", [consul, "agent", "-config-file"], consul_settings(host, managers))
    for host in managers:
        _spawn(host, "nomad", [nomad, "agent", "-config"], server_settings(host, managers))
    # Without a proxy process for each published port. The kernel alone leads a container to another one's port on
    # their own host only where it filters bridges, too.
    docker.start_engines(workers, say, registry, userland_proxy=not _BRIDGES_ARE_FILTERED.exists())
    say(f"starting Nomad on {len(workers)} workers")
    for host in workers:
        _await(hosts, f"Consul's agent on {host.name}", lambda host=host: _agent_is_up(host))  # type: ignore[misc]
        _spawn(host, "nomad", [nomad, "agent", "-config"], client_settings(host, managers))
    access = Access(
        "nomad",
        addresses=tuple(f"http://{host.address}:4646" for host in managers),
        engines={host.name: docker.url(host) for host in workers},
        extra=api.extra([f"http://{host.address}:8500" for host in managers], "", MHZ),
    )
    _await(hosts, "Consul", lambda: _consul_is_whole(access, hosts))
    _await(hosts, "Nomad", lambda: _nodes_are_ready(access, workers))
    return access


def consul_settings(host: Host, managers: list[Host]) -> dict[str, Any]:
    """The configuration of a host's Consul agent; a server on managers."""
    server = {"server": True, "bootstrap_expect": len(managers)} if host in managers else {}
    return {
        "node_name": host.name,
        "datacenter": _DATACENTER,
        "data_dir": str(host.folder / "consul"),
        "bind_addr": host.address,
        "client_addr": host.address,
        "retry_join": [manager.address for manager in managers],
        "retry_interval": "1s",
        "ports": {"dns": -1, "grpc": -1, "grpc_tls": -1},
        "connect": {"enabled": False},
        "performance": {"raft_multiplier": _patience(managers)},
        # A host that shares its cores with all others may be late: nobody takes it for dead before 10 s.
        "gossip_lan": {"probe_interval": "2s", "probe_timeout": "1500ms", "suspicion_mult": 5},
        "disable_update_check": True,
        "log_level": "warn",
        **server,
    }


def server_settings(host: Host, managers: list[Host]) -> dict[str, Any]:
    """The configuration of Nomad's server on a manager; nodes are filled evenly, as by the other orchestrators."""
    return {
        **_common(host),
        "server": {
            "enabled": True,
            "bootstrap_expect": len(managers),
            "server_join": {"retry_join": [manager.address for manager in managers], "retry_interval": "1s"},
            "raft_multiplier": _patience(managers),
            "default_scheduler_config": {"scheduler_algorithm": "spread"},
        },
    }


def client_settings(host: Host, managers: list[Host]) -> dict[str, Any]:
    """The configuration of Nomad's client on a worker."""
    return {
        **_common(host),
        "client": {
            "enabled": True,
            "servers": [f"{manager.address}:4647" for manager in managers],
            "network_interface": "eth0",
            "cpu_total_compute": MHZ * _cores(host),
            "cgroup_parent": f"/{host.group}/nomad",
            "options": {
                "driver.allowlist": "docker",
                "fingerprint.denylist": "env_aws,env_azure,env_digitalocean,env_gce",
            },
        },
        "plugin": {"docker": {"config": _driver(host)}},
    }


def _driver(host: Host) -> dict[str, Any]:
    """Of the docker driver: images stay when they are used no more, and replicas may have volumes."""
    return {"endpoint": docker.url(host), "gc": {"image": False}, "volumes": {"enabled": True}}


def _common(host: Host) -> dict[str, Any]:
    return {
        "name": host.name,
        "datacenter": _DATACENTER,
        "data_dir": str(host.folder / "nomad"),
        "bind_addr": host.address,
        "consul": {"address": f"{host.address}:8500", "server_auto_join": False, "client_auto_join": False},
        "disable_update_check": True,
        "log_level": "WARN",
    }


def _patience(managers: list[Host]) -> int:
    """How many times the usual second a leader may be silent before another is elected; nobody waits for himself."""
    return 1 if len(managers) == 1 else 3


def _cores(host: Host) -> int:
    """On how many cores the host's processes may run, which is how many Nomad will count there."""
    return int(host.run(["nproc"]).stdout)


def _spawn(host: Host, name: str, command: list[str], settings: dict[str, Any]) -> None:
    file = host.folder / f"{name}.json"
    file.write_text(json.dumps(settings, indent=1))
    host.spawn(name, [*command, str(file)])


def _agent_is_up(host: Host) -> str:
    api.consul([f"http://{host.address}:8500"], retry_s=0).get("/v1/agent/self")
    return ""


def _consul_is_whole(access: Access, hosts: list[Host]) -> str:
    consul = api.consul(access.extra["consul"].split(","), retry_s=0)
    known = {node["Node"] for node in consul.get("/v1/catalog/nodes")}
    return ", ".join(f"{host.name} has not joined" for host in hosts if host.name not in known)


def _nodes_are_ready(access: Access, workers: list[Host]) -> str:
    nomad = api.nomad(access.addresses, retry_s=0)
    nodes = {node["Name"]: node for node in nomad.get("/v1/nodes")}
    troubles = {host.name: _trouble(nodes.get(host.name)) for host in workers}
    return ", ".join(f"{name}: {trouble}" for name, trouble in troubles.items() if trouble)


def _trouble(node: dict[str, Any] | None) -> str:
    """Why a node takes no replicas; empty if it does."""
    if node is None:
        return "has not joined"
    if node["Status"] != "ready":
        return f"is {node['Status']}"
    driver = node["Drivers"].get("docker") or {}
    return "" if driver.get("Healthy") else driver.get("HealthDescription") or "its docker driver is not healthy"


def _await(hosts: list[Host], what: str, look: Callable[[], str]) -> None:
    """Until ``look`` has nothing to complain of; raises DeploymentError with the last words of an agent that ended."""
    deadline = time.monotonic() + _READY_WITHIN_S
    while True:
        try:
            complaint = look()
        except (Unreachable, Refused) as error:
            complaint = str(error)
        if not complaint:
            return
        for host in hosts:
            for daemon in host.names():
                if not host.alive(daemon):
                    raise DeploymentError(f"{host.name}: {daemon} has ended:\n{host.log(daemon, 10)}")
        if time.monotonic() > deadline:
            raise DeploymentError(f"{what} is not ready within {_READY_WITHIN_S:g} s: {complaint}")
        time.sleep(_LOOK_EVERY_S)
