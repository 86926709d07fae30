"""The page of a study with parts: a section of each part, with its answer, its claims and the way to its report."""

from __future__ import annotations

import json
from pathlib import Path

from loadstone.report import parts_page
from tests.synthetic import Synthetic


def test_it_has_a_section_of_each_part_that_was_begun(tmp_path: Path) -> None:
    run = tmp_path / "results" / "both" / "20260102-030405"
    run.mkdir(parents=True)
    claim = {"text": "more is more", "measure": "p99", "at": 100, "between": [0, 1000]}
    for name, made in (
        ("rates", Synthetic(rates=[100, 200], repetitions=2)),
        ("scaling", Synthetic({"baseline": 400.0, "vertical": 800.0}, rates=[100], repetitions=2)),
    ):
        made.write(tmp_path / name).rename(run / name)
        plan = json.loads((run / name / "plan.json").read_text())
        plan["study"] |= {"description": f"question of {name}", "claims": [claim]}
        (run / name / "plan.json").write_text(json.dumps(plan))
    (run / "parts.json").write_text(json.dumps({"parts": ["rates", "missing", "scaling"], "scale": "here"}))
    page = parts_page.build(run)
    text = page.read_text()
    assert page == run / "report" / "index.html"
    assert "<h1>both</h1>" in text and "2 parts, at scale here; not run: missing" in text
    for name in ("rates", "scaling"):
        assert f'<section id="{name}">' in text and f"question of {name}" in text
        assert f'href="../{name}/report/index.html"' in text
    assert text.count("Of 1 claim: <strong>1 confirmed</strong>.") == 2
    assert "scaling=vertical" in text
