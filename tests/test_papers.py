"""Every study of studies/papers is valid at both scales, short at `here`, and plans what the paper did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loadstone.analysis.published.matching import planned_conditions
from loadstone.experiments import durations, schedule
from loadstone.experiments.plan import Plan, read_plans
from loadstone.model import papers
from loadstone.model.document import Document
from loadstone.model.parts import SCALES
from loadstone.model.records.run_files import PlanFile

FOLDER = Path(__file__).parents[1] / "studies" / "papers"
STUDIES = sorted(FOLDER.glob("*.yaml"))
LONGEST_HERE_S = 30 * 60


def plans(name: str, scale: str = "paper") -> dict[str, Plan]:
    return read_plans(Document.read(FOLDER / f"{name}.yaml"), scale=scale)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_every_part_is_valid_and_reproduces_the_paper_that_it_is_named_for(file: Path, scale: str) -> None:
    for part, made in plans(file.stem, scale).items():
        assert made.study.reproduces == file.stem
        assert made.study.reproduces in papers.names()
        assert made.study.name == f"{file.stem}-{part}"
        assert made.study.description


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_a_whole_pass_on_this_machine_takes_half_an_hour_at_most(file: Path) -> None:
    made = plans(file.stem, "here").values()
    assert sum(schedule.remaining(plan, []) * (durations.trial_seconds(plan) or 0.0) for plan in made) <= LONGEST_HERE_S


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_here_is_any_machine_virtual_or_not(file: Path) -> None:
    """An environment that the study names would be refused on machines of the other kind."""
    for plan in plans(file.stem, "here").values():
        assert not any(plan.of(treatment).study.names_environment for treatment in plan.treatments)


def test_the_environments_of_the_fifth_study_are_audited() -> None:
    found = plans("vinken2022")
    levels = {part: {t.settings.environment for t in made.treatments} for part, made in found.items()}
    assert levels["accuracy-large"] == levels["accuracy-small"] == {"bare"}
    assert levels["environments"] == {"bare", "container", "vm"}


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_every_published_value_has_a_treatment_or_a_reason(file: Path) -> None:
    """Some treatment has all settings of each value that a run can measure, and the load where that is given."""
    there = [treatment for plan in plans(file.stem).values() for treatment in _conditions(plan)]
    missing = [
        value
        for value in papers.values(file.stem)
        if value.measure
        and _unmet(file.stem, value) is None
        and not any(
            value.levels.items()
            <= (levels | {name: value.levels.get(name) for name in ("clients", "generator")}).items()
            and (not isinstance(value.at, float) or value.at in loads)
            and value.levels.get("clients") in {None, *clients}
            for levels, loads, clients in there
        )
    ]
    assert [(value.quantity, value.at, value.levels) for value in missing] == []


def _unmet(name: str, value: papers.Published) -> str | None:
    """Why no part of the paper's file can meet a value."""
    if value.levels.get("environment") == "vm-container":
        return "containers in virtual machines need machines that are virtual already: a study of their own"
    return None


def _conditions(plan: Plan) -> list[tuple[dict[str, str | None], list[float], list[str]]]:
    """The settings of each treatment, as the report has them; the rates, or the iterations; and the clients."""
    written = PlanFile.model_validate(json.loads(json.dumps(plan.as_data())))
    found = []
    for treatment, own in zip(plan.treatments, plan.own, strict=True):
        study = written.study_of(treatment.id)
        assert study is not None
        settings = planned_conditions(written.treatment(treatment.id), study) | treatment.levels
        closed = own.study.load.closed
        loads = own.study.load.rates or [float(n + 1) for n in range(closed.iterations if closed is not None else 0)]
        clients = [str(number) for number in closed.clients] if closed is not None else []
        found.append((settings | {"application": treatment.application}, loads, clients))
    return found


def test_the_scenarios_of_the_first_study_are_four_for_each_application_and_orchestrator() -> None:
    made = plans("vanderputten2024")
    for part in ("curves", "breaking-points"):
        scenarios = {
            (t.application, t.settings.orchestrator, t.settings.scaling, t.settings.high_availability)
            for t in made[part].treatments
        }
        assert len(scenarios) == len(made[part].treatments) == 3 * 3 * 4
        assert {each[2:] for each in scenarios} == {
            ("baseline", "off"),
            ("baseline", "on"),
            ("horizontal", "on"),
            ("vertical", "on"),
        }


def test_the_second_study_sends_as_many_requests_at_each_rate() -> None:
    made = plans("atanasov2022")
    for part, requests in (("thousand-requests", 1_000), ("requests-24000", 24_000)):
        loads = [(own.study.load.rates or [], own.study.trial.duration) for own in made[part].own]
        assert len(loads) == 4
        assert [rate * duration for (rate,), duration in loads] == [requests] * 4


def test_the_third_study_has_one_node_by_compose_and_all_seven_splits_over_two_by_swarm() -> None:
    made = plans("constantinou2024")["placements"]
    orchestrators = {t.levels["placement"]: t.settings.orchestrator for t in made.treatments}
    assert orchestrators.pop("FLCD") == "compose"
    assert sorted(orchestrators) == ["FC-LD", "FD-LC", "FDC-L", "FL-DC", "FLC-D", "FLD-C", "LDC-F"]
    assert set(orchestrators.values()) == {"swarm"}
    assert made.study.load.rates == [100.0 * step for step in range(1, 11)]
    assert made.study.trial.repetitions == 5


def test_the_readme_names_every_paper_and_every_study() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [name for name in papers.names() if f"`{name}`" not in text] == []
    assert [file.name for file in STUDIES if f"]({file.name})" not in text] == []
