"""Prometheus, Grafana and Jaeger beside an application: where every orchestrator puts them, and real ones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadstone import plugins
from loadstone.applications import catalogue
from loadstone.model.application import Entry, Resources
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.errors import InputError
from loadstone.model.observing import Traces
from loadstone.model.stacks import Stacks, names_alone
from loadstone.model.study import Settings
from loadstone.orchestration import ports, stacks
from loadstone.orchestration.resolve import resolve
from loadstone.orchestration.variables import traced
from tests.orchestration.conftest import SERVICES, parse, two_nodes
from tests.orchestration.docker_deployments import nodes
from tests.orchestration.pinned import compare

ALL = ["prometheus", "grafana", "jaeger"]
ORCHESTRATORS = plugins.names("orchestrators")
STONE = Path(__file__).parents[2] / "stone"


def watched(
    requested: Any, there: list[Node] | None = None, resources: dict[str, Resources] | None = None, **settings: Any
) -> Deployment:
    """An application with stacks beside it, which sends its spans to them."""
    chosen = Settings.model_validate({"traces": {"sample": 1}, **settings})
    beside = Stacks.model_validate(names_alone(requested))
    found = resolve(parse(SERVICES), chosen, there or nodes(3), resources or {}, catalogue.software(), "test", beside)
    return stacks.sending_spans(found, chosen.traces)


def nodes_for(orchestrator: str, **changes: Any) -> list[Node]:
    return two_nodes() if orchestrator == "process" else nodes(1 if orchestrator == "compose" else 3, **changes)


def rendered(deployment: Deployment, orchestrator: str) -> dict[str, str]:
    files: dict[str, str] = plugins.find("orchestrators", orchestrator)(deployment, Path("/nowhere")).render()
    return files


@pytest.mark.parametrize("orchestrator", ORCHESTRATORS)
def test_golden(orchestrator: str) -> None:
    there = nodes_for(orchestrator)
    requested = {"prometheus": {}, "jaeger": {"node": there[-1].name}}
    deployment = watched(requested, there, orchestrator=orchestrator, scaling="horizontal")
    compare(f"{orchestrator}/services-watched", rendered(deployment, orchestrator))


@pytest.mark.parametrize("orchestrator", [name for name in ORCHESTRATORS if name != "process"])
def test_golden_of_the_pipeline(orchestrator: str) -> None:
    """What is rendered for the five images; none of them was ever started by a test."""
    deployment = watched(["elastic"], nodes_for(orchestrator), orchestrator=orchestrator)
    compare(f"{orchestrator}/services-elastic", rendered(deployment, orchestrator))
    reached = {replica.service: replica.environment for replica in deployment.of("elastic-ingester")}
    host = "198.18.0.5" if orchestrator == "nomad" else "elastic-kafka"
    assert reached["elastic-ingester"]["KAFKA_CONSUMER_BROKERS"] == f"{host}:9092"
    assert not any("{" in value for each in deployment.replicas if each.image for value in each.environment.values())


def test_the_pipeline_takes_the_spans_and_shows_kibana() -> None:
    there = nodes(3)
    limited = {"elastic-search": Resources(memory=2**30)}
    deployment = watched(["elastic"], there, resources=limited, orchestrator="swarm")
    assert deployment.of("geo")[0].environment["STONE_TRACES"] == "elastic-collector:4317"
    assert stacks.traces_endpoint(deployment) == f"{there[-1].address}:4317"
    assert stacks.interfaces(deployment) == {"elastic-kibana": f"http://{there[-1].address}:5601"}
    assert deployment.of("elastic-search")[0].resources.memory == 2**30
    assert {replica.node for replica in deployment.replicas if replica.stack} == {"worker-3"}
    with pytest.raises(InputError, match="elastic runs from images"):
        watched(["elastic"], two_nodes(), orchestrator="process")
    assert list(Stacks.model_validate({"elastic": {}, "jaeger": {}}).findings()) == [
        (("elastic",), "takes the spans as jaeger does; leave one of them out")
    ]


@pytest.mark.parametrize("orchestrator", ORCHESTRATORS)
def test_what_is_beside_changes_nothing_of_the_application(orchestrator: str) -> None:
    there = nodes_for(orchestrator)
    alone = watched({}, there, orchestrator=orchestrator)
    beside = watched(ALL, there, orchestrator=orchestrator)
    ours = [replica.model_copy(update={"environment": {}}) for replica in beside.replicas if not replica.stack]
    assert ours == [replica.model_copy(update={"environment": {}}) for replica in alone.replicas]
    kept = {name: taken for name, taken in ports.preferred_ports(beside).items() if name.rpartition("-")[0] not in ALL}
    kept.pop("node-agent-1", None)
    assert kept == ports.preferred_ports(alone)
    assert [replica.service for replica in beside.replicas if replica.store] == ["memcached-geo", "documents-geo"]
    assert beside.entry == Entry(service="frontend", port="http")


ENDPOINTS = {
    "process": "127.0.0.1:4317",
    "compose": "jaeger:4317",
    "swarm": "jaeger:4317",
    "kubernetes": "jaeger:4317",
    "nomad": "198.18.0.5:4317",
}


@pytest.mark.parametrize(("orchestrator", "endpoint"), ENDPOINTS.items())
def test_services_send_their_spans_to_jaeger_unless_another_program_takes_them(
    orchestrator: str, endpoint: str
) -> None:
    there = nodes_for(orchestrator)
    endpoints = {replica.service: replica.environment.get("STONE_TRACES") for replica in
            watched(["jaeger"], there, orchestrator=orchestrator).replicas}  # fmt: skip
    assert endpoints == dict.fromkeys(("frontend", "geo"), endpoint) | dict.fromkeys(
        ("memcached-geo", "documents-geo", "jaeger")
    )
    for without in (watched(["prometheus"], there), watched(["jaeger"], there, traces="off"),
                    watched(["jaeger"], there, traces={"sample": 0})):  # fmt: skip
        assert not any("STONE_TRACES" in replica.environment for replica in without.replicas)
    worker = there[-1]
    assert stacks.traces_endpoint(watched(["jaeger"], there)) == f"{worker.address}:4317"
    assert stacks.traces_endpoint(watched(["prometheus"], there)) is None


def test_a_receiver_comes_before_jaeger() -> None:
    deployment = resolve(parse(SERVICES), Settings(), nodes(1), {}, catalogue.software(), "t", Stacks(jaeger={}))  # type: ignore[arg-type]
    deployment = stacks.sending_spans(traced(deployment, ["198.18.0.1:5"], 0.5), Traces())
    there = {replica.service: replica.environment for replica in deployment.replicas}
    assert there["geo"] == {"STONE_TRACES": "198.18.0.1:5", "STONE_TRACES_SAMPLE": "0.5"} and there["jaeger"] == {}


def test_a_node_of_its_own_is_left_by_the_application_unless_placement_says_so() -> None:
    requested = {"prometheus": {}, "jaeger": {"node": "worker-2"}}
    deployment = watched(requested)
    assert {replica.service: replica.node for replica in deployment.replicas if replica.stack} == {
        "prometheus": "worker-3", "jaeger": "worker-2", "node-agent": "worker-3",
    }  # fmt: skip
    assert {replica.node for replica in deployment.replicas if not replica.stack} == {"worker-1", "worker-3"}
    assert deployment.allowed["geo"] == ("worker-1", "worker-3") and deployment.allowed["jaeger"] == ("worker-2",)
    placed = watched(requested, placement={"services": {"geo": ["worker-2"]}, "tiers": {"tracing": ["worker-1"]}})
    assert placed.allowed["geo"] == ("worker-2",), "placement comes first"
    assert placed.of("prometheus")[0].node == "worker-1" and placed.of("jaeger")[0].node == "worker-2"
    only = watched({"jaeger": {"node": "worker-1"}}, nodes(1))
    assert {replica.node for replica in only.replicas} == {"worker-1"} and "geo" not in only.allowed


@pytest.mark.parametrize("settings", [{"scaling": "horizontal", "profile": "paper"}, {"scaling": "vertical"}])
def test_stacks_are_one_replica_each_without_limits_but_those_that_are_given(settings: dict[str, Any]) -> None:
    given = {"prometheus": Resources(cpu=1, memory=2**28)}
    deployment = watched(ALL, resources=given, **settings)
    assert {replica.name: replica.resources for replica in deployment.replicas if replica.stack} == {
        "prometheus-1": given["prometheus"], "grafana-1": Resources(), "jaeger-1": Resources(),
        "node-agent-1": Resources(),
    }  # fmt: skip
    assert {replica.tier for replica in deployment.replicas if replica.stack} == {"tracing"}


def test_unknown_nodes_and_services_are_refused() -> None:
    with pytest.raises(InputError, match=r"stacks: jaeger: no worker 'worker-33'; did you mean 'worker-3'"):
        watched({"jaeger": {"node": "worker-33"}})
    with pytest.raises(InputError, match=r"resources: services has no service 'jaeger'"):
        watched({"prometheus": {}}, resources={"jaeger": Resources(cpu=1)})


def scraped(deployment: Deployment) -> dict[str, list[dict[str, Any]]]:
    """The targets of each job of Prometheus."""
    (text,) = deployment.of("prometheus")[0].configs.values()
    return {job["job_name"]: job["static_configs"] for job in yaml.safe_load(text)["scrape_configs"]}


def test_prometheus_scrapes_itself_an_agent_and_the_load_generator() -> None:
    containers = watched(["prometheus"], nodes(2), orchestrator="swarm")
    assert scraped(containers) == {
        "prometheus": [{"targets": ["prometheus:9090"]}],
        "load": [{"targets": ["198.18.0.1:9621"]}],
    }
    assert stacks.load_metrics(containers) == "198.18.0.1:9621"
    assert stacks.load_metrics(watched(["jaeger"])) is None
    given = stacks.watching(containers, stacks.Agent("worker-1", "198.18.0.1:4711", "abc"))
    assert scraped(given)["nodes"] == [{"targets": ["198.18.0.1:4711"], "labels": {"node": "worker-1"}}]
    assert "authorization:\n    credentials: abc\n" in "".join(given.of("prometheus")[0].configs.values())
    processes = watched(["prometheus"], two_nodes())
    assert scraped(processes)["nodes"] == [{"targets": ["127.0.0.1:9620"], "labels": {"node": "worker-1"}}]


@pytest.mark.parametrize("orchestrator", ORCHESTRATORS)
def test_grafana_finds_prometheus_and_its_dashboards(orchestrator: str) -> None:
    deployment = watched(ALL, nodes_for(orchestrator), orchestrator=orchestrator)
    (grafana,) = deployment.of("grafana")
    text = "\n".join(rendered(deployment, orchestrator).values())
    if orchestrator == "process":
        assert (grafana.software, grafana.image) == ("grafana", None)
        assert "path: DATA/grafana-1/dashboards" in text and "url: http://127.0.0.1:9090" in text
    else:
        assert (grafana.software, grafana.image) == (None, "grafana/grafana:10.4.14")
        assert deployment.images["grafana/grafana:10.4.14"] == "grafana/grafana:10.4.14"
        host = "198.18.0.5" if orchestrator == "nomad" else "prometheus"
        assert "path: /etc/grafana/dashboards" in text and f"url: http://{host}:9090" in text
    for name in ("load", "services", "nodes"):
        assert f'"uid": "loadstone-{name}"' in text
    interfaces = stacks.interfaces(deployment)
    assert [url.rpartition(":")[2] for url in interfaces.values()] == ["9090", "3000", "16686"]
    assert list(interfaces) == ALL, "the agent is for no person"


# Dashboards


def exported() -> set[str]:
    """The names that the agent and the load generator export, from their sources."""
    names = set(re.findall(r'^\t"(\w+)": ', (STONE / "node/counters/metrics.go").read_text(), re.MULTILINE))
    for name in re.findall(r'describe\("(\w+)"', (STONE / "load/export/metrics.go").read_text()):
        bucket = "_bucket" if name in ("latency_seconds", "lateness_seconds") else ""
        names.add(f"stone_load_{name}{bucket}")
    return names


def queried(expression: str) -> set[str]:
    """The metrics of an expression: names that are no function, label, keyword or text."""
    bare = re.sub(r'"[^"]*"|\[[^\]]*\]|\b(by|on)\s*\([^)]*\)|\w+\s*=~?', " ", expression)
    return {name for name in re.findall(r"\b[a-z]\w*\b(?!\s*\()", bare) if name not in ("sum", "avg")}


@pytest.mark.parametrize("file", list(stacks.dashboards()), ids=lambda file: file.stem)
def test_dashboards_ask_for_what_is_exported(file: Path) -> None:
    board = json.loads(file.read_text())
    assert board["uid"] == f"loadstone-{file.stem}" and board["panels"]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    expressions += [variable["query"] for variable in board["templating"]["list"]]
    for expression in expressions:
        there = {name for name in queried(expression) if name not in ("subject", "node")}
        assert there and there <= exported(), (file.name, expression, there - exported())
    for panel in board["panels"]:
        assert panel["datasource"]["uid"] == "prometheus"


def test_there_are_dashboards_of_load_services_and_nodes() -> None:
    assert [file.stem for file in stacks.dashboards()] == ["load", "nodes", "services"]
    assert len(exported()) > 40


def test_traces_are_a_share() -> None:
    deployment = watched(["jaeger"], traces=Traces(sample=0.25).model_dump())
    assert deployment.of("geo")[0].environment["STONE_TRACES_SAMPLE"] == "0.25"
