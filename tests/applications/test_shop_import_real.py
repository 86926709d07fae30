"""A compose file in the shape of known demonstration shops, really run: names, stores, seed and reset.

Local images stand in for the published ones, which no registry gives here; ``socks/local.yml`` names them.
"""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from loadstone.experiments.deployment import Deployed
from loadstone.experiments.listener import Listener
from loadstone.infrastructure import images
from tests.orchestration import docker_clusters
from tests.orchestration.foreign_files import socks
from tests.support.clusters import ON_CLUSTERS, SharedClusters, folders

pytestmark = [pytest.mark.root, pytest.mark.timeout(1200)]

LOCAL = {"STONE": "stone", "NGINX": "nginx", "POSTGRES": "postgres", "REDIS": "redis"}
SWARM_AND_KUBERNETES = [ON_CLUSTERS[1], ON_CLUSTERS[3]]


@pytest.fixture(scope="module", params=SWARM_AND_KUBERNETES)
def shop(request: pytest.FixtureRequest, shared_clusters: SharedClusters) -> Iterator[Deployed]:
    """All services, filled and ready."""
    cluster = shared_clusters(request.param)
    with folders() as place, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MYSQL_ROOT_PASSWORD", "anything")
        names = {name: images.reference(what, cluster.access) for name, what in LOCAL.items()}
        more = {"application": socks(place / "project", names), "resources": {}}
        more["cluster"] = {"infrastructure": "namespaces"}
        plan = docker_clusters.plan_of(docker_clusters.study(f"test-shop-{os.getpid()}", request.param, **more))
        images.deliver(cluster.access, list(LOCAL.values()))
        made = docker_clusters.deploy(plan, cluster.provision, place / "run")
        try:
            yield made
        finally:
            made.remove()


def call(shop: Deployed, path: str, method: str = "GET", body: Any = None) -> Any:
    """What the edge router answers."""
    data = None if body is None else json.dumps(body).encode()
    (target,) = shop.targets()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://{target}{path}", data, headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


def test_every_service_but_the_load_generator_runs(shop: Deployed) -> None:
    assert len(shop.deployment.services()) == 10
    rows = shop.orchestrator.audit()
    assert rows and [row for row in rows if not row.ok] == []
    assert shop.orchestrator.events() == []


def test_the_edge_router_finds_each_service_behind_it(shop: Deployed) -> None:
    assert call(shop, "/") == "ok"
    assert json.loads(call(shop, "/catalogue"))[0]["id"] == "holy"


def test_a_reset_brings_back_what_the_seed_filled(shop: Deployed) -> None:
    def carts() -> int:
        return int(json.loads(call(shop, "/carts"))["doc_count"])

    assert carts() == 10
    assert json.loads(call(shop, "/carts", "POST", {"item": "holy"}))["ok"] is True
    assert carts() == 11
    shop.reset(Listener())
    assert carts() == 10
