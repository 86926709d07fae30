"""From a deployment to the processes that run it: arguments, environment, limits, ports. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loadstone.infrastructure.cores import format_cores
from loadstone.model import yaml12
from loadstone.model.deployment import Deployment, Replica
from loadstone.model.software import STORE_PASSWORD, AsProcess, StoreSoftware
from loadstone.model.units import format_memory
from loadstone.orchestration import proxy, stacks
from loadstone.orchestration.discovery import PASSWORD_VARIABLE
from loadstone.orchestration.ports import Ports, preferred_ports

if TYPE_CHECKING:
    from loadstone.model.records.node.deployments import NodeLimits

_LOOPBACK = "127.0.0.1"
_REPLICAS = "replicas.json"


@dataclass(frozen=True)
class NodePlace:
    """What differs between machines: where programs lie, where data goes."""

    programs: Mapping[str, str]
    data: str
    group: str | None
    """The control group below which replicas have theirs; None where there is none."""
    user: str
    """The account that replicas run under; empty: the account that runs Loadstone."""


@dataclass(frozen=True)
class Site:
    """What differs between runs: the ports taken, and the place of each node."""

    ports: Ports
    places: Mapping[str, NodePlace]


@dataclass(frozen=True)
class Command:
    """One replica as a process."""

    replica: Replica
    host: str
    argv: list[str]
    limits: NodeLimits
    ports: dict[str, int]
    environment: dict[str, str] = field(default_factory=dict)
    user: str = ""
    data: str | None = None
    initialise: list[str] = field(default_factory=list)
    initialiser: str = ""
    """Who runs ``initialise`` and ``password``; empty: ``user``."""
    password: list[str] = field(default_factory=list)
    password_input: str = ""
    ready: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    """Text by name, put into its data folder before it starts."""
    stop_signal: str = "TERM"

    @property
    def ready_url(self) -> str:
        """The URL that ``stone ready`` requests."""
        path = self.replica.readiness.http
        return f"http://{self.host}:{self.ready_port}{path}" if path else f"tcp://{self.host}:{self.ready_port}"

    @property
    def ready_port(self) -> int:
        """The port that says whether the replica is ready."""
        return self.ports[self.replica.readiness.port or self.replica.main_port]

    def as_data(self) -> dict[str, Any]:
        """What ``processes.yaml`` shows of it."""
        ready: Any = self.ready or f"{self.host}:{self.ready_port} accepts connections"
        if self.replica.readiness.http:
            ready = f"http://{self.host}:{self.ready_port}{self.replica.readiness.http}"
        shown = {
            "node": self.replica.node,
            "command": self.argv,
            "user": self.user,
            "environment": yaml12.FlowMapping(self.environment),
            "ports": yaml12.FlowMapping(self.ports),
            "data": self.data,
            "initialise": self.initialise,
            "password": self.password,
            "files": list(self.files),
            "limits": yaml12.FlowMapping(
                cpu=self.limits.cpu if self.limits.cpu is not None else "unlimited",
                memory=format_memory(self.limits.memory) if self.limits.memory is not None else "unlimited",
                cores=format_cores(self.limits.cores),
            ),
            "ready": ready,
            "stop_signal": self.stop_signal,
        }
        return {key: value for key, value in shown.items() if value}


def symbolic_site(deployment: Deployment) -> Site:
    """A site that names programs without their folders: what a plan shows before anything is looked for."""
    programs = {"stone": "stone"}
    for name, software in deployment.software.items():
        if software.process is not None:
            programs[name] = software.process.program[-1].rpartition("/")[2].strip("{}")
    return Site(
        preferred_ports(deployment),
        {node.name: NodePlace(programs, "DATA", "GROUP", "USER") for node in deployment.nodes},
    )


def commands(deployment: Deployment, site: Site) -> list[Command]:
    """The processes of a deployment, in start order."""
    return [_command(deployment, replica, site) for replica in deployment.replicas]


def rendered(deployment: Deployment, site: Site) -> dict[str, str]:
    """``processes.yaml``, every process as it is started, and the files that are made for processes."""
    started = commands(deployment, site)
    data = {
        "deployment": deployment.name,
        "application": deployment.application,
        "processes": {command.replica.name: command.as_data() for command in started},
    }
    files = {
        f"configs/{command.replica.name}/{name}": text for command in started for name, text in command.files.items()
    }
    return {"processes.yaml": yaml12.dump(data), **files}


def _command(deployment: Deployment, replica: Replica, site: Site) -> Command:
    from loadstone.model.records.node.deployments import NodeLimits  # checking a study makes none

    node, place = deployment.node(replica.node), site.places[replica.node]
    limits = NodeLimits(cpu=replica.resources.cpu, memory=replica.resources.memory, cores=node.cpus)
    ports = site.ports[replica.name]
    if replica.stone is not None and replica.stack:
        return _agent(deployment, replica, place, ports, limits)
    if replica.stone is not None:
        return Command(
            replica=replica,
            host=node.address,
            argv=[place.programs["stone"], "serve", replica.stone],
            limits=limits,
            ports=ports,
            environment=_environment(deployment, replica, site),
            user=place.user,
            data=_data(replica, site) if replica.volumes else None,
        )
    assert replica.software is not None
    process = as_process(replica.software, deployment.software[replica.software])
    program = place.programs[replica.software]
    data = _data(replica, site)
    values: dict[str, Any] = {
        "port": str(ports[replica.main_port]),
        "ports": ports,
        "host": node.address,
        "program": program,
        "folder": program.rpartition("/")[0] or ".",
        "data": data,
    }

    def fill(arguments: list[str]) -> list[str]:
        return [argument.format(**values) for argument in arguments]

    return Command(
        replica=replica,
        host=node.address,
        argv=fill(process.command),
        limits=limits,
        ports=ports,
        environment=process.environment,
        user=place.user,
        data=data if process.initialise or any("{data}" in word for word in process.command) else None,
        initialise=fill(process.initialise),
        initialiser=process.user or "",
        password=fill(process.password.command) if process.password is not None else [],
        password_input=process.password.input if process.password is not None else "",
        ready=fill(process.ready),
        files=process.files
        | ({proxy.FILE: _proxy(deployment, replica, site)} if replica.in_front else stacks.files(replica, data)),
        stop_signal=process.stop_signal,
    )


def _agent(
    deployment: Deployment, replica: Replica, place: NodePlace, ports: dict[str, int], limits: NodeLimits
) -> Command:
    """What shows the counters of its machine, and of the replicas there, to the Prometheus beside it."""
    names = [other.name for other in deployment.replicas if other.node == replica.node and place.group is not None]
    data, listen = f"{place.data}/{replica.name}", f"{_LOOPBACK}:{ports[replica.main_port]}"
    return Command(
        replica=replica,
        host=_LOOPBACK,
        argv=[place.programs["stone"], "agent", "--listen", listen, "--replicas", f"{data}/{_REPLICAS}"],
        limits=limits,
        ports=ports,
        data=data,
        files={_REPLICAS: json.dumps({name: {"group": f"{place.group}/{name}"} for name in names}, indent=1) + "\n"},
    )


def _proxy(deployment: Deployment, replica: Replica, site: Site) -> str:
    """The configuration of what is in front, with every replica behind it."""
    assert deployment.proxy is not None and deployment.behind is not None
    entry = deployment.behind
    behind = [address(deployment, target, site.ports, entry.port) for target in deployment.of(entry.service)]
    return proxy.configuration(deployment.proxy, address(deployment, replica, site.ports), proxy.servers(behind))


def as_process(name: str, software: StoreSoftware) -> AsProcess:
    """How software starts as a process; preflight has refused what cannot."""
    if software.process is None:
        raise ValueError(f"{name} cannot run as a process")
    return software.process


def _environment(deployment: Deployment, replica: Replica, site: Site) -> dict[str, str]:
    """The variables that configure a ``stone`` service."""
    host = deployment.node(replica.node).address
    ports = site.ports[replica.name]
    environment = {"STONE_LISTEN": f"{host}:{ports[replica.main_port]}"}
    if "admin" in ports:
        environment["STONE_ADMIN"] = f"{host}:{ports['admin']}"
    for need in replica.needs:
        needed = deployment.of(need)
        software = deployment.software.get(needed[0].software or "")
        if software is not None and software.documents:
            # Replicas of a store do not know each other: each service replica keeps to one of them.
            store = needed[(replica.index - 1) % len(needed)]
            environment["STONE_DOCUMENTS"] = store_url(deployment, store, site.ports)
        else:
            variable = "STONE_NEED_" + need.upper().replace("-", "_")
            environment[variable] = ",".join(address(deployment, target, site.ports) for target in needed)
        if software is not None and software.has_password(container=False):
            environment[PASSWORD_VARIABLE] = STORE_PASSWORD
    environment["STONE_PROFILE"] = deployment.profile if deployment.profile == "dsb-quirks" else ""
    environment["STONE_LOG_LEVEL"] = "info"
    if "STONE_TRACES" in replica.environment:
        environment["STONE_REPLICA"] = replica.name
    own = {"STONE_DATA": _data(replica, site)} if replica.volumes else {}
    return environment | replica.environment | own


def _data(replica: Replica, site: Site) -> str:
    """The replica's own folder, which goes with the deployment."""
    return f"{site.places[replica.node].data}/{replica.name}"


def address(deployment: Deployment, replica: Replica, ports: Ports, port: str | None = None) -> str:
    """``host:port`` of a replica's port, by default its main one."""
    return f"{deployment.node(replica.node).address}:{ports[replica.name][port or replica.main_port]}"


def store_url(deployment: Deployment, replica: Replica, ports: Ports) -> str:
    """The URL of a store, for a service."""
    assert replica.software is not None
    host, port = deployment.node(replica.node).address, ports[replica.name][replica.main_port]
    return deployment.software[replica.software].address(host, port, container=False)
