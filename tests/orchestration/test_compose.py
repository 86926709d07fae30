"""Compose's project, and what is made of an engine's answers; without an engine."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.model.application import Resources
from loadstone.model.cluster import Reach
from loadstone.model.deployment import Deployment
from loadstone.model.errors import DeploymentError
from loadstone.orchestration.compose import Compose, project
from loadstone.orchestration.containers import LABEL, SERVICE_LABEL
from loadstone.orchestration.docker import errors
from tests.orchestration.docker_deployments import SCALINGS, accepted, foreign, hotel, nodes, tree, written
from tests.orchestration.pinned import compare_scaling

FILE = "compose.yaml"


FAR = Reach(transport="exec", options={"software": "docker", "url": "ssh://lab"})


def services(deployment: Deployment) -> dict[str, Any]:
    return dict(tree(Compose(deployment, Path("/nowhere")).render(), FILE)["services"])


@pytest.mark.parametrize("scaling", SCALINGS)
def test_golden(scaling: str, tmp_path: Path) -> None:
    files = Compose(hotel(1, scaling=scaling), Path("/nowhere")).render()
    compare_scaling("compose", scaling, files)
    accepted(written(tmp_path, files), FILE)


@given(st.sampled_from(SCALINGS), st.sampled_from(["default", "paper"]), st.integers(1, 500), st.integers(6, 4096))
def test_every_limit_and_every_replica_is_in_the_file(scaling: str, profile: str, hundredths: int, mib: int) -> None:
    given_ = {"geo": Resources(cpu=hundredths / 100, memory=mib * 2**20 + 7)}
    deployment = hotel(1, resources=given_, scaling=scaling, profile=profile)
    written = services(deployment)
    assert list(written) == list(deployment.services())
    for name, replicas in deployment.services().items():
        entry, wanted = written[name], replicas[0].resources
        assert entry["scale"] == len(replicas)
        quota = None if wanted.cpu is None else round(wanted.cpu * 100_000)
        assert (entry.get("cpu_quota"), entry.get("cpu_period")) == (quota, None if quota is None else 100_000)
        memory = entry.get("mem_limit")
        assert (memory and int(memory[:-1]) * {"M": 2**20, "b": 1}[memory[-1]]) == wanted.memory
        assert entry.get("memswap_limit") == memory
        assert entry["restart"] == "always"
        assert entry["labels"] == {LABEL: "hotel", SERVICE_LABEL: name}


def test_only_what_the_client_reaches_is_published_and_only_where_it_does() -> None:
    def ports(deployment: Deployment) -> dict[str, Any]:
        return {name: entry["ports"] for name, entry in services(deployment).items() if "ports" in entry}

    baseline = ports(hotel(1))
    assert baseline == {"frontend": ["198.18.0.3:5000:5000"]}, "no store"
    assert ports(hotel(1, scaling="horizontal"))["frontend"] == ["198.18.0.3::5000"]
    assert ports(hotel(1).model_copy(update={"beside": True}))["frontend"] == ["198.18.0.3::5000"]
    elsewhere = foreign(nodes(1, reach=FAR))
    assert ports(elsewhere) == {"web": ["0.0.0.0:8080:8080"]}  # its address may not be its own


def test_foreign_images_with_files_volumes_and_dollar_signs(tmp_path: Path) -> None:
    files = Compose(foreign(), tmp_path).render()
    entries = tree(files, FILE)["services"]
    assert (entries["web"]["entrypoint"], entries["web"]["command"]) == (["/bin/web", "--name"], ["$$HOSTNAME"])
    data, cache, *mounted = entries["web"]["volumes"]
    assert [volume["target"] for volume in (data, cache)] == ["/data", "/cache"]
    assert {mount["target"]: files[mount["source"].removeprefix("./")] for mount in mounted} == {
        "/etc/web/main.conf": "one $TWO\n",
        "/srv/main.conf": "x",
    }
    assert entries["db"]["scale"] == 2
    accepted(written(tmp_path, files), FILE)


def test_a_path_is_what_it_is_whatever_signs_are_in_it(tmp_path: Path) -> None:
    (web,) = foreign().of("web")
    update = {"needs": (), "configs": {"/etc/$HOME:1.conf": "x\n"}, "volumes": ("/var/${PATH}:a",)}
    changed = web.model_copy(update=update)
    files = Compose(foreign().model_copy(update={"replicas": (changed,)}), tmp_path).render()
    volume, mounted = tree(files, FILE)["services"]["web"]["volumes"]
    assert volume == {"type": "volume", "target": "/var/$${PATH}:a"}
    assert (mounted["type"], mounted["target"], mounted["read_only"]) == ("bind", "/etc/$$HOME:1.conf", True)
    assert mounted["source"].removeprefix("./").replace("$$", "$") in files
    accepted(written(tmp_path, files), FILE)


def test_configuration_files_are_on_this_machine_only() -> None:
    there = [
        finding.message for finding in Compose(foreign(), Path("/nowhere")).preflight() if finding.what == "compose"
    ]
    assert there == []
    (far,) = [
        finding
        for finding in Compose(foreign(nodes(1, reach=FAR)), Path("/nowhere")).preflight()
        if finding.what == "compose"
    ]
    assert far.level == "error" and "configuration files" in far.message


def test_one_engine_has_neither_managers_nor_several_workers() -> None:
    assert Compose.expresses["high_availability"] == {"off"}
    assert Compose.single_worker and not Compose.managed


# Answers


def listed(number: int, state: str = "running", service: str = "documents-geo", **more: Any) -> dict[str, Any]:
    labels = {LABEL: "hotel", "com.docker.compose.container-number": str(number)}
    return {
        "Id": f"{service}-{number}",
        "State": state,
        "Status": f"Up 3 seconds ({state})",
        "ImageID": "sha256:1",
        "Labels": labels | ({SERVICE_LABEL: service} if service else {}),
        "Ports": [],
        **more,
    }


def test_containers_are_replicas_by_their_numbers() -> None:
    ports = [
        {"IP": "198.18.0.3", "PrivatePort": 5432, "PublicPort": 32768, "Type": "tcp"},
        {"PrivatePort": 9000, "Type": "tcp"},
    ]
    networks = {"Networks": {"hotel_default": {"IPAddress": "172.18.0.7"}}}
    its_own = listed(1, Ports=ports, NetworkSettings=networks)
    shown = [listed(2, "restarting"), its_own, listed(3), listed(1, service="")]
    first, second, third = project.replicas(shown, ["documents-geo-1", "documents-geo-2"], hotel(1))
    assert (first.name, first.healthy, first.why, first.image) == ("documents-geo-1", True, "", "sha256:1")
    assert first.addresses == {"postgres": "198.18.0.3:32768"} and first.address == "172.18.0.7"
    assert (second.name, second.healthy, second.why) == ("documents-geo-2", False, "Up 3 seconds (restarting)")
    assert (third.name, third.healthy) == ("documents-geo-3", False)  # its check has not passed


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (
            "`docker-compose up` failed: ERROR: for x  Cannot start service frontend: driver failed programming"
            " external connectivity on endpoint a (1): Bind for 0.0.0.0:5000 failed: port is already allocated",
            "frontend: port 5000 of the node is taken\n  stop what listens there",
        ),
        (
            "`docker-compose up` failed: Pulling a (shop/cart:1)...\n  no such host",
            "a: the node has no image shop/cart:1 and cannot pull it\n  start again",
        ),
        ("`docker-compose up` failed: no space left", "`docker-compose up` failed: no space left"),
    ],
)
def test_refusals_name_the_service_and_the_remedy(output: str, message: str) -> None:
    assert str(errors.clear(DeploymentError(output))).startswith(message)


def test_an_official_image_s_check_waits_once_it_was_ready(tmp_path: Path) -> None:
    deployment = hotel(1)
    official = {name: software.container.image for name, software in deployment.software.items()}
    written = services(deployment.model_copy(update={"images": deployment.images | official}))
    kind, line = written["documents-geo"]["healthcheck"]["test"]
    ready, mark, slept = tmp_path / "ready", tmp_path / "mark", tmp_path / "slept"
    script = (
        line.replace("$$", "$")
        .replace("/dev/shm/loadstone-ready", str(mark))
        .replace("sleep 60", f"touch {slept}")
        .replace("pg_isready -q -h 127.0.0.1 -U postgres", f"[ -e {ready} ]")
    )

    def check() -> int:
        return subprocess.run(["sh", "-c", script], check=False).returncode

    assert kind == "CMD-SHELL" and script != line
    assert (check(), mark.exists(), slept.exists()) == (1, False, False)  # not ready yet
    ready.touch()
    assert (check(), mark.exists(), slept.exists()) == (0, True, False)  # for the first time: at once
    assert (check(), slept.exists()) == (0, True)
    ready.unlink()
    assert (check(), mark.exists()) == (1, False)  # queried at once from now on
