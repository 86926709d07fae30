"""From where replicas are reached that publish nothing; engines and machines are fakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loadstone.infrastructure.docker_api import Engine
from loadstone.infrastructure.failover import Unreachable
from loadstone.infrastructure.machines import Machine
from loadstone.model.cluster import Reach
from loadstone.model.deployment import FoundReplica
from loadstone.orchestration.compose import Compose
from loadstone.orchestration.docker.inside import LABEL, Inside, remove
from loadstone.orchestration.docker.readiness import FirstAnswers
from loadstone.orchestration.kubernetes import Kubernetes
from loadstone.orchestration.nomad import Nomad
from tests.orchestration.docker_deployments import foreign, hotel, nodes


class Engines:
    """Engines by URL that have containers, or do not answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **containers: list[str] | None) -> None:
        self.containers = containers
        self.ran: list[tuple[str, ...]] = []
        monkeypatch.setattr(Engine, "api", property(lambda engine: _Api(self, engine.url)))
        monkeypatch.setattr(Engine, "silence", lambda engine: "gone" if containers[engine.url] is None else None)
        monkeypatch.setattr(Engine, "run", self._run)

    def _run(self, *command: str) -> str:
        self.ran.append(command)
        return "new\n"


class _Api:
    def __init__(self, engines: Engines, url: str) -> None:
        self._there = engines.containers[url]
        if self._there is None:
            raise Unreachable(url)

    def containers(self, **_: Any) -> list[dict[str, str]]:
        return [{"Id": identity} for identity in self._there or ()]

    def remove_container(self, identity: str, force: bool) -> None:
        assert force and self._there is not None
        self._there.remove(identity)


def made(*urls: str) -> Inside:
    return Inside(hotel(), "hotel_default", {"loadstone.deployment": "hotel"}, urls)


def test_the_container_that_is_there_is_used_and_has_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    engines = Engines(monkeypatch, a=["old"])
    assert made("a").command(["/stone", "seed"]) == [
        "docker",
        "--host",
        "a",
        "exec",
        "--interactive",
        "old",
        "/stone",
        "seed",
    ]
    assert engines.ran == []


def test_it_is_made_in_the_network_of_the_deployment_on_the_first_engine_that_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engines = Engines(monkeypatch, a=None, b=[], c=[])
    assert made("a", "b", "c").command(["x"]) == ["docker", "--host", "b", "exec", "--interactive", "new", "x"]
    (run,) = engines.ran
    assert "--network=hotel_default" in run and "--cap-drop=ALL" in run and run[-1] == "wait"
    assert {f"--label={LABEL}=hotel", "--label=loadstone.deployment=hotel"} <= set(run)
    assert not [word for word in run if "publish" in word]


def test_where_no_engine_answers_that_is_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    Engines(monkeypatch, a=None)
    with pytest.raises(Unreachable, match="hotel: no Docker engine answers"):
        made("a").command(["x"])


def test_a_file_is_copied_into_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    engines = Engines(monkeypatch, a=["old"])
    place, file = made("a"), Path("/data/graph.edges")
    assert place.deliver(file) == place.deliver(file) == "/0-graph.edges"
    assert engines.ran == [("docker", "cp", "/data/graph.edges", "old:/0-graph.edges")]


def test_all_are_removed_but_those_of_silent_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    Engines(monkeypatch, a=["old"], b=None)
    engines = [Engine("a"), Engine("b")]
    assert remove(engines, "loadstone.deployment=hotel") == ["container old"]
    assert remove(engines, "loadstone.deployment=hotel") == []


def test_an_image_of_others_is_healthy_once_it_has_answered_at_its_own_address() -> None:
    urls: list[str] = []

    def why(url: str) -> str:
        urls.append(url)
        return "it starts" if len(urls) == 1 else ""

    answers = FirstAnswers(foreign(), why)
    web = FoundReplica(name="web-1", service="web", node="worker-1", state="running", healthy=True, container="c")
    waiting = answers.judge(web)
    assert (waiting.healthy, waiting.why) == (False, "it has no address yet")
    web = web.model_copy(update={"address": "172.18.0.5"})
    starting = answers.judge(web)
    assert (starting.healthy, starting.why) == (False, "it starts")
    assert answers.judge(web) == answers.judge(web) == web
    assert urls == ["http://172.18.0.5:9000/health"] * 2, "once it has answered it is left alone"
    job = FoundReplica(name="job-1", service="job", node="worker-1", state="running", healthy=True, container="d")
    assert answers.judge(job) is job, "without a port it is ready as soon as it runs"


def found(**more: Any) -> FoundReplica:
    return FoundReplica(
        name="documents-geo-1", service="documents-geo", node="worker-1", state="running", healthy=True, **more
    )


def test_stores_are_at_their_own_addresses_where_they_have_any(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compose, nomad = Compose(hotel(1), tmp_path), Nomad(hotel(), tmp_path)
    monkeypatch.setattr(Compose, "_find", lambda _: [found(address="172.18.0.7")])
    monkeypatch.setattr(Nomad, "_find", lambda _: [found(addresses={"postgres": "198.18.0.3:20001"})])
    assert compose.inner("documents-geo", "postgres") == ["172.18.0.7:5432"]
    assert compose.addresses("documents-geo", "postgres") == []
    assert nomad.inner("documents-geo", "postgres") == ["198.18.0.3:20001"]


@pytest.mark.parametrize("in_container", [False, True])
def test_pods_are_reached_from_the_node_of_a_store(
    in_container: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    way = {"software": "kubernetes", "node": "worker-1", "kubeconfig": "/etc/kubeconfig"}
    reach = Reach(transport="exec", options=way) if in_container else Reach(transport="ssh", options={"host": "w"})
    deployment = hotel().model_copy(update={"nodes": tuple(nodes(3, reach=reach))})
    kubernetes = Kubernetes(deployment, tmp_path)
    monkeypatch.setattr(Kubernetes, "_find", lambda _: [found(address="10.244.1.5")])
    put: list[str] = []
    monkeypatch.setattr(Machine, "put", lambda _, content, path: put.append(path))
    monkeypatch.setattr(Machine, "deliver", lambda _, program: f"/var/lib/{program.name}")
    place = kubernetes.inside()
    assert place is not None
    there = place.deliver(Path("/data/graph.edges"))
    assert (there, put) == (
        ("/tmp/graph.edges", ["/tmp/graph.edges"]) if in_container else ("/var/lib/graph.edges", [])
    )
    assert kubernetes.inner("documents-geo", "postgres") == ["10.244.1.5:5432"]
