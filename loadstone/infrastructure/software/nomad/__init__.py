"""Nomad with Consul: servers of both on managers; agents of both and a Docker engine on workers. ACLs are enabled."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from loadstone.infrastructure.base import Access, Finding, Provision, Say
from loadstone.infrastructure.failover import Refused, Unreachable
from loadstone.infrastructure.machines import Machine, in_parallel
from loadstone.infrastructure.software.base import Member, Software, await_until, listening
from loadstone.infrastructure.software.docker import engines
from loadstone.infrastructure.software.nomad import api, credentials, found
from loadstone.infrastructure.software.nomad.api import NomadApi
from loadstone.infrastructure.software.nomad.credentials import Secrets
from loadstone.infrastructure.software.nomad.inside import ByNomad
from loadstone.infrastructure.software.nomad.settings import (
    AGENTS_POLICY,
    CONSUL_PORT,
    MHZ,
    NOMAD_PORT,
    PORTS,
    Configuration,
    Settings,
)
from loadstone.model.cluster import Cluster
from loadstone.model.errors import DeploymentError

_READY_WITHIN_S = 180.0
_BRIDGES_ARE_FILTERED = "/proc/sys/net/bridge/bridge-nf-call-iptables"
_POLICY = "loadstone-agents"
_PRIVATE = 0o600


class Nomad(Software):
    """Nodes of Nomad and Consul are called like the members."""

    name = "nomad"
    inside = ByNomad
    tools = engines.TOOLS
    builds: ClassVar[tuple[str, ...]] = ("consul", "nomad")
    remote_api = True
    manager_mib = 120
    worker_mib = 200

    def start(self, members: Sequence[Member], registry: str, folder: Path, say: Say) -> Access:
        managers = [member for member in members if member.role == "manager"]
        workers = [member for member in members if member.role == "worker"]
        secrets = Secrets()
        configuration = Configuration([manager.address for manager in managers], secrets)
        nomads = [f"http://{manager.address}:{NOMAD_PORT}" for manager in managers]
        consuls = [f"http://{manager.address}:{CONSUL_PORT}" for manager in managers]
        nomad, consul = api.nomad(nomads, secrets.nomad, retry_s=0), api.consul(consuls, secrets.consul, retry_s=0)

        say(f"starting servers of Consul and Nomad on {len(managers)} managers")
        programs = dict(zip((m.name for m in members), in_parallel(lambda m: _programs(m, say), members), strict=True))

        def start_consul(member: Member) -> None:
            _spawn(member, "consul", [programs[member.name][0], "agent", "-config-file"], configuration.consul(member))

        def start_nomad(member: Member, settings: Settings) -> None:
            _spawn(member, "nomad", [programs[member.name][1], "agent", "-config"], settings)

        for manager in managers:
            start_consul(manager)
            start_nomad(manager, configuration.server(manager))
        _await(members, "Consul", lambda: _register_agents(consul, consuls, secrets.agents))
        for worker in workers:
            start_consul(worker)
        _await(members, "Nomad", lambda: _bootstrap(nomad, secrets.nomad))
        # Without a proxy process for each published port. The kernel alone leads a container to another one's port on
        # their own host only where it filters bridges, too.
        unfiltered = any(in_parallel(lambda worker: worker.run(["test", "-e", _BRIDGES_ARE_FILTERED]).code, workers))
        engines.start(workers, registry, say, userland_proxy=unfiltered)
        in_parallel(lambda worker: _keep_containers_from(worker, configuration.servers), workers)
        _await(members, "Consul", lambda: _missing_agents(consul, members))

        say(f"starting Nomad on {len(workers)} workers")
        for worker in workers:
            cores = len(worker.machine.facts().cpus)
            start_nomad(worker, configuration.client(worker, cores, engines.endpoint(worker)))
        _await(members, "Nomad", lambda: _unready_nodes(nomad, workers))
        file = credentials.save(folder, nomads[0], consuls[0], secrets)
        urls = {worker.name: engines.url(worker) for worker in workers}
        return Access(self.name, tuple(nomads), urls, extra=api.extra(consuls, "", MHZ, str(file)))

    def conflicts(self, machines: Sequence[Machine]) -> list[Finding]:
        used = in_parallel(lambda machine: machine.run(listening(PORTS)).code == 0, machines)
        return engines.conflicts(machines) + [
            Finding(
                "nomad",
                "error",
                f"{machine.name}: something listens at one of the ports {', '.join(map(str, PORTS))}, which Nomad or"
                " Consul would need",
                "stop the Nomad or Consul agent of its own while studies run there",
            )
            for machine, is_used in zip(machines, used, strict=True)
            if is_used
        ]

    def trouble(self, member: Member) -> str:
        return super().trouble(member) or (engines.trouble(member) if member.role == "worker" else "")

    def check(self, cluster: Cluster) -> list[Finding]:
        return found.check()

    def find(self, cluster: Cluster) -> Provision:
        return found.find()


def _programs(member: Member, say: Say) -> tuple[str, str]:
    """The paths of Consul and Nomad on a member."""
    return member.program("consul", say), member.program("nomad", say)


def _spawn(member: Member, name: str, argv: Sequence[str], settings: Settings) -> None:
    file = member.write(f"{name}.json", json.dumps(settings, indent=1), _PRIVATE)
    member.spawn(name, [*argv, file])


def _register_agents(consul: NomadApi, addresses: Sequence[str], token: str) -> str:
    """Make the token of agents, once Consul has a leader."""
    try:
        api.consul(addresses, token, retry_s=0).get("/v1/acl/token/self")
        return ""
    except Refused:
        pass
    policies = {policy["Name"] for policy in consul.get("/v1/acl/policies")}
    if _POLICY not in policies:
        consul.put("/v1/acl/policy", {"Name": _POLICY, "Rules": AGENTS_POLICY})
    consul.put("/v1/acl/token", {"SecretID": token, "Policies": [{"Name": _POLICY}], "Description": _POLICY})
    return ""


def _bootstrap(nomad: NomadApi, token: str) -> str:
    """Make the management token, once Nomad has a leader. Raises Refused where another is there already."""
    try:
        nomad.get("/v1/acl/token/self")  # an earlier request may have been carried out and its answer lost
    except Refused:
        nomad.post("/v1/acl/bootstrap", {"BootstrapSecret": token})
    return ""


def _keep_containers_from(worker: Member, servers: Sequence[str]) -> None:
    """No container reaches managers: they run no replicas, and Raft between servers needs no token."""
    done = worker.run(["iptables", "-I", "DOCKER-USER", "-i", "docker0", "-d", ",".join(servers), "-j", "DROP"])
    if done.code:
        raise DeploymentError(f"{worker.name}: containers cannot be kept from the managers: {done.complaint}")


def _missing_agents(consul: NomadApi, members: Sequence[Member]) -> str:
    known = {node["Node"] for node in consul.get("/v1/catalog/nodes")}
    return ", ".join(f"{member.name} has not joined" for member in members if member.name not in known)


def _unready_nodes(nomad: NomadApi, workers: Sequence[Member]) -> str:
    nodes = {node["Name"]: node for node in nomad.get("/v1/nodes")}
    troubles = {worker.name: _trouble(nodes.get(worker.name)) for worker in workers}
    return ", ".join(f"{name}: {trouble}" for name, trouble in troubles.items() if trouble)


def _trouble(node: dict[str, Any] | None) -> str:
    """Why a node takes no replicas; empty if it does."""
    if node is None:
        return "has not joined"
    if node["Status"] != "ready":
        return f"is {node['Status']}"
    driver = node["Drivers"].get("docker") or {}
    return "" if driver.get("Healthy") else driver.get("HealthDescription") or "its docker driver is not healthy"


def _await(members: Sequence[Member], what: str, complaint: Callable[[], str]) -> None:
    """Until ``complaint`` returns nothing; servers that do not answer or have no leader yet are a complaint."""

    def quiet() -> str:
        try:
            return complaint()
        except (Unreachable, Refused) as error:
            return str(error)

    await_until(members, what, quiet, _READY_WITHIN_S)
