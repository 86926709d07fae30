"""Kubernetes' files, and what is made of its answers; without a cluster."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from loadstone.applications import catalogue
from loadstone.infrastructure.base import Access
from loadstone.model.application import Resources
from loadstone.model.deployment import Deployment
from loadstone.orchestration.containers import LABEL, SERVICE_LABEL
from loadstone.orchestration.kubernetes import Kubernetes, manifests
from tests.orchestration.conftest import STORES
from tests.orchestration.kubernetes_deployments import FOREIGN, hotel, other
from tests.orchestration.pinned import compare_scaling

SCALINGS = ("baseline", "vertical", "horizontal", "unlimited")
Docs = dict[str, list[dict[str, Any]]]


def rendered(deployment: Deployment, access: Access | None = None) -> Docs:
    files = Kubernetes(deployment, Path("/nowhere"), access).render()
    return {name: list(yaml.load_all(text, Loader=yaml.CSafeLoader)) for name, text in files.items()}


def of_kind(docs: Docs, *kinds: str) -> list[dict[str, Any]]:
    return [manifest for file in docs.values() for manifest in file if manifest["kind"] in kinds]


def container(docs: Docs, service: str) -> dict[str, Any]:
    (found,) = pod(docs, service)["containers"]
    return dict(found)


def pod(docs: Docs, service: str) -> dict[str, Any]:
    (workload,) = (
        manifest for manifest in docs[f"services/{service}.yaml"] if manifest["kind"] in ("Deployment", "StatefulSet")
    )
    return dict(workload["spec"]["template"]["spec"])


@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_files_of_hotel_reservation(scaling: str) -> None:
    compare_scaling("kubernetes", scaling, Kubernetes(hotel(scaling=scaling), Path("/nowhere")).render())


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("profile", ["default", "paper"])
def test_replicas_and_limits_are_those_of_the_model(scaling: str, profile: str) -> None:
    deployment = hotel(scaling=scaling, profile=profile)
    docs = rendered(deployment)
    assert list(docs) == ["namespace.yaml", *(f"services/{name}.yaml" for name in deployment.services())]
    for service, replicas in deployment.services().items():
        (workload,) = (
            manifest
            for manifest in docs[f"services/{service}.yaml"]
            if manifest["kind"] in ("Deployment", "StatefulSet")
        )
        assert workload["spec"]["replicas"] == len(replicas)
        resources = container(docs, service)["resources"]
        assert resources["requests"] == {"cpu": 0, "memory": 0}
        limits = {
            "cpu": None if "cpu" not in resources.get("limits", {}) else cores(resources["limits"]["cpu"]),
            "memory": None if "memory" not in resources.get("limits", {}) else size(resources["limits"]["memory"]),
        }
        assert limits == replicas[0].resources.model_dump()


def test_everything_is_in_the_namespace_and_found_by_label() -> None:
    for manifest in of_kind(rendered(hotel()), "Deployment", "StatefulSet", "Service", "ConfigMap"):
        assert manifest["metadata"]["namespace"] == manifest["metadata"]["labels"][LABEL] == "hotel"
        if manifest["kind"] in ("Deployment", "StatefulSet"):
            labels = manifest["spec"]["template"]["metadata"]["labels"]
            assert labels == {LABEL: "hotel", SERVICE_LABEL: manifest["metadata"]["name"]}
            assert manifest["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_a_service_is_found_by_its_name_and_only_what_the_client_needs_has_ports_on_nodes() -> None:
    deployment = hotel(scaling="horizontal", profile="paper")
    services = of_kind(rendered(deployment), "Service")
    headless = {service["metadata"]["name"] for service in services if service["spec"].get("clusterIP") == "None"}
    assert headless == set(deployment.services())
    opened = {
        service["metadata"]["labels"]["loadstone.published"]: service["spec"]
        for service in services
        if "type" in service["spec"]
    }
    assert set(opened) == {"frontend"}, "no store"
    spec = opened["frontend"]
    assert (spec["type"], spec["externalTrafficPolicy"]) == ("NodePort", "Local")
    assert spec["ports"] == [{"name": "http", "port": 5000}]


def test_placement_binds_to_nodes() -> None:
    docs = rendered(
        hotel(placement={"tiers": {"frontend": ["worker-1"]}, "services": {"geo": ["worker-1", "worker-2"]}})
    )
    (term,) = pod(docs, "geo")["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    (expression,) = term["matchExpressions"]
    assert expression == {"key": "kubernetes.io/hostname", "operator": "In", "values": ["worker-1", "worker-2"]}
    assert "affinity" in pod(docs, "frontend") and "affinity" not in pod(docs, "rate")


def test_an_image_brings_its_own_files_folders_and_words() -> None:
    docs = rendered(other(FOREIGN))
    web = container(docs, "web")
    assert (web["image"], web["command"]) == ("registry.example.org/web:2", ["/bin/web", "--name"])
    assert web["args"] == ["$$(HOSTNAME)"]  # Kubernetes would replace the name otherwise
    assert web["env"] == [{"name": "GREETING", "value": "it costs $$(PRICE) $5"}]
    assert web["resources"]["limits"] == {"cpu": "1500m", "memory": "1Gi"}
    (configs,) = of_kind(docs, "ConfigMap")
    assert configs["data"] == {"1-main.conf": "one\ntwo\n", "2-a-b.txt": "x"}
    assert [(mount["mountPath"], mount.get("subPath")) for mount in web["volumeMounts"]] == [
        ("/etc/web/main.conf", "1-main.conf"),
        ("/srv/a b.txt", "2-a-b.txt"),
        ("/data", None),
        ("/cache", None),
    ]
    assert [volume["name"] for volume in pod(docs, "web")["volumes"]] == ["configs", "data-1", "data-2"]


def as_started(text: str) -> str:
    """What Kubernetes makes of a value (its ``third_party/forked/golang/expansion``)."""
    return re.sub(r"\$(\$|\([^)]*\))", lambda found: "$" if found[1] == "$" else "replaced", text)


@given(st.text("$(){}Aa ", max_size=12))
@example("a$$b")
@example("$$(HOSTNAME)")
def test_dollar_signs_reach_a_replica_as_they_are(text: str) -> None:
    (web,) = other(FOREIGN).of("web")
    changed = web.model_copy(update={"environment": {"TEXT": text}, "command": (text,), "entrypoint": (text,)})
    docs = rendered(other(FOREIGN).model_copy(update={"replicas": (changed,)}))
    found = container(docs, "web")
    values = [found["env"][0]["value"], *found["args"], *found["command"]]
    assert list(map(as_started, values)) == [text] * 3


def test_stores_start_as_their_software_says() -> None:
    docs = rendered(other(STORES))
    software = catalogue.software().software["redis"].container
    assert container(docs, "queue")["args"] == [word.replace("$(", "$$(") for word in software.command]
    reference = {"secretKeyRef": {"name": "stores", "key": "password"}}
    assert container(docs, "queue")["env"] == [{"name": "REDISCLI_AUTH", "valueFrom": reference}]
    assert container(docs, "queue")["readinessProbe"]["tcpSocket"] == {"port": 6379}
    assert container(docs, "cache")["ports"] == [{"name": "main", "containerPort": 11211}]


@pytest.mark.parametrize(
    ("access", "policy"),
    [(None, "IfNotPresent"), (Access("kubernetes"), "Never"), (Access("kubernetes", registry="r:1"), "IfNotPresent")],
)
def test_images_are_fetched_only_where_they_can_be(access: Access | None, policy: str) -> None:
    docs = rendered(other(FOREIGN), access)
    assert container(docs, "web")["imagePullPolicy"] == policy


def test_rendering_is_pure() -> None:
    first, second = (Kubernetes(hotel(), Path("/nowhere")).render() for _ in range(2))
    assert first == second
    assert not Path("/nowhere").exists()


def test_what_kubernetes_cannot_express_is_reported_before() -> None:
    deployment = other(FOREIGN.replace("web:", "web-:", 1).replace("service: web,", "service: web-,"))
    fine = hotel({"geo": Resources(cpu=0.0125)})
    messages = [finding.message for d in (deployment, fine) for finding in Kubernetes(d, Path("/nowhere")).preflight()]
    assert "service 'web-': Kubernetes wants lower-case letters, digits and '-', a letter first, no '-' last," in str(
        messages
    )
    assert "service 'geo': cpu 0.0125: Kubernetes counts in thousandths of a core" in messages


names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,90}", fullmatch=True)


@given(names)
def test_any_name_makes_a_namespace(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", manifests.namespace_of(name))


@given(names, names)
def test_different_names_make_different_namespaces(first: str, second: str) -> None:
    assert (first == second) == (manifests.namespace_of(first) == manifests.namespace_of(second))


@given(st.text(min_size=1, max_size=30), st.integers(1, 65535))
def test_any_port_has_a_name_that_kubernetes_takes(name: str, port: int) -> None:
    made = manifests._port_name(name, port)
    assert re.fullmatch(r"(?=.*[a-z])[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?", made) and "--" not in made


@given(st.integers(10, 64_000), st.integers(2**20, 2**40))
def test_limits_are_written_exactly(thousandths: int, memory: int) -> None:
    docs = rendered(hotel({"geo": Resources(cpu=thousandths / 1000, memory=memory)}))
    limits = container(docs, "geo")["resources"]["limits"]
    assert (cores(limits["cpu"]), size(limits["memory"])) == (thousandths / 1000, memory)


def cores(quantity: int | str) -> float:
    return int(quantity[:-1]) / 1000 if isinstance(quantity, str) else quantity


def size(quantity: int | str) -> int:
    units = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
    text = str(quantity)
    return int(text[:-2]) * units[text[-2:]] if text[-2:] in units else int(text)
