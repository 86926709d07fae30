"""Tunings as studies write them, and what becomes of them in labels, ids and plans."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from loadstone.model import factors
from loadstone.model.document import Document
from loadstone.model.study import Settings
from loadstone.model.trial import Treatment
from loadstone.model.tuning import Bounds, Tuning
from loadstone.model.units import format_frequency, frequency

STUDY = """\
version: 1
name: hosts
application: hotel-reservation
factors:
  tuning: [off, {governor: performance, turbo: off, cstates: [POLL, C1]}, {frequency: {max: 2.2GHz}, smt: false}]
load: {rates: [100], slo: {p99: 200ms}}
"""


def test_a_factor_of_tunings() -> None:
    document = Document(STUDY, "study.yaml")
    tunings = [varied.study.tuning for varied in factors.resolve(document, factors.common(document))]
    assert tunings[0] is None
    labels = [str(tuning) for tuning in tunings[1:]]
    assert labels == ["governor:performance,turbo:off,cstates:POLL+C1", "frequency:-2.2GHz,smt:off"]
    assert tunings[2] is not None and tunings[2].frequency == Bounds(max=2_200_000_000)


def treatment(tuning: Any) -> Treatment:
    settings = Settings.model_validate({"tuning": tuning})
    levels = {"tuning": factors.called("tuning", tuning, settings)}
    return Treatment(application="a", application_digest="b", settings=settings, levels=levels)


def test_a_tuning_is_part_of_what_a_treatment_is() -> None:
    levels = [
        treatment(tuning) for tuning in (None, {"thp": "never"}, {"thp": "always"}, {"cstates": {"latency": 0.0}})
    ]
    assert len({level.id for level in levels}) == 4
    assert treatment("off").id == levels[0].id
    assert [level.label for level in levels] == [
        "tuning=none",
        "tuning=thp:never",
        "tuning=thp:always",
        "tuning=cstates:0s",
    ]
    assert "tuning" not in levels[0].model_dump(mode="json", exclude_none=True)["settings"]  # ids of before stay


@pytest.mark.parametrize(("expected", "meant"), [(True, "on"), (False, "off"), ("on", "on"), ("off", "off")])
def test_switches_in_the_words_of_other_yaml(expected: Any, meant: str) -> None:
    assert Tuning.model_validate({"turbo": expected}).turbo == meant


def test_a_plan_reads_back_what_it_wrote() -> None:
    given = {"frequency": "2.2GHz", "uncore": {"min": "1.2GHz"}, "cstates": {"latency": "10us"}, "irqs": [0, 3]}
    tuning = Tuning.model_validate(given, context={"file": "study.yaml"})
    written = json.loads(tuning.model_dump_json(exclude_none=True))
    assert written["frequency"] == {"min": "2.2GHz", "max": "2.2GHz"}
    assert str(Tuning.model_validate(written, context={"file": "plan.json"})) == str(tuning)
    assert str(tuning) == "frequency:2.2GHz,cstates:0.01ms,uncore:1.2GHz-,irqs:0+3"


@given(st.integers(100_000, 10_000_000))
def test_frequencies_are_exact_to_a_kilohertz(kilohertz: int) -> None:
    assert frequency(format_frequency(kilohertz * 1000)) == kilohertz * 1000


@pytest.mark.parametrize("wrong", ["2.2", "2.2 ghz", "GHz", "99MHz", "10.1GHz", 2.2, True, None])
def test_what_is_no_frequency(wrong: Any) -> None:
    with pytest.raises(ValidationError):
        Bounds.model_validate({"min": wrong}, context={"file": "a"})
