"""A compose file like the published one of Hotel Reservation, for every orchestrator of containers.

``golden/*/imported-hotel`` has the files; ``pinned.py`` says how they are written anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from loadstone import plugins
from loadstone.applications import catalogue
from loadstone.infrastructure import images
from loadstone.infrastructure.base import Access
from loadstone.model.deployment import Deployment
from loadstone.model.study import Settings
from loadstone.orchestration import docker
from loadstone.orchestration.resolve import resolve
from tests.orchestration.conftest import deployed, parse
from tests.orchestration.docker_deployments import accepted, nodes
from tests.orchestration.fake_containers import Fake
from tests.orchestration.nomad_program import nomad
from tests.orchestration.pinned import GOLDEN, compare

HOTEL = Path(__file__).parents[1] / "applications" / "compose_files" / "hotel" / "docker-compose.yml"
HOTEL_SERVICES = 24
ORCHESTRATORS = ("compose", "swarm", "nomad", "kubernetes")
UNSET = ("TLS", "GC", "JAEGER_RATIO", "LOG_LEVEL")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the variables that the compose file uses."""
    for name in UNSET:
        monkeypatch.delenv(name, raising=False)


def deployment(orchestrator: str) -> Deployment:
    application = catalogue.load(str(HOTEL)).application
    settings = Settings.model_validate({"orchestrator": orchestrator})
    workers = 1 if orchestrator == "compose" else 2
    return resolve(application, settings, nodes(workers), {}, catalogue.software(), "hotel")


@pytest.mark.parametrize("orchestrator", ORCHESTRATORS)
def test_golden(orchestrator: str) -> None:
    kind = plugins.find("orchestrators", orchestrator)
    compare(f"{orchestrator}/imported-hotel", kind(deployment(orchestrator), Path("/nowhere")).render())


@pytest.mark.parametrize(("orchestrator", "file"), [("compose", "compose.yaml"), ("swarm", "stack.yaml")])
def test_docker_accepts_them(orchestrator: str, file: str) -> None:
    accepted(GOLDEN / orchestrator / "imported-hotel", file)


@pytest.mark.nomad
def test_nomad_accepts_them() -> None:
    files = sorted((GOLDEN / "nomad" / "imported-hotel").iterdir())
    assert len(files) == HOTEL_SERVICES
    for file in files:
        assert "Job validation successful" in nomad("job", "validate", file.name, folder=file.parent)


@pytest.mark.parametrize("orchestrator", ORCHESTRATORS)
def test_every_service_image_and_text_is_in_the_files(orchestrator: str) -> None:
    wanted = deployment(orchestrator)
    assert len(wanted.services()) == HOTEL_SERVICES
    text = "\n".join(plugins.find("orchestrators", orchestrator)(wanted, Path("/nowhere")).render().values())
    for replica in wanted.replicas:
        assert replica.image is not None
        assert replica.service in text
        assert replica.image in text
        for path, content in replica.configs.items():
            assert path in text
            for line in content.splitlines():
                assert line.strip() in text


def test_images_are_started_once_what_they_need_is_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[list[str]] = []
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(images, "reference", lambda what, access: what)
    monkeypatch.setattr(images, "deliver", lambda access, whats, say: {})
    monkeypatch.setattr(Fake, "_create", lambda self, services: made.append(services))
    fake = Fake(deployment("swarm"), tmp_path / "run", Access("docker"))
    awaited: list[set[str]] = []
    monkeypatch.setattr(fake, "_await", lambda wanted, _: awaited.append({replica.service for replica in wanted}))
    fake.apply(stores_only=True)
    assert made == [], "without stores nothing is made before the services"
    fake.apply()
    services = fake.deployment.services()
    assert set(made[-1]) == set(services) and len(made) > 1
    assert awaited == [set(each) for each in made[:-1]], "each group is made once the ones before it are ready"
    for name, (replica, *_) in services.items():
        first = next(number for number, names in enumerate(made) if name in names)
        assert not replica.needs or set(replica.needs) <= awaited[first - 1]


SCRIPT = """\
name: scripted
entry: {service: web, port: http}
default_workload: get
services:
  web:
    tier: frontend
    runs: {image: "nginx:1.25"}
    ports: {http: 80}
    configs: {/run.sh: "#!/bin/sh\\nexec nginx\\n", /etc/web.conf: "listen 80;\\n"}
  idle: {tier: logic, runs: {image: "x/idle:1"}}
workloads:
  get: {operations: {get: {path: /}}}
"""


def rendered(orchestrator: str) -> str:
    kind = plugins.find("orchestrators", orchestrator)
    made = deployed(parse(SCRIPT), nodes(1), orchestrator=orchestrator)
    return "\n".join(text for name, text in kind(made, Path("/nowhere")).render().items() if "configs/" not in name)


def test_scripts_among_configuration_files_can_be_run_as_programs(tmp_path: Path) -> None:
    configs = yaml.safe_load(rendered("swarm"))["services"]["web"]["configs"]
    assert [config.get("mode") for config in configs] == [0o555, None]
    assert rendered("nomad").count('perms       = "555"') == 1
    assert "configMap: {name: web, defaultMode: 365}" in rendered("kubernetes")
    kind = plugins.find("orchestrators", "compose")
    docker.write(kind(deployed(parse(SCRIPT), nodes(1), orchestrator="compose"), tmp_path).render(), tmp_path)
    modes = {file.name: bool(file.stat().st_mode & 0o111) for file in (tmp_path / "configs" / "web").iterdir()}
    assert modes == {"1-run.sh": True, "2-web.conf": False}


def test_a_service_without_ports_has_a_name_on_kubernetes() -> None:
    services = [manifest for manifest in yaml.safe_load_all(rendered("kubernetes")) if manifest["kind"] == "Service"]
    (idle,) = [service for service in services if service["metadata"]["name"] == "idle"]
    assert idle["spec"] == {"clusterIP": "None", "selector": {"loadstone.service": "idle"}}
