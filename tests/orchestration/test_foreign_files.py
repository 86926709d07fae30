"""Compose files as they are in the world: right on every orchestrator of containers, and accepted by its validator.

``test_kubernetes_real.py`` has Kubernetes' own answer, ``tests/applications/test_shop_import_real.py`` runs the shop.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from loadstone.applications import catalogue
from loadstone.orchestration.nomad import fixed_ports
from tests.orchestration.docker_deployments import accepted, written
from tests.orchestration.foreign_files import constructs, deployment, socks
from tests.orchestration.nomad_program import nomad
from tests.orchestration.rendered import files

ORCHESTRATORS = ("compose", "swarm", "nomad", "kubernetes")


@pytest.fixture
def every_construct(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.delenv("VERSION", raising=False)
    return str(constructs(tmp_path / "project"))


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MYSQL_ROOT_PASSWORD", "anything")
    return socks(tmp_path / "project")


@pytest.mark.parametrize("orchestrator", ORCHESTRATORS)
def test_nothing_of_the_host_and_no_secret_is_rendered(orchestrator: str, every_construct: str) -> None:
    text = json.dumps(files(deployment(every_construct, orchestrator), orchestrator))
    for left_out in ("host/proc", "resolv.conf", "docker.sock", "PRIVATE KEY", "rslave", "locust"):
        assert left_out not in text
    for carried in ("nginx:1.25", "exit 0", "PUBLIC KEY", "127.0.0.11", "createdb", "/var/lib/mysql"):
        assert carried in text or (orchestrator, carried) == ("nomad", "/var/lib/mysql")  # in its container's layer


@pytest.mark.parametrize("orchestrator", ["compose", "swarm"])
@pytest.mark.parametrize("file", ["every_construct", "shop"])
def test_docker_accepts_it(orchestrator: str, file: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    rendered = files(deployment(request.getfixturevalue(file), orchestrator), orchestrator)
    accepted(written(tmp_path / "rendered", rendered), next(iter(rendered)))


@pytest.mark.nomad
@pytest.mark.parametrize("file", ["every_construct", "shop"])
def test_nomad_accepts_it(file: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    wanted = deployment(request.getfixturevalue(file), "nomad")
    rendered = files(wanted, "nomad")
    assert len(rendered) == len(wanted.services())
    written(tmp_path / "rendered", rendered)
    for name in rendered:
        assert "Job validation successful" in nomad("job", "validate", name, folder=tmp_path / "rendered")


@pytest.mark.parametrize("orchestrator", ORCHESTRATORS)
def test_horizontal_scaling_doubles_no_database_broker_or_registry(orchestrator: str, every_construct: str) -> None:
    services = deployment(every_construct, orchestrator, scaling="horizontal").services()
    assert {name for name, replicas in services.items() if len(replicas) == 2} == {"web", "idle"}


def test_plain_values_are_names_that_nomad_resolves(every_construct: str) -> None:
    wanted = deployment(every_construct, "nomad")
    assert set(wanted.of("web")[0].needs) == {"setup", "cache", "broker", "idle", "registry"}
    text = files(wanted, "nomad")["web.nomad.hcl"]
    for name in ("cache", "broker", "registry"):
        assert f"{{{{ .Address }}}} {name}\\n" in text or f"{{{{ .Address }}}} {name}\n" in text


def test_services_without_ports_have_names_on_kubernetes(every_construct: str) -> None:
    rendered = files(deployment(every_construct, "kubernetes"), "kubernetes")
    for name in ("idle", "setup"):
        (found,) = [each for each in yaml.safe_load_all(rendered[f"services/{name}.yaml"]) if each["kind"] == "Service"]
        assert (found["metadata"]["name"], found["spec"]["clusterIP"]) == (name, "None")


def test_more_services_with_one_port_than_nodes_are_refused_on_nomad(shop: str) -> None:
    wanted = deployment(shop, "nomad", scaling="horizontal")
    (found,) = fixed_ports.findings(wanted)
    assert found.level == "error"
    assert found.message == (
        "catalogue, carts: 4 replicas with port 8080 need as many nodes, as others find them by that number;"
        " they may use 3"
    )
    assert list(fixed_ports.findings(deployment(shop, "nomad"))) == []


SPOILING = """\
user-sim: generates load of its own during trials
queue-master.volumes.0: not carried: /var/run/docker.sock is this host's own
edge-router.volumes.0: /etc/nginx/nginx.conf names 127.0.0.11, Docker's own name server
catalogue-db: deployed anew before each trial
carts-db: deployed anew before each trial
rabbitmq: deployed anew before each trial
session-db: deployed anew before each trial
catalogue-db.environment.MYSQL_ROOT_PASSWORD: MYSQL_ROOT_PASSWORD is taken from this shell
edge-router: guessed: needs catalogue, carts
orders: guessed: needs carts, rabbitmq
"""


def test_the_shop_is_imported_as_it_is_and_what_would_spoil_a_trial_is_reported(shop: str) -> None:
    loaded = catalogue.load(shop)
    application = loaded.application
    assert (application.entry.service, application.entry.port) == ("edge-router", "port-8000")
    reported = [str(note).partition("services.")[2] for note in loaded.notes]
    for line in SPOILING.splitlines():
        assert [text for text in reported if text.startswith(line)], (line, reported)
    tiers = {name: service.tier for name, service in application.services.items()}
    assert {name for name, tier in tiers.items() if tier in ("storage", "caching")} == {
        "catalogue-db", "carts-db", "rabbitmq", "session-db",
    }  # fmt: skip
    ports = {name: sorted(service.ports.values()) for name, service in application.services.items()}
    assert (ports["front-end"], ports["carts"], ports["catalogue-db"]) == ([8079], [8080], [3306])
    assert set(application.services["edge-router"].needs) == {"front-end", "carts", "catalogue"}
