"""Nomad's job files: one job a service. Pure."""

from __future__ import annotations

import re
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from loadstone.model.deployment import Deployment, Replica
from loadstone.model.units import PERIOD_US
from loadstone.orchestration import agent
from loadstone.orchestration.containers import LABEL, SERVICE_LABEL
from loadstone.orchestration.nomad import hcl
from loadstone.orchestration.nomad.capacity import LEAST_MHZ, LEAST_MIB, UNLIMITED_MIB, allowed, period, shares
from loadstone.orchestration.nomad.fixed_ports import is_fixed
from loadstone.orchestration.nomad.templates import catalogue_name, environment, job_name, mounts, tag, templates

_MIB = 2**20


def render(deployment: Deployment, mhz: int) -> dict[str, str]:
    """The job of each service, by file name, and the agent's. ``mhz``: what the cluster counts a core as."""
    files = Environment(
        loader=PackageLoader("loadstone.orchestration", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
        keep_trailing_newline=True,
    )
    files.filters |= {"hcl": hcl.hcl, "heredoc": hcl.heredoc, "lines": hcl.lines, "literal": hcl.literal}
    job = files.get_template("nomad.hcl.j2")
    jobs = deployment.services()
    found = {f"{name}.nomad.hcl": job.render(_job(deployment, replicas, mhz)) for name, replicas in jobs.items()}
    if agent.nodes(deployment):
        system = files.get_template("nomad-agent.hcl.j2")
        found[f"{agent.NAME}.nomad.hcl"] = system.render(_agent(deployment))
    return found


def label(port: str) -> str:
    """What Nomad calls a port: letters, digits and '_'."""
    return re.sub(r"\W", "_", port)


def _job(deployment: Deployment, replicas: list[Replica], mhz: int) -> dict[str, Any]:
    first = replicas[0]
    nodes = allowed(deployment, first.service)
    return {
        "application": deployment.application,
        "scaling": deployment.scaling,
        "service": first.service,
        "count": len(replicas),
        "job": job_name(deployment.name, first.service),
        "nodes": ",".join(nodes),
        "ports": {label(name): _port(deployment, replicas, name) for name in first.ports},
        "registration": _registration(deployment, first) if first.ports else None,
        "check": _check(first) if first.ports else None,
        "config": _config(deployment, first, period(first, mhz, {len(deployment.node(name).cpus) for name in nodes})),
        "labels": {LABEL: deployment.name, SERVICE_LABEL: first.service},
        "mounts": mounts(first),
        "environment": environment(deployment, first),
        "templates": templates(deployment, first),
        "resources": {"cpu": shares(first, mhz), "memory": LEAST_MIB},
    }


def _port(deployment: Deployment, replicas: list[Replica], name: str) -> dict[str, int]:
    number = replicas[0].ports[name]
    return {"static": number, "to": number} if is_fixed(deployment, replicas, name) else {"to": number}


def _registration(deployment: Deployment, replica: Replica) -> dict[str, Any]:
    return {
        "name": catalogue_name(deployment.name, replica.service),
        "provider": "consul",
        "port": label(replica.main_port),
        "tags": [tag(deployment.name)],
    }


def _check(replica: Replica) -> dict[str, Any]:
    """Frequent, as Consul runs its checks locally. Many failures in a row are required, for a busy replica is
    no broken one."""
    common = {"port": label(replica.readiness.port or replica.main_port), "interval": "2s", "timeout": "5s"}
    kind = {"type": "tcp"} if replica.readiness.http is None else {"type": "http", "path": replica.readiness.http}
    return kind | common | {"failures_before_critical": 10}


def _config(deployment: Deployment, replica: Replica, period: int) -> dict[str, Any]:
    """The settings of the docker driver, without labels and mounts.

    Nodes evaluate them once more when the task starts, with its variables and as HCL again.
    """
    memory = replica.resources.memory
    store = deployment.software[replica.software].container if replica.software is not None else None
    arguments = (
        ["serve", replica.stone] if replica.stone is not None else store.command if store else list(replica.command)
    )
    config = {
        "image": deployment.images[replica.image or replica.software or "stone"],
        "entrypoint": list(map(hcl.literal, replica.entrypoint)),
        "args": list(map(hcl.literal, arguments)),
        "ports": list(map(label, replica.ports)),
        "cpu_hard_limit": replica.resources.cpu is not None,
        "cpu_cfs_period": period if period != PERIOD_US else 0,
        "memory_hard_limit": UNLIMITED_MIB if memory is None else memory // _MIB,
    }
    return {name: value for name, value in config.items() if value or value is False}


def _agent(deployment: Deployment) -> dict[str, Any]:
    return {
        "job": job_name(deployment.name, agent.NAME),
        "labels": {LABEL: deployment.name},
        "nodes": ",".join(node.name for node in agent.nodes(deployment)),
        "name": agent.NAME,
        "config": {
            "image": deployment.images["stone"],
            "args": list(agent.ARGUMENTS),
            "network_mode": "host",
            # A relative path is one of the task's own folder.
            "volumes": [*(f"{path}:{seen}:ro" for path, seen in agent.MOUNTS.items()), f"local:{agent.SCRATCH}"],
            "readonly_rootfs": True,
            "cap_drop": ["all"],
            "memory_hard_limit": UNLIMITED_MIB,  # of load workers
        },
        "resources": {"cpu": LEAST_MHZ, "memory": 64},
    }
