"""Claims about levels that no treatment has are refused with the levels that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.experiments.claim_levels import refuse_untestable
from loadstone.experiments.plan import read_plans
from loadstone.model.document import Document
from loadstone.model.errors import InputError

HEAD = """version: 1
name: a
application: hotel-reservation
load: {rates: [100], slo: {p99: 200ms}}
"""
FACTORS = """factors:
  scaling: [baseline, vertical]
  small: [{name: few, load.connections: 8}, {name: many, load.connections: 80}]
"""


def problems(text: str) -> list[str]:
    try:
        read_plans(Document(text, "study.yaml"))
    except InputError as error:
        return [str(problem) for problem in error.problems]
    return []


def test_a_level_that_no_treatment_has_is_refused() -> None:
    claims = """claims:
  - {text: a, measure: p99, of: {scaling: horizontal}, above: {scaling: baseline}}
  - {text: b, measure: p99, of: {small: few}, below: {load.connections: 81, scaling: vertical}}
"""
    assert problems(HEAD + FACTORS + claims) == [
        "study.yaml:9: claims.0.of.scaling: 'horizontal' is not a level of 'scaling' in any treatment; "
        "there are: baseline, vertical",
        "study.yaml:10: claims.1.below.load.connections: 81 is not a level of 'load.connections' in any treatment; "
        "there are: 8, 80",
    ]


def test_a_setting_of_all_treatments_has_one_level() -> None:
    fixed = "scaling: vertical\nclaims:\n  - {text: a, measure: p99, of: {scaling: baseline}, between: [1, 2]}\n"
    assert problems(HEAD + fixed) == [
        "study.yaml:7: claims.0.of.scaling: 'baseline' is not a level of 'scaling' in any treatment; "
        "there are: vertical"
    ]


def test_a_claim_may_be_about_another_scale_or_another_part() -> None:
    parts = """parts:
  - name: one
    factors: {scaling: [baseline, vertical]}
    scale: {here: {factors: {scaling: [baseline, unlimited]}}}
    claims: [{text: a, measure: p99, of: {scaling: %s}, between: [1, 2]}]
  - name: two
    factors: {scaling: [baseline, horizontal]}
"""
    assert problems(HEAD + parts % "vertical") == []
    (found,) = problems(HEAD + parts % "horizontal")
    assert found.startswith("study.yaml:9: parts.0.claims.0.of.scaling: 'horizontal' is not a level")
    above = "claims: [{text: a, measure: p99, of: {scaling: %s}, between: [1, 2]}]\n"
    assert problems(HEAD + above % "horizontal" + parts % "vertical") == []
    assert problems(HEAD + above % "no" + parts % "vertical")


@pytest.mark.parametrize("file", sorted(Path("studies/papers").glob("*.yaml")), ids=lambda file: file.stem)
def test_claims_of_our_own_studies_are_about_their_treatments(file: Path) -> None:
    refuse_untestable(Document.read(file))
