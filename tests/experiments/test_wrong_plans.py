"""What only the application and the adapters can tell about a study: found before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from loadstone.experiments.plan import make_plan
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from tests.experiments.fakes import APPLICATION, STUDY, write_study
from tests.model.wrong_files import Case, cases
from tests.support.plans import read_plan

TABLE = cases(Path(__file__).with_name("wrong-plans.txt"))


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.name.replace(" ", "-"))
def test_a_wrong_plan_is_answered_with_exactly_these_messages(case: Case) -> None:
    with pytest.raises(InputError) as caught:
        make_plan(Document(case.text, "study.yaml"))
    assert str(caught.value).splitlines() == case.messages
    assert caught.value.exit_code == 2


def test_a_missing_application_file_is_reported_at_its_place_in_the_study(tmp_path: Path) -> None:
    study = write_study(tmp_path)
    (tmp_path / "application.yaml").unlink()
    with pytest.raises(InputError) as caught:
        read_plan(study)
    expected = f"{tmp_path}/application.yaml: cannot be read: No such file or directory"
    assert str(caught.value) == f"{study}:3: application: {expected}"


@pytest.mark.parametrize("key", ["application", "workload", "workloads.w", "load.tls.ca", "interference.application"])
def test_a_name_that_no_file_can_have_is_reported_at_its_place(key: str) -> None:
    name = "a" * 300 + {"workload": ".lua"}.get(key, ".yaml")
    base = f"version: 1\nname: a\napplication: {'x' if key == 'application' else 'hotel-reservation'}\n"
    study = Document(f"{base}load: {{rates: [1], slo: {{p99: 1s}}}}\n", "study.yaml")
    rate = [("interference.rate", 1)] if key.startswith("interference") else []
    for path, value in [(key, name), *rate]:
        study.put(tuple(path.split(".")), value, path)
    with pytest.raises(InputError) as caught:
        make_plan(study)
    assert f"{key}: " in str(caught.value) and name in str(caught.value)


def test_a_mistake_in_the_application_is_named_in_its_own_file(tmp_path: Path) -> None:
    study = write_study(tmp_path)
    (tmp_path / "application.yaml").write_text(APPLICATION.replace("tier: frontend", "tier: backend"))
    with pytest.raises(InputError) as caught:
        read_plan(study)
    assert str(caught.value).startswith(
        f"{tmp_path}/application.yaml:4: services.web.tier: 'backend' is not known here"
    )


def test_processes_run_no_images(tmp_path: Path) -> None:
    study = write_study(tmp_path)
    (tmp_path / "application.yaml").write_text(APPLICATION.replace("{stone: hotel/frontend}", '{image: "nginx:1.25"}'))
    with pytest.raises(InputError) as caught:
        read_plan(study, ["orchestrator=process"])
    message = "orchestrator 'process' cannot run images, which tiny uses (web); choose "
    assert f"--set orchestrator=process: orchestrator: {message}" in str(caught.value)


def test_excluded_treatments_need_no_orchestrator(tmp_path: Path) -> None:
    study = {
        **yaml.safe_load(STUDY),
        "cluster": {"infrastructure": "namespaces"},
        "factors": {"orchestrator": ["swarm", "compose"], "high_availability": ["on", "off"]},
    }
    write_study(tmp_path, yaml.safe_dump(study))
    with pytest.raises(InputError, match="high_availability 'on' cannot be expressed by orchestrator 'compose'"):
        read_plan(tmp_path / "study.yaml")
    study["except"] = [{"orchestrator": "compose", "high_availability": "on"}]
    write_study(tmp_path, yaml.safe_dump(study))
    assert len(read_plan(tmp_path / "study.yaml")[1].treatments) == 3
