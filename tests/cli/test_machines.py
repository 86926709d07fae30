"""What the command line says of machines that are made for a study: before it, meanwhile, and in their files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from loadstone.infrastructure.base import Terms
from loadstone.infrastructure.cloud import held
from loadstone.model.instances import Instances
from tests.cli.conftest import RunCommand
from tests.support.openstack_cloud import OpenStackCloud, openstack_cloud

pytestmark = pytest.mark.servers

STUDY = """\
version: 1
name: elsewhere
application: hotel-reservation
cluster:
  infrastructure: chameleon
  workers: 3
  instances: {site: chi, type: compute_cascadelake_r, hold: 2h}
factors: {orchestrator: [swarm], high_availability: ["on", "off"]}
load: {rates: [10], slo: {p99: 1s}}
trial: {warmup: 10s, duration: 50s, repetitions: 6}
"""


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenStackCloud]:
    with openstack_cloud() as made:
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(made.clouds_yaml(tmp_path)))
        (tmp_path / "study.yaml").write_text(STUDY)
        yield made


def test_plan_tells_machines_and_cost_and_requests_none(say: RunCommand, cloud: OpenStackCloud) -> None:
    code, text, _ = say("plan", "study.yaml", "--cost")
    assert code == 0 and "7 machines (compute_cascadelake_r at chi): about " in text and " SU" in text
    code, text, _ = say("plan", "study.yaml", "--cost", "--json")
    machines = json.loads(text)["machines"]
    assert code == 0 and machines["machines"] == 7 and machines["held_s"] == 7200
    assert machines["cost"] == pytest.approx(machines["machine_hours"]) and machines["machine_hours"] > 3.5
    assert cloud.held() == [] and not [call for call in cloud.calls if call[0] == "POST" and "auth" not in call[1]]


def test_plan_tells_that_nothing_is_made(say: RunCommand, tmp_path: Path) -> None:
    text = "version: 1\nname: here\napplication: hotel-reservation\nload: {rates: [10], slo: {p99: 1s}}\n"
    (tmp_path / "study.yaml").write_text(text)
    code, text, _ = say("plan", "study.yaml", "--cost")
    assert code == 0 and "no machines are made for it" in text
    code, text, _ = say("plan", "study.yaml", "--cost", "--json")
    assert code == 0 and json.loads(text)["machines"] is None


@pytest.mark.parametrize(("hold", "warned"), [("40m", True), ("6h", False)])
def test_a_lease_that_ends_before_the_study_is_a_warning(
    say: RunCommand, cloud: OpenStackCloud, hold: str, warned: bool, tmp_path: Path
) -> None:
    (tmp_path / "study.yaml").write_text(STUDY.replace("hold: 2h", f"hold: {hold}"))
    cloud.instances = 20
    _, text, _ = say("doctor", "study.yaml", "--json")
    found = {each["what"]: each for each in json.loads(text.partition("\nerror")[0])}
    assert ("lease" in found) == warned
    assert found["chameleon"]["message"] == "5 machines would be made in project loadstone-test at chi (RegionOne)"
    if warned:
        assert found["lease"]["level"] == "warning" and "machines are held for 40m, but" in found["lease"]["message"]
        assert "instances.hold" in found["lease"]["remedy"]


def test_a_quota_that_is_too_small_ends_before_anything_starts(say: RunCommand, cloud: OpenStackCloud) -> None:
    cloud.instances = 4
    code, _, complaint = say("run", "study.yaml")
    assert code == 3 and "7 instances are needed, the project has 4 left" in complaint
    assert cloud.held() == []


def test_status_lists_what_is_held(say: RunCommand) -> None:
    now = datetime.now(UTC)
    terms = Terms(2, "m1.large at chi", 3600, 0.5, "EUR")
    made = held.begin(terms, "project p at chi", Instances(), now + timedelta(hours=1))
    made = made.model_copy(update={"since": now - timedelta(hours=3), "machines": ["client-1", "worker-1"]})
    held.save("one-machines", "chameleon", made)
    held.save("two-machines", "chameleon", made.model_copy(update={"ready": True, "until": now - timedelta(hours=1)}))
    code, text, _ = say("status")
    first, second = (line for line in text.replace("\n ", " ").splitlines() if "-machines: " in line)
    assert code == 0 and "2 machines (m1.large at chi, project p at chi): requested, not yet confirmed" in first
    assert "3.00 EUR so far" in first and "loadstone down one-machines" in first
    assert "in use, the lease ended" in second
    code, text, _ = say("status", "--json")
    assert json.loads(text)["machines"]["one-machines"]["cost"] == "3.00 EUR"


def test_keeping_machines_that_nothing_makes_is_refused(say: RunCommand, tmp_path: Path) -> None:
    text = "version: 1\nname: here\napplication: hotel-reservation\nload: {rates: [10], slo: {p99: 1s}}\n"
    (tmp_path / "study.yaml").write_text(text)
    code, _, complaint = say("run", "study.yaml", "--keep")
    assert code == 2 and "infrastructure local makes no machines" in complaint


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "cluster: {infrastructure: chameleon}",
            "infrastructure 'chameleon' needs it; write cluster: {instances: {type",
        ),
        ("cluster: {infrastructure: opentofu, instances: {type: x}}", "needs it; write cluster: {instances: {site"),
        ("cluster: {infrastructure: cloudlab}", "needs the manifest of your experiment"),
        (
            "cluster: {infrastructure: hosts, hosts: [a], instances: {}}",
            "infrastructure 'hosts' does not support this key",
        ),
        ("cluster: {infrastructure: vagrant, instances: {price: cheap}}", "an amount and its currency"),
    ],
)
def test_a_study_that_lacks_what_its_machines_need_is_refused(
    say: RunCommand, tmp_path: Path, lines: str, message: str
) -> None:
    text = f"version: 1\nname: here\napplication: hotel-reservation\nload: {{rates: [10], slo: {{p99: 1s}}}}\n{lines}\n"
    (tmp_path / "study.yaml").write_text(text)
    code, _, complaint = say("validate", "study.yaml")
    assert code == 2 and message in " ".join(complaint.split()), complaint


@pytest.mark.parametrize(
    ("tool", "files"),
    [
        ("vagrant", {"Vagrantfile", "hosts.yaml", "README.md"}),
        ("cloudlab", {"request.rspec", "README.md"}),
        ("opentofu", {"main.tf", "terraform.tfvars.json", "README.md"}),
    ],
)
def test_files_that_make_the_machines_of_a_study_are_rendered(
    say: RunCommand, tmp_path: Path, tool: str, files: set[str]
) -> None:
    text = "version: 1\nname: here\napplication: hotel-reservation\nload: {rates: [10], slo: {p99: 1s}}\n"
    (tmp_path / "study.yaml").write_text(f"{text}cluster: {{infrastructure: namespaces, workers: 2}}\n")
    settings = ("--set", "cluster.instances.type=ccx23", "--set", "cluster.instances.site=hcloud")
    given = settings if tool == "opentofu" else ()
    code, _, complaint = say("render", "study.yaml", "--infrastructure", tool, "-o", "files", *given)
    assert code == 0, complaint
    assert {file.name for file in (tmp_path / "files").iterdir()} == files
    assert any("worker-2" in file.read_text() for file in (tmp_path / "files").iterdir())
