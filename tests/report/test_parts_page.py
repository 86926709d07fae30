"""The page of a study with parts: a section of each part, with its answer, its claims and the way to its report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from loadstone.model.errors import InputError
from loadstone.report import page, parts_page
from tests.synthetic import Synthetic


def test_it_has_a_section_of_each_part_that_was_begun(tmp_path: Path) -> None:
    run = tmp_path / "results" / "both" / "20260102-030405"
    run.mkdir(parents=True)
    claim = {"text": "more is more", "measure": "p99", "at": 100, "between": [0, 1000]}
    for name, synthetic in (
        ("rates", Synthetic(rates=[100, 200], repetitions=2)),
        ("scaling", Synthetic({"baseline": 400.0, "vertical": 800.0}, rates=[100], repetitions=2)),
    ):
        synthetic.write(tmp_path / name).rename(run / name)
        plan = json.loads((run / name / "plan.json").read_text())
        plan["study"] |= {"description": f"question of {name}", "claims": [claim]}
        (run / name / "plan.json").write_text(json.dumps(plan))
    (run / "parts.json").write_text(json.dumps({"parts": ["rates", "missing", "scaling"], "scale": "here"}))
    made = parts_page.build(run)
    text = made.read_text()
    assert made == run / "report" / "index.html"
    assert "<h1>both</h1>" in text and "2 parts, at scale here; not run: missing" in text
    for name in ("rates", "scaling"):
        assert f'<section id="{name}">' in text and f"question of {name}" in text
        assert f'href="../{name}/report/index.html"' in text
    assert text.count("Of 1 claim: <strong>1 confirmed</strong>.") == 2
    assert "scaling=vertical" in text


def test_each_part_has_the_figures_that_lead_its_report(tmp_path: Path) -> None:
    run = tmp_path / "results" / "both" / "20260102-030405"
    run.mkdir(parents=True)
    for name in ("first", "second"):
        Synthetic(rates=[100, 200], repetitions=2).write(tmp_path / name).rename(run / name)
    page.build(run / "first")
    (run / "parts.json").write_text(json.dumps({"parts": ["first", "second"]}))
    text = parts_page.build(run).read_text()
    first, second = text.split('<section id="second">')
    assert "P99 against offered load" in first and 'class="first-latency"' in first
    assert "<figure" not in second, "its report has not been written"
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))


def test_published_values_that_no_part_met_are_named_once(tmp_path: Path) -> None:
    run = tmp_path / "results" / "both" / "20260102-030405"
    run.mkdir(parents=True)
    for name in ("first", "second"):
        Synthetic(rates=[100], repetitions=2).write(tmp_path / name).rename(run / name)
        plan = json.loads((run / name / "plan.json").read_text())
        plan["study"] |= {"reproduces": "lee"}
        (run / name / "plan.json").write_text(json.dumps(plan))
    (run / "parts.json").write_text(json.dumps({"parts": ["first", "second"]}))
    text = parts_page.build(run).read_text()
    (place,) = [match.start() for match in re.finditer("none of the .* published values", text)]
    assert place < text.index('<section id="first">')


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ('{"chosen": []}', "lists no parts"),
        ('{"parts": 7}', "lists no parts"),
        ("[", "cannot be read"),
    ],
)
def test_a_damaged_list_of_parts_is_a_message(tmp_path: Path, content: str, what: str) -> None:
    (tmp_path / "parts.json").write_text(content)
    with pytest.raises(InputError, match=rf"parts\.json {what}.*; restore it from a copy of the run"):
        parts_page.build(tmp_path)
