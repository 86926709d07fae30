"""Deviations: what the two scales of a study's file differ in, what ``--set`` changed, what the file states."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from loadstone.model import parts
from loadstone.report import content, deviations
from loadstone.report.deviations import DeviationRow
from tests.synthetic import Synthetic

SCALED = {"here": {"trial": {"duration": "3s"}, "profile": "default"}, "paper": {"profile": "paper"}}


def found(tmp_path: Path, scale: str = "here", reproduces: str | None = "vanderputten2024") -> list[DeviationRow]:
    """The deviations of a run of the part ``rates``, which repeats less here."""
    whole = Synthetic(rates=[100], name="whole").write(tmp_path)
    part = whole.rename(whole.parent / "rates")
    (part.parent / parts.FILE).write_text(json.dumps({"parts": ["first", "rates"], "scale": scale}))
    study = yaml.safe_load((part / "study.yaml").read_text())
    own = {"name": "rates", "scale": {"here": {"trial": {"repetitions": 1}}, "paper": {"trial": {"repetitions": 10}}}}
    document = study | {"scale": SCALED, "parts": [{"name": "first"}, own]}
    (part / "study.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    plan = json.loads((part / "plan.json").read_text())
    plan["study"] |= {"reproduces": reproduces, "deviations": ["the store is another one"]}
    plan["overrides"] = ["load.connections=4"]
    (part / "plan.json").write_text(json.dumps(plan))
    section = deviations.gather(content.gather(part))
    return [row for row, _, _ in section.shown["rows"]] if section is not None else []


def test_the_scales_of_the_file_are_laid_beside_each_other(tmp_path: Path) -> None:
    rows = {row.setting: (row.published, row.here) for row in found(tmp_path) if row.cause == "scale"}
    assert rows == {"profile": ("paper", "default"), "trial.duration": ("5s", "3s"), "trial.repetitions": ("10", "1")}


def test_a_run_as_published_has_only_what_was_set_and_stated(tmp_path: Path) -> None:
    rows = [(row.cause, row.setting, row.here) for row in found(tmp_path, scale="paper") if row.cause != "machine"]
    assert rows == [("--set", "load.connections", "4"), ("stated", "", "the store is another one")]


def test_a_study_that_reproduces_none_has_no_deviations(tmp_path: Path) -> None:
    assert found(tmp_path, reproduces=None) == []
