"""A package outside of Loadstone adds an orchestrator and all below it by entry points alone."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.support.users import User
from tests.support.verdicts import assert_answered

pytestmark = [pytest.mark.system, pytest.mark.servers]

ENTRY_POINTS = """\
[loadstone.infrastructure]
rack = loadstone_lab:Rack
[loadstone.software]
parrot = loadstone_lab:Parrot
[loadstone.transports]
rail = loadstone_lab:Rail
[loadstone.orchestrators]
perch = loadstone_lab:Perch
"""
APPLICATION = """\
name: echo
entry: {service: web, port: http}
services: {web: {tier: frontend, replicas: 2, runs: {stone: hotel/frontend}, ports: {http: 5000}}}
workloads: {get: {operations: {get: {path: /}}}}
default_workload: get
"""
STUDY = """\
version: 1
name: outside
application: ./application.yaml
orchestrator: perch
cluster: {infrastructure: rack, workers: 2}
load: {rates: [50], slo: {p99: 4s}, lateness: 4s, connections: 4}
metrics: off
trial: {warmup: 0s, duration: 2s}
"""


@pytest.fixture
def lab(tmp_path: Path) -> User:
    """A user with the package installed beside Loadstone."""
    site = tmp_path / "site"
    described = site / "loadstone_lab-1.0.dist-info"
    described.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("lab.py"), site / "loadstone_lab.py")
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: loadstone-lab\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(ENTRY_POINTS)
    user = User(tmp_path)
    user.environment |= {"PYTHONPATH": f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    user.environment |= {"LOADSTONE_DATA": str(tmp_path / "data")}
    (tmp_path / "application.yaml").write_text(APPLICATION)
    (tmp_path / "study.yaml").write_text(STUDY)
    return user


def test_a_study_runs_on_what_the_package_adds(lab: User) -> None:
    assert "study.yaml is valid: echo, 1 service" in lab.runs("validate", "study.yaml").stdout
    (treatment,) = json.loads(lab.runs("plan", "study.yaml", "--json").stdout)["treatments"]
    assert (treatment["settings"]["orchestrator"], treatment["settings"]["environment"]) == ("perch", "bare")
    lab.runs("run", "study.yaml")
    (trial,) = lab.home.glob("results/*/*/trials/*")
    rows = json.loads((trial / "audit.json").read_text())
    assert [(row["replica"], row["node"], row["effective"]) for row in rows] == [
        ("web-1", "slot-1", "in slot-1"),
        ("web-2", "slot-2", "in slot-2"),
    ]
    assert_answered(json.loads((trial / "trial.json").read_text())["row"])
    assert json.loads(lab.runs("status", "--json").stdout)["deployments"] == []
    assert list((lab.home / "data").glob("deployments/*")) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("orchestrator: perch", "orchestrator: perk"), "orchestrator: no orchestrator 'perk'; did you mean 'perch'?"),
        (("infrastructure: rack", "infrastructure: rak"), "no infrastructure 'rak'; did you mean 'rack'?"),
        (
            ("infrastructure: rack", "infrastructure: local"),
            "orchestrator 'perch' does not run on infrastructure 'local'",
        ),
        (("orchestrator: perch", "orchestrator: perch\nenvironment: container"), "environment 'container' cannot be"),
        (("workers: 2", "workers: 2, link: {rate: 1Gbit}"), "infrastructure 'rack' does not support this key"),
    ],
)
def test_what_it_cannot_do_is_found_before_anything_starts(lab: User, change: tuple[str, str], message: str) -> None:
    (lab.home / "study.yaml").write_text(STUDY.replace(*change))
    assert message in lab.runs("validate", "study.yaml", expect=2).stderr


def test_its_names_stand_beside_ours(lab: User) -> None:
    help = " ".join(lab.runs("up", "--help").stdout.replace("│", " ").split())
    assert "nomad, perch, process" in help and "namespaces, opentofu, qemu, rack" in help
    (lab.home / "study.yaml").write_text(STUDY.replace("perch", "zzz").replace("rack", "yyy"))
    printed = " ".join(lab.runs("validate", "study.yaml", expect=2).stderr.split())
    assert "known: compose, kubernetes, nomad, perch, process, swarm" in printed
    assert "known: chameleon, cloudlab, existing, hosts, local, namespaces, opentofu, qemu, rack, vagrant" in printed
