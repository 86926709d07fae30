"""Every study of studies/papers is valid, plans what the paper did, and names a paper whose values are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.experiments.plan import Plan, make_plan
from loadstone.model import papers
from loadstone.model.document import Document

FOLDER = Path(__file__).parents[1] / "studies" / "papers"
STUDIES = sorted(FOLDER.glob("*.yaml"))


def plan(name: str, *overrides: str) -> Plan:
    document = Document.read(FOLDER / f"{name}.yaml")
    for assignment in overrides:
        document.override(assignment)
    return make_plan(document)


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_a_study_is_valid_and_reproduces_the_paper_that_it_is_named_for(file: Path) -> None:
    made = plan(file.stem)
    assert made.study.reproduces in papers.names()
    assert made.study.name == file.stem
    assert file.stem.split("-")[0] == made.study.reproduces
    assert made.study.description


def test_every_published_value_of_a_paper_with_studies_has_a_treatment() -> None:
    """Of those that a run can measure: some study, with the overrides that its first lines name, has the settings."""
    overrides: dict[str, list[tuple[str, ...]]] = {
        "atanasov2022": [(), ("cluster.workers=20",)],
        "vanderputten2024-clients": [
            (f"application={application}", f"workload={workload}", f"load.workers={hosts}")
            for application, workload in {
                "social-network": "mixed",
                "media-microservices": "compose-review",
                "hotel-reservation": "mixed",
            }.items()
            for hosts in (1, 2, 3)
        ],
    }
    settings: dict[str, list[dict[str, str]]] = {}
    for file in STUDIES:
        for each in overrides.get(file.stem, [()]):
            made = plan(file.stem, *each)
            about = {
                "application": made.application.name,
                "workers": str(made.study.cluster.workers),
                "generators": str(made.study.load.workers),
            }
            for treatment in made.treatments:
                of = treatment.settings
                levels = {name: str(getattr(of, name)) for name in type(of).model_fields}
                settings.setdefault(str(made.study.reproduces), []).append({**levels, **about})
    for name, there in settings.items():
        missing = [
            value
            for value in papers.values(name)
            if value.measure and not any(value.levels.items() <= each.items() for each in there)
        ]
        assert missing == []


def test_the_scenarios_of_the_first_study_are_four_for_each_orchestrator() -> None:
    for application in ("social", "media", "hotel"):
        made = plan(f"vanderputten2024-{application}")
        scenarios = [(t.settings.scaling, t.settings.high_availability) for t in made.treatments]
        assert sorted(set(scenarios)) == [
            ("baseline", "off"),
            ("baseline", "on"),
            ("horizontal", "on"),
            ("vertical", "on"),
        ]
        assert len(scenarios) == 12


@pytest.mark.parametrize(("rate", "seconds"), [(400, 60), (300, 80), (200, 120), (100, 240)])
def test_the_second_study_sends_as_many_requests_at_each_rate(rate: int, seconds: int) -> None:
    made = plan("atanasov2022-24000", f"load.rates=[{rate}]", f"trial.duration={seconds}s")
    assert made.study.load.rates == [rate]
    assert rate * made.study.trial.duration == 24_000


def test_the_third_study_has_one_node_and_all_seven_splits_over_two() -> None:
    made = plan("constantinou2024")
    names = [str(treatment.settings.placement) for treatment in made.treatments]
    assert sorted(names) == ["FC-LD", "FCD-L", "FD-LC", "FL-CD", "FLC-D", "FLCD", "FLD-C", "LCD-F"]
    assert made.study.load.rates == [100.0 * step for step in range(1, 11)]
    assert made.study.trial.repetitions == 5


def test_the_readme_names_every_paper_and_every_study() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [name for name in papers.names() if f"`{name}`" not in text] == []
    assert [file.name for file in STUDIES if f"]({file.name})" not in text] == []
