"""What is suggested in place of another tool's keys is a study that is valid."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loadstone.experiments.plan import make_plan
from loadstone.model.document import Document
from loadstone.model.hints import of_key

STUDY = """version: 1
name: a
application: hotel-reservation
load: {rates: [100], slo: {p99: 200ms}}
trial: {duration: 10s}
"""
SUGGESTED = re.compile(r"((?:load|trial)[a-z.]*): ((?:\[[^]]*\])|(?:\{.*?\}))(?=$|[; ,])")


@pytest.mark.parametrize("key", ["vus", "stages", "iterations", "requests", "duration", "warmup", "repetitions"])
def test_a_suggestion_is_valid_where_it_is_followed(key: str) -> None:
    suggestions = SUGGESTED.findall(of_key(("load", key)) or "")
    assert suggestions
    for place, value in suggestions:
        document = Document(STUDY, Path("study.yaml"))
        if place == "load.closed":
            document.override("load={slo: {p99: 200ms}}")
        if "requests" in value:
            document.override("trial={}")
        document.override(f"{place}={value}")
        make_plan(document)
