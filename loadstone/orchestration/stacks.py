"""Prometheus, Grafana, Jaeger and ``elastic`` beside an application: replicas, addresses, configurations. Pure.

A stack has one replica (``elastic`` one of each of its five services), on one node, and keeps the ports that it
declares there: so everything about it is known before anything runs, and refused where another has its port.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.model import image, yaml12
from loadstone.model.application import Readiness, Resources
from loadstone.model.base import did_you_mean
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment, Replica
from loadstone.model.errors import InputError
from loadstone.model.observing import Traces
from loadstone.model.placement import Placement
from loadstone.model.software import SoftwareCatalogue
from loadstone.model.stacks import ELASTIC, TIER, Stacks
from loadstone.orchestration import elastic
from loadstone.orchestration.variables import traced

LOAD_PORT = 9621
"""Where Prometheus looks for the load generator, at the client's address: ``loadstone load --metrics``."""
AGENT = "node-agent"
"""The service that shows a machine's counters to Prometheus, where replicas are its processes."""
AGENT_PORT = 9620
_LOOPBACK = "127.0.0.1"

_DASHBOARDS = Path(__file__).parents[1] / "monitoring" / "dashboards"
_MAIN = "http"
_SPANS = "otlp"
_MORE_PORTS = {"jaeger": {_SPANS: 4317}}
_READY = {"prometheus": "/-/ready", "grafana": "/api/health", "jaeger": "/api/services"}
_SCRAPE_EVERY = "2s"


@dataclass(frozen=True)
class Agent:
    """A ``stone agent`` that Prometheus scrapes at ``address`` for the machine of ``node``."""

    node: str
    address: str
    token: str = ""
    """Empty: it needs none."""

    def as_job(self) -> dict[str, Any]:
        """For Prometheus."""
        job = {"static_configs": [{"targets": [self.address], "labels": {"node": self.node}}]}
        return {**job, "authorization": {"credentials": self.token}} if self.token else job


def nodes(wanted: Stacks, placement: Placement | None, workers: Sequence[Node]) -> dict[str, str]:
    """The worker of each stack; raises InputError where there is no such worker."""
    known = [node.name for node in workers]
    placed = placement or Placement()
    found = {}
    for name, stack in wanted.given().items():
        there = placed.services.get(name) or placed.tiers.get(TIER) or known[-1:]
        found[name] = stack.node or there[0]
        if found[name] not in known:
            raise InputError(f"stacks: {name}: no worker {found[name]!r}" + did_you_mean(found[name], known))
    return found


def others(wanted: Stacks, workers: Sequence[Node]) -> list[Node]:
    """The workers that no stack wants for itself; all of them where nothing would be left."""
    taken = {stack.node for stack in wanted.given().values()}
    return [node for node in workers if node.name not in taken] or list(workers)


def replicas(
    on: Mapping[str, str], resources: Mapping[str, Resources], catalogue: SoftwareCatalogue, containers: bool
) -> list[Replica]:
    """The replicas of stacks on these nodes, unlimited unless ``resources`` says otherwise.

    ``containers``: replicas are made from images. Where they are not, Prometheus has a node agent beside it, and
    InputError refuses ``elastic``.
    """
    found = []
    for name, node in on.items():
        if name == "elastic":
            if not containers:
                raise InputError("stacks: elastic runs from images; choose an orchestrator of containers, as compose")
            found += elastic.replicas(node, resources)
            continue
        software = catalogue.software[name]
        pulled = name == "grafana" and containers  # no package to make an image from
        found.append(
            Replica(
                service=name,
                index=1,
                tier=TIER,
                node=node,
                resources=resources.get(name, Resources()),
                software=None if pulled else name,
                image=image.whole(software.container.image) if pulled else None,
                environment=software.container.environment if pulled else {},
                ports={_MAIN: software.port, **_MORE_PORTS.get(name, {})},
                needs=(),
                readiness=Readiness(port=_MAIN, http=_READY[name]),
                stack=True,
            )
        )
    if "prometheus" in on and not containers:
        found.append(
            Replica(
                service=AGENT,
                index=1,
                tier=TIER,
                node=on["prometheus"],
                resources=Resources(),
                stone="agent",
                ports={_MAIN: AGENT_PORT},
                needs=(),
                readiness=Readiness(port=_MAIN, http="/healthz"),
                stack=True,
            )
        )
    return found


def address(deployment: Deployment, name: str, port: str = _MAIN) -> str | None:
    """``host:port`` of a stack for the client and for a browser; None where it is not deployed."""
    there = [replica for replica in deployment.of(name) if replica.stack]
    return f"{deployment.node(there[0].node).address}:{there[0].ports[port]}" if there else None


def _reached(deployment: Deployment, name: str, port: str = _MAIN) -> str | None:
    """``host:port`` of a stack for other replicas."""
    there = address(deployment, name, port)
    return there if there is None or not deployment.resolves_names else f"{name}:{there.rpartition(':')[2]}"


def interfaces(deployment: Deployment) -> dict[str, str]:
    """What a person opens in a browser, by stack."""
    without = {AGENT, *ELASTIC} - {elastic.KIBANA}
    shown = [replica.service for replica in deployment.replicas if replica.stack and replica.service not in without]
    return {name: f"http://{address(deployment, name)}" for name in shown}


def traces_endpoint(deployment: Deployment) -> str | None:
    """Where Jaeger, or its collector in ``elastic``, takes spans (OTLP over gRPC) as the client reaches it; None where
    neither is deployed."""
    return address(deployment, "jaeger", _SPANS) or address(deployment, elastic.COLLECTOR, elastic.SPANS)


def sending_spans(deployment: Deployment, traces: Traces | None) -> Deployment:
    """The deployment with services that send spans to Jaeger, or to its collector in ``elastic``, where both are wanted
    and no receiver was named."""
    endpoint = _reached(deployment, "jaeger", _SPANS) or _reached(deployment, elastic.COLLECTOR, elastic.SPANS)
    if endpoint is None or traces is None or traces.sample == 0:
        return deployment
    return traced(deployment, [endpoint], traces.sample)


def load_metrics(deployment: Deployment) -> str | None:
    """Where the load generator should show its metrics to Prometheus; None without one."""
    client = next((node for node in deployment.nodes if node.role == "client"), None)
    watched = client is not None and client.reach.local and deployment.of("prometheus")
    return f"{client.address}:{LOAD_PORT}" if client is not None and watched else None


def watching(deployment: Deployment, agent: Agent | None = None) -> Deployment:
    """The deployment with the configurations of its stacks; ``agent``: one that is no part of it."""
    pipeline = {name: there for name in ELASTIC if (there := _reached(deployment, name)) is not None}

    def configured(replica: Replica) -> Replica:
        if replica.stack and replica.service in pipeline:
            return elastic.configured(replica, pipeline)
        if not replica.stack or replica.service not in _CONFIGS:
            return replica
        return replica.model_copy(update={"configs": _CONFIGS[replica.service](deployment, agent)})

    return deployment.model_copy(update={"replicas": tuple(map(configured, deployment.replicas))})


def _prometheus(deployment: Deployment, agent: Agent | None) -> dict[str, str]:
    for replica in deployment.of(AGENT):
        agent = Agent(replica.node, f"{_LOOPBACK}:{replica.ports[_MAIN]}")
    load = load_metrics(deployment)
    jobs = {
        "prometheus": {"static_configs": [{"targets": [_reached(deployment, "prometheus")]}]},
        **({"nodes": agent.as_job()} if agent is not None else {}),
        **({"load": {"static_configs": [{"targets": [load]}]}} if load is not None else {}),
    }
    config = {
        "global": {"scrape_interval": _SCRAPE_EVERY, "scrape_timeout": _SCRAPE_EVERY},
        "scrape_configs": [{"job_name": name, **job} for name, job in jobs.items()],
    }
    return {"/etc/prometheus/prometheus.yml": yaml12.dump(config)}


def _grafana(deployment: Deployment, agent: Agent | None) -> dict[str, str]:
    del agent
    source = {
        "name": "Prometheus",
        "uid": "prometheus",
        "type": "prometheus",
        "access": "proxy",
        "url": f"http://{_reached(deployment, 'prometheus')}",
        "isDefault": True,
        "jsonData": {"timeInterval": _SCRAPE_EVERY},
    }
    provider = {
        "name": "Loadstone",
        "folder": "Loadstone",
        "type": "file",
        "options": {"path": "/etc/grafana/dashboards"},
    }
    return {
        "/etc/grafana/provisioning/datasources/loadstone.yaml": _provisioned("datasources", source),
        "/etc/grafana/provisioning/dashboards/loadstone.yaml": _provisioned("providers", provider),
        **{f"/etc/grafana/dashboards/{file.name}": file.read_text(encoding="utf-8") for file in dashboards()},
    }


def _provisioned(kind: str, entry: Mapping[str, object]) -> str:
    return yaml12.dump({"apiVersion": 1, kind: [dict(entry)]})


_CONFIGS = {"prometheus": _prometheus, "grafana": _grafana}


def dashboards() -> Iterable[Path]:
    """Grafana's dashboards, as files."""
    return sorted(_DASHBOARDS.glob("*.json"))


def files(replica: Replica, data: str) -> dict[str, str]:
    """The configurations of a stack that is a process: text by name in its data folder."""
    root = f"/etc/{replica.service}"
    return {path.removeprefix(f"{root}/"): text.replace(root, data) for path, text in replica.configs.items()}
