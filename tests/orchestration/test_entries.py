"""Workloads that enter at a service of their own: which ports are published, and what stands before them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from loadstone.model.application import Entry
from loadstone.model.deployment import Deployment
from loadstone.orchestration import docker, proxy
from loadstone.orchestration.containers import SERVICE_LABEL
from loadstone.orchestration.ports import preferred_ports
from tests.orchestration.rendered import deployment, files

ORDER, PAYMENT = Entry(service="order", port="http"), Entry(service="payment", port="http")


def shop(orchestrator: str, **settings: Any) -> Deployment:
    return deployment("shop", orchestrator, **settings)


def test_the_load_enters_where_its_workload_does() -> None:
    assert (shop("process").entry, shop("process").entries) == (ORDER, (ORDER, PAYMENT))
    alone = shop("process", workload="payment-alone")
    assert (alone.entry, alone.entries) == (PAYMENT, (ORDER, PAYMENT))
    assert shop("process", workload="mine.lua").entry == ORDER


def test_a_proxy_stands_before_the_entry_of_the_load() -> None:
    behind = shop("process", workload="payment-alone", proxy={"workers": 1, "connections": 64})
    assert (behind.entry, behind.entries, behind.behind) == (proxy.ENTRY, (ORDER, proxy.ENTRY), PAYMENT)
    (nginx,) = behind.of("nginx")
    assert nginx.needs == ("payment",) and "server payment:8082;" in nginx.configs[proxy.CONFIG]
    before = shop("process", proxy={"workers": 1, "connections": 64})
    assert (before.entry, before.entries) == (proxy.ENTRY, (proxy.ENTRY, PAYMENT))


def test_processes_keep_the_ports_of_all_entries() -> None:
    ports = preferred_ports(shop("process"))
    assert (ports["order-1"]["http"], ports["payment-1"]["http"]) == (8080, 8082)
    assert ports["user-1"]["http"] >= 20_000


@pytest.mark.parametrize("orchestrator", ["compose", "swarm"])
def test_docker_publishes_all_entries(orchestrator: str) -> None:
    wanted = shop(orchestrator)
    found = {service: docker.published(wanted, wanted.of(service)[0]) for service in ("order", "payment", "user")}
    assert {service: ports.get("http") for service, ports in found.items()} == {
        "order": 8080,
        "payment": 8082,
        "user": None,
    }


def test_kubernetes_opens_node_ports_for_all_entries() -> None:
    manifests = [
        manifest
        for text in files(shop("kubernetes"), "kubernetes").values()
        for manifest in yaml.safe_load_all(text)
        if manifest["kind"] == "Service" and manifest["spec"].get("type") == "NodePort"
    ]
    opened = {manifest["metadata"]["labels"][SERVICE_LABEL] for manifest in manifests}
    assert {"order", "payment"} <= opened and "user" not in opened


def test_nomad_gives_all_entries_their_own_ports() -> None:
    texts = files(shop("nomad"), "nomad")
    fixed = {name.split(".")[0] for name, text in texts.items() if "static" in text}
    assert fixed == {"order", "payment"}
