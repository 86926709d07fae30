"""Published values: every file says what its numbers are, in words and units that a run has."""

from __future__ import annotations

import csv
import re

import pytest

from loadstone.model import papers
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.study import Settings

CONDITIONS = {
    *Settings.model_fields,
    "application",
    "workers",
    "generators",
    "series",
    "clients",
    "requests",
    "generator",
    "resources",
    "slo.p99",
}


def test_the_papers_are_those_of_the_folder() -> None:
    assert papers.names() == ["atanasov2022", "constantinou2024", "lee", "vanderputten2024", "vinken2022"]


@pytest.mark.parametrize("name", papers.names())
def test_every_row_of_every_table_is_a_published_value(name: str) -> None:
    used: dict[str, set[int]] = {}
    for table in papers.paper(name).tables:
        with (papers.folder() / table.file).open(newline="") as file:
            for number, row in enumerate(csv.DictReader(file)):
                if all(row[column] == text for column, text in table.only.items()):
                    used.setdefault(table.file, set()).add(number)
    for file, rows in used.items():
        with (papers.folder() / file).open(newline="") as lines:
            assert rows == set(range(len(list(csv.DictReader(lines)))))
    assert {file.name for file in papers.folder().glob(f"{name}*.csv")} == set(used)


@pytest.mark.parametrize("name", papers.names())
def test_what_a_value_was_measured_under_is_a_setting_of_studies(name: str) -> None:
    for value in papers.values(name):
        assert {level for level in value.levels if not level.startswith(("load.", "trial."))} <= CONDITIONS
        assert "{" not in value.quantity.replace("{id}", "").replace("{amount}", "")
        assert value.value is not None or value.low is not None or value.high is not None
        assert (value.measure is None) == bool(value.why)


def test_a_breaking_range_has_the_settings_of_its_scenario() -> None:
    off = next(v for v in papers.values("vanderputten2024") if (v.low, v.high) == (1500, 2000))
    assert off.levels == {
        "profile": "paper",
        "resources": "of the profile",
        "slo.p99": "200ms",
        "application": "social-network",
        "orchestrator": "swarm",
        "scaling": "baseline",
        "high_availability": "off",
    }
    assert (off.source, off.quantity, off.unit, off.measure, off.at) == (
        "table 6.2",
        "breaking point",
        "req/s",
        "breaking_point",
        None,
    )


def test_an_end_that_is_not_published_is_open() -> None:
    ends = [(v.low, v.high) for v in papers.values("vanderputten2024") if v.measure == "breaking_point"]
    assert (20000, None) in ends
    assert (None, 500) in ends


def test_counts_become_shares() -> None:
    completed = next(v for v in papers.values("atanasov2022") if v.measure == "completed_share")
    assert completed.value == pytest.approx(100 * 20061 / 24000)
    assert completed.levels["workers"] == "19"


def test_a_column_of_the_table_may_be_the_load() -> None:
    found = [v for v in papers.values("vanderputten2024") if v.measure == "p99"]
    assert [(v.at, v.levels["load.connections"], v.value) for v in found[:3]] == [
        (200, "8", 7.79),
        (200, "8", 7.97),
        (200, "8", 9.29),
    ]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("measure: p99, unit: furlong", "tables.0.unit: 'p99' has another unit than 'furlong'; known: ms, s, us"),
        ("unit: ms", "tables.0.measure: give a measure, or 'why' there is none"),
        ("measure: p99, why: because, unit: ms", "tables.0.measure: give a measure, or 'why' there is none"),
        ("measure: p98, unit: ms", "tables.0.measure: 'p98' is not known here; use"),
    ],
)
def test_a_wrong_table_is_refused(keys: str, message: str) -> None:
    text = f"about: a\nby: b\ntables:\n  - {{file: a.csv, quantity: q, value: {{column: v}}, {keys}}}\n"
    with pytest.raises(InputError, match=re.escape(message)):
        Document(text, "a.yaml").parse(papers.Paper)
