"""Applications other than Hotel Reservation, for every orchestrator and scaling.

``test_nomad_real.py`` and ``test_kubernetes_real.py`` have their files accepted by real clusters.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from loadstone.model.deployment import Deployment
from tests.orchestration.docker_deployments import SCALINGS, accepted, written
from tests.orchestration.nomad_program import nomad
from tests.orchestration.pinned import compare
from tests.orchestration.rendered import APPLICATIONS, ORCHESTRATORS, SETS, by_service, deployment, files

SERVICES = {"docstore": 2, "media-microservices": 32, "shop": 6, "social-network": 26}
SIGNERS: dict[str, set[str]] = {
    "docstore": set(),
    "media-microservices": {"frontend", "user"},
    "shop": set(),
    "social-network": {"frontend", "user"},
}
"""The services that sign or read tokens: no other gets the secret."""

ALL = """\
import hashlib, json
from tests.orchestration.rendered import ORCHESTRATORS, SETS, deployment, files
whole = {f"{a} {o} {s}": files(deployment(a, o, scaling=s), o) for o in ORCHESTRATORS for a, s in SETS}
print(json.dumps({which: hashlib.sha256(json.dumps(one).encode()).hexdigest() for which, one in whole.items()}))
"""

each = pytest.mark.parametrize("orchestrator", ORCHESTRATORS)
of_each = pytest.mark.parametrize("application", APPLICATIONS)
scaled = pytest.mark.parametrize("scaling", SCALINGS)


def replicas(text: str) -> int:
    """The number of replicas in a service's text."""
    (count,) = re.findall(r"^ *(?:scale|replicas|count)\b\W+(\d+)$", text, re.MULTILINE)
    return int(count)


def neighbours(wanted: Deployment, service: str) -> set[str]:
    """The variables by which a service finds others."""
    (first, *_) = wanted.of(service)
    needs = first.needs if first.stone is not None else ()
    stores = {need for need in needs if need.startswith(("documents-", "postgres-"))}
    documents = {"STONE_DOCUMENTS" for _ in stores}
    others = {need.upper().replace("-", "_") for need in set(needs) - stores}
    return documents | {f"STONE_NEED_{name}" for name in others}


def test_none_is_forgotten() -> None:
    assert set(APPLICATIONS) == set(SERVICES)


@scaled
@each
@of_each
def test_every_service_is_rendered_with_its_replicas_neighbours_and_secrets(
    application: str, orchestrator: str, scaling: str
) -> None:
    wanted = deployment(application, orchestrator, scaling=scaling)
    texts = by_service(wanted, orchestrator)
    assert list(texts) == list(wanted.services()) and len(texts) == SERVICES[application]
    for service, text in texts.items():
        doubled = scaling == "horizontal" and wanted.of(service)[0].stone is not None
        assert replicas(text) == len(wanted.of(service)) == (2 if doubled else 1)
        assert set(re.findall(r"\bSTONE_(?:DOCUMENTS|NEED_\w+)", text)) == neighbours(wanted, service)
    assert {service for service, text in texts.items() if "STONE_SECRET" in text} == SIGNERS[application]
    assert [warning for warning in wanted.warnings if "memory limits" not in warning] == []


def test_the_files_are_the_same_each_time() -> None:
    first, second = (
        subprocess.run(
            [sys.executable, "-c", ALL],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    )
    assert first == second
    assert first.count('": "') == len(SETS) * len(ORCHESTRATORS)


@each
@pytest.mark.parametrize("application", ["docstore", "shop"])
def test_golden(application: str, orchestrator: str) -> None:
    """The applications with tasks, folders of data and entries of their workloads."""
    compare(f"{orchestrator}/{application}-baseline", files(deployment(application, orchestrator), orchestrator))


@each
@of_each
def test_the_published_horizontal_scaling_doubles_stores_too_and_warns(application: str, orchestrator: str) -> None:
    wanted = deployment(application, orchestrator, scaling="horizontal", profile="paper")
    texts = by_service(wanted, orchestrator)
    assert {service: replicas(text) for service, text in texts.items()} == dict.fromkeys(wanted.services(), 2)
    (warning,) = (line for line in wanted.warnings if "document store" in line)
    split, _, why = warning.partition(": ")
    stores = ("documents-", "postgres-", "couchdb")
    assert split.split(", ") == sorted(service for service in texts if service.startswith(stores))
    assert why == "several replicas of a document store that do not know each other; data is split between them"


@pytest.mark.parametrize(("orchestrator", "file"), [("compose", "compose.yaml"), ("swarm", "stack.yaml")])
@pytest.mark.parametrize(("application", "scaling"), SETS)
def test_docker_accepts_them(application: str, scaling: str, orchestrator: str, file: str, tmp_path: Path) -> None:
    wanted = deployment(application, orchestrator, scaling=scaling)
    accepted(written(tmp_path, files(wanted, orchestrator)), file)


@pytest.mark.parametrize(("application", "scaling"), SETS)
@pytest.mark.nomad
def test_nomad_takes_them_and_would_not_lay_them_out_otherwise(application: str, scaling: str, tmp_path: Path) -> None:
    rendered = files(deployment(application, "nomad", scaling=scaling), "nomad")
    written(tmp_path, rendered)
    nomad("fmt", "-check", "-recursive", ".", folder=tmp_path)
    for name in rendered:
        assert "Job validation successful" in nomad("job", "validate", name, folder=tmp_path)
