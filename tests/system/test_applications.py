"""Social Network on a real swarm of emulated hosts: its API answers as published, and a study of it adds up."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pyarrow.parquet as pq
import pytest
import yaml

from loadstone.applications import catalogue
from tests.orchestration import docker_clusters
from tests.support import applications
from tests.support.audits import complete
from tests.support.users import REPOSITORY, User

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.docker, pytest.mark.timeout(1800)]

NAME = "social-network"


def write_study(user: User) -> None:
    """A study of one short trial, small enough for two cores."""
    application = applications.patient(NAME)
    (user.home / "application.yaml").write_text(yaml.safe_dump(application, sort_keys=False))
    study = docker_clusters.study(
        f"{NAME}-on-swarm",
        "swarm",
        application=str(user.home / "application.yaml"),
        dataset="tiny",
        cluster={"infrastructure": "namespaces", "workers": 1},
        traces={"sample": 1},
        resources=applications.limits(application),
    )
    (user.home / "study.yaml").write_text(yaml.safe_dump(study))
    docker_clusters.require(docker_clusters.plan_of(study))


def conformance(url: str) -> str:
    """What the conformance suite says of the deployment at ``url``."""
    if shutil.which("go") is None:
        pytest.skip("needs Go")
    secret = catalogue.load(NAME).application.services["frontend"].environment["STONE_SECRET"]
    done = subprocess.run(
        ["go", "test", "./apps/social", "-run", "^TestConformance$", "-count=1", "-v", "-timeout=25m"],
        cwd=REPOSITORY / "stone",
        env={**os.environ, "STONE_CONFORMANCE_URL": url, "STONE_SECRET": secret},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_deployment_answers_as_published(cluster_user: User) -> None:
    write_study(cluster_user)
    up = json.loads(cluster_user.runs("up", "study.yaml", "--json").stdout)
    try:
        assert up["replicas"] == len(catalogue.load(NAME).application.services)
        output = conformance(up["url"])
    finally:
        cluster_user.runs("down")
    # An application in the suite's own process would be named by its store: TestConformance/postgres/posting.
    assert "--- PASS: TestConformance/posting " in output and "--- PASS: TestConformance/sessions " in output


def test_a_study_adds_up(cluster_user: User) -> None:
    write_study(cluster_user)
    cluster_user.runs("run", "study.yaml")
    (row,) = cluster_user.rows()
    assert row["verdict"] in ("held", "not held"), row["reasons"]
    (trial,) = cluster_user.home.glob("results/*/*/trials/*")
    checks = json.loads((trial / "checks.json").read_text())
    assert checks and all(check["ok"] for check in checks), checks
    audit = json.loads((trial / "audit.json").read_text())
    assert complete(audit, len(catalogue.load(NAME).application.services))
    observed = json.loads((trial / "observed.json").read_text())
    assert observed["problems"] == []
    assert row["traces"] == observed["traces"]["requests"] > 0 and row["spans_lost"] == 0
    table = pq.read_table(trial / "metrics.parquet")
    seen = zip(table["subject"].to_pylist(), table["metric"].to_pylist(), strict=True)
    counted = {subject for subject, metric in seen if metric == "container_cpu_seconds_total"}
    assert counted == {f"replica:{name}" for name in observed["replicas"]}
