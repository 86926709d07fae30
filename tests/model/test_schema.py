"""The JSON Schema that editors check studies by: it takes what Loadstone takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from loadstone.model.document import Document, schema
from loadstone.model.study import Study

STUDIES = Path(__file__).parents[2] / "studies"
PLAIN = "version: 1\nname: a\napplication: hotel-reservation\nload: {rates: [100], slo: {p99: 200ms}}\n"


def problems(document: Document) -> list[Any]:
    return [error.message for error in jsonschema.Draft202012Validator(schema(Study)).iter_errors(document.data)]


@pytest.mark.parametrize("file", sorted(STUDIES.rglob("*.yaml")), ids=lambda file: file.stem)
def test_ready_made_studies_are_valid_in_an_editor(file: Path) -> None:
    if file.parent.name != "published":
        assert problems(Document.read(file)) == []


@pytest.mark.parametrize(
    "key",
    [
        *(
            "proxy: none",
            "delays: off",
            "tasks: off",
            "traces: off",
            "metrics: off",
            "tuning: off",
            "interference: off",
        ),
        *("traces: {sample: 1%}", "traces: {sample: 0.01}", "metrics: {period: 100ms}", "delays: {search: 5ms}"),
        *("stacks: [prometheus, grafana]", "stacks: {jaeger: {node: worker-3}}"),
    ],
)
def test_what_the_reference_names_is_valid_in_an_editor_too(key: str) -> None:
    document = Document(PLAIN + key, "study.yaml")
    document.parse(Study)
    assert problems(document) == []


@pytest.mark.parametrize("key", ["traces: on", "traces: {sample: 2}", "proxy: off", "stacks: prometheus"])
def test_what_is_wrong_there_is_wrong_in_an_editor(key: str) -> None:
    assert problems(Document(PLAIN + key, "study.yaml"))
