"""Compose and Swarm for real: the shop on engines of emulated hosts, looked at, scaled, broken, removed.

The tests of one orchestrator share a deployment; those that break it come last.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadstone.experiments.deployment import Deployed
from loadstone.infrastructure.base import Access, Provision
from loadstone.infrastructure.docker_api import Engine
from loadstone.model.errors import DeploymentError, PreflightError
from loadstone.model.records.audit import AuditRow
from loadstone.orchestration.base import Orchestrator
from loadstone.orchestration.containers import LABEL, Containers
from loadstone.orchestration.docker.inside import LABEL as INSIDE
from tests.orchestration import docker_clusters
from tests.orchestration.conftest import deployed as resolved
from tests.orchestration.conftest import parse
from tests.support import applications, groups
from tests.support.clusters import SharedClusters, folders
from tests.support.strangers import connections, inside, query, refuse_a_stranger
from tests.support.users import wait

pytestmark = [pytest.mark.root, pytest.mark.docker, pytest.mark.timeout(1200)]

PLACEMENT = {
    "tiers": {"frontend": ["worker-1"], "storage": ["worker-2"]},
    "services": {"user": ["worker-1", "worker-2"]},
}
TAKEN = """\
name: taken
entry: {service: web, port: http}
default_workload: get
services:
  web: {tier: frontend, runs: {stone: hotel/frontend}, ports: {http: 8080}, resources: {cpu: 0.1, memory: 32MiB}}
workloads:
  get: {operations: {get: {path: /}}}
"""

SMALL = """\
name: small
entry: {service: cache, port: main}
default_workload: get
services:
  cache: {tier: caching, runs: {software: memcached}, ports: {main: 11211}, resources: {cpu: 0.5, memory: 16MiB}}
workloads:
  get: {operations: {get: {path: /}}}
"""


@pytest.fixture(scope="module", params=["swarm", "compose"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def place(name: str) -> Iterator[Path]:
    with folders() as folder:
        yield folder


@pytest.fixture(scope="module")
def provision(name: str, shared_clusters: SharedClusters) -> Provision:
    return shared_clusters(name).provision


@pytest.fixture(scope="module")
def shop(name: str, provision: Provision, place: Path) -> Iterator[Deployed]:
    application = applications.shop()
    (place / "application.yaml").write_text(yaml.safe_dump(application))
    study = docker_clusters.study(
        f"test-{name}-{os.getpid()}",
        name,
        application=str(place / "application.yaml"),
        resources=applications.limits(application),
        cluster={"infrastructure": "namespaces", "workers": 2 if name == "swarm" else 1},
        **({"placement": PLACEMENT} if name == "swarm" else {}),
    )
    made = docker_clusters.deploy(docker_clusters.plan_of(study), provision, place / "run")
    try:
        yield made
    finally:
        made.remove()


@pytest.fixture
def orchestrator(shop: Deployed) -> Orchestrator:
    return shop.orchestrator


def left_in(provision: Provision) -> list[str]:
    """Everything with our label, and volumes, in any engine and in the swarm."""
    access, left = access_of(provision), []
    label = {"label": LABEL}
    for url in access.engines.values():
        api = Engine(url).api
        left += [str(entry) for entry in api.containers(all=True, filters=label)]
        left += [str(entry) for entry in [*api.networks(filters=label), *(api.volumes()["Volumes"] or [])]]
    if access.software == "swarm":
        api = Engine(access.addresses[0]).api
        left += [str(entry) for entry in [*api.services(), *api.configs(filters=label), *api.networks(filters=label)]]
    return left


def access_of(provision: Provision) -> Access:
    assert provision.access is not None
    return provision.access


def wrong(rows: list[AuditRow]) -> list[tuple[str, str, str, str]]:
    return [(row.replica, row.what, row.wanted, row.effective) for row in rows if not row.ok]


def order(shop: Deployed) -> Any:
    """What the shop says to an order of the first user."""
    request = urllib.request.Request(f"http://{shop.targets()[0]}/orders/create/id/1", method="POST")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def container_of(orchestrator: Orchestrator, replica: str) -> tuple[Any, str]:
    """The API of the engine of a replica, and the id of its container."""
    (found,) = [each for each in orchestrator._find() if each.name == replica]  # type: ignore[attr-defined]
    assert orchestrator.access is not None
    return Engine(orchestrator.access.engines[found.node]).api, found.container


def test_it_serves_seeded_data(shop: Deployed) -> None:
    assert order(shop)["user"] == 1
    assert shop.seeder.counts()["postgres-user", "users"] == 1000


def test_stores_demand_their_password(orchestrator: Orchestrator) -> None:
    assert refuse_a_stranger(orchestrator, inside(container_of(orchestrator, "postgres-user-1")[1])) == 3


def test_only_entries_are_published_and_another_user_reaches_none(shop: Deployed, orchestrator: Orchestrator) -> None:
    """Stores are filled from inside: nothing leads to them but their own network, not for root either."""
    replicas = shop.deployment.replicas
    assert isinstance(orchestrator, Containers)
    published = {address for found in orchestrator._find() for address in found.addresses.values()}
    assert published == {
        it for each in shop.deployment.entries for it in orchestrator.addresses(each.service, each.port)
    }
    assert published >= set(shop.targets()) and len(published) == len(shop.deployment.entries)
    assert connections(list(published), "root") == dict.fromkeys(published, "reached")
    assert connections(list(published)) == dict.fromkeys(published, "Permission denied")
    stores = [address for it in replicas if it.store for address in orchestrator.inner(it.service, it.main_port)]
    assert len(stores) == 3
    patience = {"PGPASSWORD": orchestrator.password, "PGCONNECT_TIMEOUT": "3"}
    assert [query(address, "SELECT 7", ["env"], **patience).stdout for address in stores] == [""] * 3, "from outside"
    within = inside(container_of(orchestrator, "user-1")[1])
    assert connections(stores, "root", within) == dict.fromkeys(stores, "reached")


def test_what_fills_the_stores_is_made_anew_where_it_is_gone(shop: Deployed, provision: Provision) -> None:
    def there() -> list[tuple[Any, str]]:
        apis = [Engine(url).api for url in access_of(provision).engines.values()]
        wanted = {"label": f"{INSIDE}={shop.deployment.name}"}
        return [(api, each["Id"]) for api in apis for each in api.containers(all=True, filters=wanted)]

    ((api, container),) = there()
    assert api.inspect_container(container)["NetworkSettings"]["Ports"] == {}
    api.remove_container(container, force=True)
    assert shop.seeder.counts()["postgres-user", "users"] == 1000
    ((_, another),) = there()
    assert another != container


def test_a_file_of_the_desk_is_there_inside(orchestrator: Orchestrator, place: Path) -> None:
    (place / "graph.edges").write_text("1 2\n")
    within = orchestrator.inside()
    assert within is not None
    there = within.deliver(place / "graph.edges")
    assert within.deliver(place / "graph.edges") == there
    plan = {"stores": {}, "caches": {}, "profile": "", "dataset": {"file": there}}
    command = within.command([within.stone, "seed", "social", "--plan", "-", "--describe"])
    subprocess.run(command, check=True, input=json.dumps(plan), text=True)


def test_limits_placement_and_images_are_in_force(shop: Deployed, orchestrator: Orchestrator, name: str) -> None:
    rows = orchestrator.audit()
    assert wrong(rows) == []
    of_each = ("cpu", "memory", "cores", "node", "environment", "kernel", "image")
    files = [row for row in rows if row.what == "files"]
    assert len(rows) == applications.SHOP * len(of_each) + len(files)
    assert {row.effective for row in files} == {"volume"}
    effective = {(row.what, row.effective) for row in rows}
    assert {value for what, value in effective if what in ("cpu", "memory")} == {"0.2", "128MiB"}
    if name == "swarm":
        nodes = orchestrator.nodes()
        assert nodes["order-1"] == "worker-1"
        assert {node for replica, node in nodes.items() if replica.startswith("postgres-")} == {"worker-2"}


def test_the_swap_that_is_left_to_a_replica_is_none(orchestrator: Orchestrator, name: str) -> None:
    api, container = container_of(orchestrator, "user-1")
    limits = api.inspect_container(container)["HostConfig"]
    if name == "compose":  # a swarm's services cannot say it
        assert limits["MemorySwap"] in (limits["Memory"], -1)  # -1: this kernel does not count swap
    assert limits["Memory"] == 128 * 2**20


def test_files_usage_and_versions(shop: Deployed, orchestrator: Orchestrator) -> None:
    assert [file for file in orchestrator.render() if not (shop.folder / file).exists()] == []
    used = orchestrator.usage()
    assert len(used) == applications.SHOP and all(each.cpu_s > 0 and each.memory > 0 for each in used.values())
    assert orchestrator.events() == []
    assert orchestrator.versions()["docker"].startswith(("20.", "2"))


def test_applying_again_changes_nothing(orchestrator: Orchestrator) -> None:
    before = {each.name: each.container for each in orchestrator._find()}  # type: ignore[attr-defined]
    orchestrator.apply()
    orchestrator.ready()
    assert {each.name: each.container for each in orchestrator._find()} == before  # type: ignore[attr-defined]


def test_scaling_adds_replicas_that_get_calls(shop: Deployed, orchestrator: Orchestrator) -> None:
    orchestrator.scale("user", 2)
    wait(lambda: healthy(orchestrator, "user-2"))
    assert sorted(replica for replica in orchestrator.nodes() if replica.startswith("user-")) == ["user-1", "user-2"]
    idle = {replica: received(orchestrator, replica) for replica in ("user-1", "user-2")}

    def both_work() -> bool:
        for _ in range(20):
            order(shop)
        return all(received(orchestrator, replica) > bytes_before + 5_000 for replica, bytes_before in idle.items())

    wait(both_work)
    orchestrator.scale("user", 1)
    wait(lambda: len([replica for replica in orchestrator.nodes() if replica.startswith("user-")]) == 1)


def healthy(orchestrator: Orchestrator, replica: str) -> bool:
    return any(each.name == replica and each.healthy for each in orchestrator._find())  # type: ignore[attr-defined]


def received(orchestrator: Orchestrator, replica: str) -> int:
    """Bytes that a replica has received from others; its health checks stay inside."""
    api, container = container_of(orchestrator, replica)
    return sum(each["rx_bytes"] for each in api.stats(container, stream=False, one_shot=True)["networks"].values())


def test_a_taken_port_is_reported_with_the_remedy_and_nothing_is_left(
    provision: Provision, shop: Deployed, name: str
) -> None:
    before = len(left_in(provision))
    deployment = resolved(parse(TAKEN), list(provision.nodes), "taken")
    if name == "swarm":
        deployment = deployment.model_copy(update={"allowed": {"web": ("worker-1",)}})
    second = type(shop.orchestrator)(deployment, shop.folder / "taken", provision.access)
    message = (
        "port that it publishes is taken by another service"
        if name == "swarm"
        else "web: port 8080 of the node is taken"
    )
    with pytest.raises(DeploymentError, match=message):
        try:
            second.apply()
            second.ready()
        finally:
            second.remove()
    assert len(left_in(provision)) == before


def test_an_image_that_is_nowhere_is_reported_before_anything_starts(provision: Provision, shop: Deployed) -> None:
    text = TAKEN.replace("stone: hotel/frontend", 'image: "registry.invalid/shop/cart:1"')
    second = type(shop.orchestrator)(
        resolved(parse(text), list(provision.nodes), "nowhere"), shop.folder / "nowhere", provision.access
    )
    with pytest.raises(PreflightError, match=r"registry\.invalid/shop/cart:1 cannot be pulled on worker-1"):
        try:
            second.apply()
        finally:
            second.remove()


def test_a_replica_that_runs_out_of_memory_is_an_event_that_says_so(
    provision: Provision, shop: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Containers, "_wait_for_entry", lambda *_: None)  # a cache speaks no HTTP
    small = type(shop.orchestrator)(
        resolved(parse(SMALL), list(provision.nodes), "small"), shop.folder / "small", provision.access
    )
    try:
        small.apply()
        small.ready()
        fill(*small.addresses("cache", "main")[0].split(":"))
        wait(lambda: any("out of memory" in event for event in small.events()))
    finally:
        small.remove()


def fill(host: str, port: str) -> None:
    """Give a cache more than its limit lets it hold."""
    value = bytes(500_000)
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 60) as cache:
        for number in range(100):
            cache.sendall(b"set %d 0 0 %d\r\n%s\r\n" % (number, len(value), value))
            cache.recv(100)


def test_a_limit_that_is_taken_away_is_caught(orchestrator: Orchestrator) -> None:
    group = groups.of_container(container_of(orchestrator, "payment-1")[1])
    groups.lift(group, "cpu")
    assert wrong(orchestrator.audit()) == [("payment-1", "cpu", "0.2", "unlimited")]
    groups.limit(group, cpu=0.2)
    assert wrong(orchestrator.audit()) == []


def test_a_killed_container_is_an_event_with_the_reason(orchestrator: Orchestrator, name: str) -> None:
    _, container = container_of(orchestrator, "payment-1")
    groups.kill(groups.of_container(container))
    wait(lambda: any(event.startswith("payment-1 ") for event in orchestrator.events()))
    expected = {
        "swarm": "payment-1 was replaced: task: non-zero exit (137)",
        "compose": "payment-1 ended and was started again (exit code 137)",
    }[name]
    # On a slow machine it may become unhealthy once more before it stays.
    wait(lambda: [event for event in orchestrator.events() if "payment-1" in event] == [expected])


def test_nothing_is_left_of_it(shop: Deployed, provision: Provision) -> None:
    assert left_in(provision) != []
    shop.remove()
    assert left_in(provision) == []
    shop.remove()
