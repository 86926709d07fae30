"""Parts and scales of a study file: what is merged over what, and where a run of each lies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loadstone.experiments import runs, sessions
from loadstone.experiments.plan import Plan, one_plan, read_plans
from loadstone.model.document import Document
from loadstone.model.errors import InputError

STUDY = """\
version: 1
name: both
application: hotel-reservation
load: {rates: [100], slo: {p99: 200ms}, connections: 32}
trial: {duration: 30s, repetitions: 5}
scale: {here: {trial: {duration: 3s}}}
parts:
  - name: connections
    description: by connections
    factors: {load.connections: [4, 16]}
    scale: {here: {factors: {load.connections: [4]}}}
  - name: search
    load: {capacity: {slo: {p99: 200ms}}}
    trial: {repetitions: 1}
    scale:
      here: {load: {capacity: {precision: 50%}}}
"""


def plans(text: str = STUDY, **choice: Any) -> dict[str, Plan]:
    return read_plans(Document(text, "study.yaml"), **choice)


def test_each_part_is_a_study_merged_over_what_is_common() -> None:
    found = plans(scale="paper")
    assert list(found) == ["connections", "search"]
    assert [plan.study.name for plan in found.values()] == ["both-connections", "both-search"]
    assert [own.study.load.connections for own in found["connections"].own] == [4, 16]
    assert found["search"].study.load.kind == "capacity" and found["search"].study.load.connections == 32
    assert [plan.study.trial.repetitions for plan in found.values()] == [5, 1]
    assert found["connections"].study.description == "by connections"


def test_the_scale_is_merged_last_and_is_here_on_this_machine() -> None:
    assert [plan.study.trial.duration for plan in plans(scale="paper").values()] == [30, 30]
    found = plans()
    assert [plan.study.trial.duration for plan in found.values()] == [3, 3]
    assert len(found["connections"].treatments) == 1
    assert found["search"].study.load.capacity is not None and found["search"].study.load.capacity.precision == 0.5
    elsewhere = STUDY.replace(
        "scale: {here", "cluster: {infrastructure: existing}\norchestrator: swarm\nscale: {here", 1
    )
    assert [plan.study.trial.duration for plan in plans(elsewhere).values()] == [30, 30]


def test_overrides_come_after_parts_and_scales() -> None:
    assert [plan.study.trial.duration for plan in plans(overrides=["trial.duration=7s"]).values()] == [7, 7]


def test_one_part_is_chosen_by_its_name() -> None:
    document = Document(STUDY, "study.yaml")
    assert one_plan(document, part="search").study.name == "both-search"
    with pytest.raises(InputError, match=r"study.yaml has parts \(connections, search\); choose one with --part"):
        one_plan(Document(STUDY, "study.yaml"))
    with pytest.raises(InputError, match="--part serch: no such part; did you mean 'search'"):
        plans(only=["serch"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("load.connections: [4, 16]", "load.connections: [0]"),
            "study.yaml:10: parts.0.factors.load.connections.0: 0 is",
        ),
        (("{trial: {duration: 3s}}", "{trial: {duraton: 3s}}"), "study.yaml:6: scale.here.trial.duraton: unknown key"),
        (("precision: 50%", "precision: 90%"), "study.yaml:16: parts.1.scale.here.load.capacity.precision: 90%"),
        (("name: search", "name: connections"), "study.yaml:12: parts.1.name: 'connections' is given twice"),
        (("- name: search", "- nam: search"), "study.yaml:12: parts.1: a part needs a name"),
        (("scale: {here: {factors", "scale: {hre: {factors"), "no scale 'hre'; did you mean 'here'?"),
        (("description: by", "version: 1 #"), "study.yaml:9: parts.0.version: 'version' is of the whole file"),
        (("{trial: {duration: 3s}}", "{scale: {here: {}}}"), "study.yaml:6: scale.here.scale: 'scale' is of the whole"),
        (
            ("{trial: {duration: 3s}}", "{parts: [{name: a}]}"),
            "study.yaml:6: scale.here.parts: 'parts' is of the whole",
        ),
        (
            ("{trial: {duration: 3s}}", "{load: 1}"),
            "study.yaml:11: parts.0.scale.here.factors.load.connections.0: 'load' has no keys",
        ),
    ],
)
def test_what_is_wrong_is_named_at_its_place_in_the_part(change: tuple[str, str], message: str) -> None:
    assert change[0] in STUDY
    with pytest.raises(InputError) as caught:
        plans(STUDY.replace(*change), scale="paper" if "connections: [0]" in change[1] else "here")
    assert message in str(caught.value)


def test_a_scale_of_a_file_without_scales_is_refused() -> None:
    plain = "version: 1\nname: a\napplication: hotel-reservation\nload: {rates: [1], slo: {p99: 1s}}\n"
    assert list(plans(plain)) == [""]
    with pytest.raises(InputError, match=r"--scale here: study\.yaml has no scales"):
        plans(plain, scale="here")
    with pytest.raises(InputError, match="--part a: no such part; the study has no parts"):
        plans(plain, only=["a"])


def begun(folder: Path, *only: str) -> tuple[Path, list[sessions.Session]]:
    (folder / "study.yaml").write_text(STUDY)
    found = sessions.of_study(folder / "results", str(folder / "study.yaml"), ["load.timeout=4s"], only, None)
    return folder / "results", found


def test_the_parts_of_a_run_lie_in_one_folder_and_are_resumed_from_it(tmp_path: Path) -> None:
    results, found = begun(tmp_path)
    first = found[0].create(runs.provenance({}, [], []))
    assert first.name == "connections" and first.parent.parent.name == "both"
    assert runs.name_of(first) == first.parent.name
    assert runs.locate(results, None) == first.parent and runs.locate_one(results, "both") == first
    assert runs.not_begun(first.parent) == ["search"]
    again = sessions.of_run(results, str(first.parent), [], [], None)
    assert [(session.part, session.ledger is None) for session in again] == [("connections", False), ("search", True)]
    second = again[1].create(runs.provenance({}, [], []))
    assert runs.parts_of(first.parent) == [first, second]
    with pytest.raises(InputError, match="has the runs of a study's parts; name one of them"):
        runs.locate_one(results, None)
    (alone,) = sessions.of_run(results, str(second), [], [], None)
    assert alone.ledger is not None and alone.plan.study.name == "both-search"


def test_a_part_that_runs_alone_is_all_that_its_run_has_until_another_is_named(tmp_path: Path) -> None:
    results, (only,) = begun(tmp_path, "search")
    folder = only.create(runs.provenance({}, [], [])).parent
    assert runs.not_begun(folder) == []
    assert [session.part for session in sessions.of_run(results, None, [], [], None)] == ["search"]
    named = sessions.of_run(results, None, [], ["connections"], None)
    assert [(session.part, session.ledger) for session in named] == [("connections", None)]
