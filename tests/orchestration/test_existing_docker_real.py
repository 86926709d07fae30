"""The Docker engine of a user's own machine, which an emulated host stands for: Loadstone itself runs on that host."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadstone.infrastructure.base import Provision
from loadstone.infrastructure.docker_api import Engine
from loadstone.infrastructure.existing import Existing
from loadstone.infrastructure.namespaces.host import Host
from loadstone.model.cluster import Cluster
from tests.orchestration import docker_clusters
from tests.support import applications
from tests.support.audits import complete
from tests.support.clusters import folders
from tests.support.daemons import Daemon
from tests.support.users import LOADSTONE

pytestmark = [pytest.mark.root, pytest.mark.docker, pytest.mark.timeout(1200)]

CLUSTER = f"existing-{os.getpid()}"
UNPRIVILEGED = 65534
DEADLINE_S = 900  # of a whole study, on a machine that is busy, too


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with folders() as folder:
        yield folder


@pytest.fixture(scope="module")
def engine(home: Path) -> Iterator[Engine]:
    """The engine of the host, which is on no other machine either."""
    plan = docker_clusters.plan_of(docker_clusters.study(CLUSTER, "compose", cluster={"infrastructure": "namespaces"}))
    with docker_clusters.cluster(plan, home) as provision:
        yield engine_of(provision)


def engine_of(provision: Provision) -> Engine:
    assert provision.access is not None
    return Engine(provision.access.addresses[0])


@pytest.fixture
def host(engine: Engine) -> Host:
    (host,) = docker_clusters.emulated(CLUSTER).hosts
    return host


def loadstone(host: Host, home: Path, *arguments: str, docker: str, expect: int) -> str:
    """Run Loadstone on the host; returns its output."""
    environment = {**os.environ, "DOCKER_HOST": docker, "LOADSTONE_STATE": str(home / "own"), "NO_COLOR": "1"}
    there = ["sh", "-ec", 'cd "$0" && exec "$@"', str(home)]
    done = host.run([*there, str(LOADSTONE), *arguments], env=environment, within_s=DEADLINE_S)
    assert done.returncode == expect, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout + done.stderr


def write_study(home: Path, orchestrator: str, **cluster: Any) -> None:
    shop = applications.shop()
    (home / "application.yaml").write_text(yaml.safe_dump(shop))
    more = {"application": "application.yaml", "resources": applications.limits(shop)}
    study = docker_clusters.study("mine", orchestrator, cluster={"infrastructure": "existing", **cluster}, **more)
    (home / "study.yaml").write_text(yaml.safe_dump(study))


def ours(engine: Engine) -> list[str]:
    """What the engine has beyond its own networks and images."""
    networks = [entry["Name"] for entry in engine.api.networks() if entry["Name"] not in ("bridge", "host", "none")]
    return [
        *(entry["Id"] for entry in engine.api.containers(all=True)),
        *networks,
        *(engine.api.volumes()["Volumes"] or []),
    ]


def test_a_study_on_the_engine_of_this_machine(host: Host, home: Path, engine: Engine) -> None:
    write_study(home, "compose")
    loadstone(host, home, "run", "study.yaml", docker=engine.url, expect=0)
    (trial,) = home.glob("results/mine/*/trials/*/trial.json")
    assert json.loads(trial.read_text())["row"]["verdict"] in ("held", "not held")
    audit = json.loads((trial.parent / "audit.json").read_text())
    assert complete(audit, applications.SHOP)
    assert ours(engine) == [] and list((home / "own").glob("*.json")) == []


def test_a_port_of_this_machine_that_is_taken(host: Host, home: Path, engine: Engine) -> None:
    write_study(home, "compose")
    taken = "import socket; s = socket.create_server(('127.0.0.1', 8080)); print('taken', flush=True); s.accept()"
    Daemon(host, "taken", ["python3", "-c", taken]).awaits("taken")
    try:
        output = loadstone(host, home, "up", "study.yaml", docker=engine.url, expect=3)
    finally:
        host.run(["python3", "-c", "import socket; socket.create_connection(('127.0.0.1', 8080))"])
    assert "order: port 8080 of the node is taken" in output and "ss -ltnp" in output
    assert ours(engine) == [] and list((home / "own").glob("*.json")) == []


def test_an_engine_without_a_swarm_then_with_one_and_a_registry(host: Host, home: Path, engine: Engine) -> None:
    write_study(home, "swarm")
    output = loadstone(host, home, "run", "study.yaml", docker=engine.url, expect=3)
    assert "is in no swarm" in output and "docker swarm init" in output
    registry = start_registry(host, home)
    write_study(home, "swarm", workers=2)
    engine.api.init_swarm(advertise_addr=host.address)
    try:
        output = loadstone(host, home, "run", "study.yaml", docker=engine.url, expect=3)
        assert "nodes that run replicas: your cluster has 1, the study needs 2" in output
        write_study(home, "swarm", registry=registry)
        output = loadstone(host, home, "up", "study.yaml", docker=engine.url, expect=0)
        assert "http://127.0.0.1:8080" in output
        assert " has " not in output  # a limit that is not in force
        images = {service["Spec"]["TaskTemplate"]["ContainerSpec"]["Image"] for service in engine.api.services()}
        assert len(images) == 2 and all(image.startswith(f"{registry}/") for image in images)
        loadstone(host, home, "down", docker=engine.url, expect=0)
        assert engine.api.services() == [] and engine.api.configs() == []
    finally:
        engine.api.leave_swarm(force=True)


def start_registry(host: Host, home: Path) -> str:
    """A registry on the host, where engines trust the loopback interface without certificates."""
    if shutil.which("docker-registry") is None:
        pytest.skip("docker-registry is not installed")
    configuration = {
        "version": 0.1,
        "storage": {"filesystem": {"rootdirectory": str(home / "registry")}},
        "http": {"addr": "127.0.0.1:5055"},
    }
    (home / "registry.yml").write_text(yaml.safe_dump(configuration))
    registry = Daemon(host, "registry", ["docker-registry", "serve", str(home / "registry.yml")])
    connect = "import socket; socket.create_connection(('127.0.0.1', 5055))"
    while host.run(["python3", "-c", connect]).returncode != 0:
        assert registry.alive(), registry.log()
    return "127.0.0.1:5055/loadstone"


def test_no_engine_at_all(host: Host, home: Path) -> None:
    write_study(home, "compose")
    output = loadstone(host, home, "run", "study.yaml", docker="unix:///run/nothing.sock", expect=3)
    assert "docker: no Docker engine at unix:///run/nothing.sock: there is no such socket" in output
    assert "sudo systemctl start docker" in output


def test_no_permission(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", engine.url)
    existing = Existing(Cluster(infrastructure="existing"), "nobody")
    os.seteuid(UNPRIVILEGED)
    try:
        (found,) = existing.preflight("docker", 0)
    finally:
        os.seteuid(0)
    assert (found.level, found.message) == ("error", f"no permission to use Docker at {engine.url}")
    assert "usermod -aG docker" in found.remedy
