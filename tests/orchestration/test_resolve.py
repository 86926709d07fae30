from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.applications import catalogue
from loadstone.model.application import Resources
from loadstone.model.cluster import Node
from loadstone.model.deployment import Deployment
from loadstone.model.errors import InputError, PreflightError
from loadstone.model.study import Settings
from loadstone.orchestration.resolve import refuse_impossible, resolve
from tests.orchestration.conftest import SERVICES, deployed, parse, two_nodes
from tests.support import applications

MIB = 2**20
PAPER = SERVICES.replace(
    "workloads:", "paper_resources: {frontend: {cpu: 2, memory: 2GiB}, storage: {memory: 1GiB}}\nworkloads:"
)


def counts(deployment: Deployment) -> dict[str, int]:
    return {replica.service: len(deployment.of(replica.service)) for replica in deployment.replicas}


def limits(deployment: Deployment, service: str) -> tuple[float | None, int | None]:
    resources = deployment.of(service)[0].resources
    return resources.cpu, resources.memory


def test_baseline() -> None:
    deployment = deployed(parse(SERVICES), two_nodes())
    assert counts(deployment) == {"memcached-geo": 1, "documents-geo": 1, "geo": 1, "frontend": 1}
    assert limits(deployment, "geo") == (0.25, 32 * MIB)
    assert limits(deployment, "documents-geo") == (None, None)
    assert deployment.of("documents-geo")[0].software == "postgres"
    assert deployment.of("documents-geo")[0].ports == {"postgres": 5432}
    assert deployment.of("geo")[0].main_port == "grpc"
    assert set(deployment.software) == {"memcached", "postgres"}
    assert {replica.node for replica in deployment.replicas} == {"worker-1"}
    assert deployment.warnings == ()


def test_vertical_doubles_limits_and_horizontal_the_replicas_without_state() -> None:
    vertical = deployed(parse(SERVICES), two_nodes(), scaling="vertical")
    assert limits(vertical, "geo") == (0.5, 64 * MIB)
    horizontal = deployed(parse(SERVICES), two_nodes(), scaling="horizontal")
    assert counts(horizontal) == {"memcached-geo": 1, "documents-geo": 1, "geo": 2, "frontend": 2}
    assert limits(horizontal, "geo") == (0.25, 32 * MIB)
    assert [replica.name for replica in horizontal.of("geo")] == ["geo-1", "geo-2"]


@pytest.mark.parametrize("scaling", ["baseline", "horizontal"])
@pytest.mark.parametrize("name", ["hotel-reservation", "social-network", "media-microservices", "shop"])
def test_each_tier_is_spread_evenly_over_the_nodes_that_placement_gives_it(name: str, scaling: str) -> None:
    workers = [node for node in two_nodes() if node.role == "worker"] * 4
    nodes = [node.model_copy(update={"name": f"worker-{number}"}) for number, node in enumerate(workers, start=1)]
    tiers = {"storage": ["worker-1", "worker-2"], "caching": ["worker-3", "worker-4"]}
    settings = Settings.model_validate({"placement": {"tiers": tiers}, "scaling": scaling})
    application = applications.load(name).application
    deployment = resolve(application, settings, nodes, {}, catalogue.software(), "spread")
    for tier, names in tiers.items():
        held = [sum(r.node == name and r.tier == tier for r in deployment.replicas) for name in names]
        assert max(held) - min(held) <= 1
    anywhere = [replica.node for replica in deployment.replicas if replica.tier not in tiers]
    held = [anywhere.count(node.name) for node in nodes]
    assert max(held) - min(held) <= 1


def test_unlimited_has_no_limits() -> None:
    deployment = deployed(parse(SERVICES), two_nodes(), scaling="unlimited")
    assert {limits(deployment, service) for service in counts(deployment)} == {(None, None)}


def test_the_paper_s_limits_by_tier_and_its_replicas_of_everything() -> None:
    deployment = deployed(parse(PAPER), two_nodes(4), profile="paper", scaling="horizontal")
    assert set(counts(deployment).values()) == {2}
    assert limits(deployment, "frontend") == (2, 2048 * MIB)
    assert limits(deployment, "documents-geo") == (None, 1024 * MIB)
    assert limits(deployment, "geo") == (0.25, 32 * MIB)  # its tier is not named
    assert "documents-geo: several replicas of a document store" in deployment.warnings[0]


def test_documents_are_a_setting() -> None:
    deployment = deployed(parse(SERVICES), two_nodes(), documents="mongodb")
    assert deployment.of("documents-geo")[0].software == "mongodb"
    assert deployment.documents == "mongodb"


def test_resources_of_the_study_replace_what_they_name() -> None:
    given_ = {"geo": Resources(cpu=0.75), "frontend": Resources(memory=128 * MIB)}
    settings = Settings(scaling="vertical")
    deployment = resolve(parse(SERVICES), settings, two_nodes(2), given_, catalogue.software(), "test")
    assert limits(deployment, "geo") == (1.5, 64 * MIB)
    assert limits(deployment, "frontend") == (1.0, 256 * MIB)


def test_resources_of_an_unknown_service_are_refused() -> None:
    with pytest.raises(InputError, match=r"services has no service 'goe'; did you mean 'geo'\?"):
        resolve(parse(SERVICES), Settings(), two_nodes(), {"goe": Resources()}, catalogue.software(), "test")


def test_more_cores_than_the_node_has() -> None:
    text = SERVICES.replace("cpu: 0.25", "cpu: 1")
    with pytest.raises(PreflightError) as caught:
        refuse_impossible(deployed(parse(text), two_nodes(1), scaling="vertical"))
    assert str(caught.value).splitlines() == [
        "geo: wanted cpu 2 (scaling: vertical doubles every limit), but node worker-1 has 1 core",
        "  set resources: {geo: {cpu: 0.5}} in the study, choose another scaling or profile, or use a larger node",
    ]
    refuse_impossible(deployed(parse(text), two_nodes(2), scaling="vertical"))


def test_more_memory_than_the_node_has() -> None:
    text = SERVICES.replace("memory: 32MiB", "memory: 9GiB")
    with pytest.raises(PreflightError, match=r"geo: wanted memory 9GiB, but node worker-1 has 8GiB\n.*memory: 8192MiB"):
        refuse_impossible(deployed(parse(text), two_nodes()))


def test_limits_that_add_up_to_more_than_the_node_are_warned_of() -> None:
    text = SERVICES.replace("memory: 32MiB", "memory: 5GiB").replace("memory: 64MiB", "memory: 5GiB")
    assert (
        "memory limits on worker-1 add up to 10.0 GiB, but it has 8.0 GiB"
        in deployed(parse(text), two_nodes()).warnings[0]
    )


def test_a_cluster_without_workers() -> None:
    with pytest.raises(InputError, match="no worker node"):
        deployed(parse(SERVICES), two_nodes()[:1])


@given(
    st.integers(1, 7), st.sampled_from(["baseline", "horizontal", "unlimited"]), st.sampled_from(["default", "paper"])
)
def test_replicas_are_spread_evenly_and_started_after_what_they_need(workers: int, scaling: str, profile: str) -> None:
    nodes = [
        Node(name=f"w{n}", role="worker", address="127.0.0.1", cpus=(0, 1, 2, 3), memory=2**34) for n in range(workers)
    ]
    deployment = deployed(parse(PAPER), nodes, scaling=scaling, profile=profile)
    per_node = [sum(replica.node == node.name for replica in deployment.replicas) for node in nodes]
    assert max(per_node) - min(per_node) <= 1
    seen: set[str] = set()
    for replica in deployment.replicas:
        assert set(replica.needs) <= seen
        seen.add(replica.service)
    assert len({replica.name for replica in deployment.replicas}) == len(deployment.replicas)
