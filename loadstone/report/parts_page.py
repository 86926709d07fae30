"""One page for a study with parts: a section of each, with its answer and its report."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from loadstone.analysis.run import VERDICTS
from loadstone.report import content as contents
from loadstone.report import rendering, sections, sentences
from loadstone.report.content import Content

PARTS = "parts.json"


@dataclass(frozen=True)
class _Section:
    """A part of the study."""

    name: str
    content: Content
    answer: str
    each: list[tuple[str, str]]
    answers: list[str]
    """Of the sections of its report: the comparison, the published values, ..."""
    verdicts: dict[str, int]


def build(folder: Path) -> Path:
    """Write ``report/index.html`` of a run folder whose study has parts; the parts have their reports already."""
    known = json.loads((folder / PARTS).read_text(encoding="utf-8"))
    begun = [name for name in known["parts"] if (folder / name / "plan.json").exists()]
    found = [_section(folder / name, name) for name in begun]
    missing = [name for name in known["parts"] if name not in begun]
    target = folder / "report" / "index.html"
    target.parent.mkdir(exist_ok=True)
    values = {"name": folder.resolve().parent.name, "parts": found, "missing": missing, "scale": known.get("scale")}
    target.write_text(rendering.render("study_parts.html.j2", {}, values), encoding="utf-8")
    return target


def _section(folder: Path, name: str) -> _Section:
    content = contents.gather(folder)
    added, _ = sections.gather(content)
    return _Section(
        name=name,
        content=content,
        answer=sentences.answer(content),
        each=sentences.each_treatment(content),
        answers=[text for section in added for text in section.answers],
        verdicts={verdict: sum(t.count(verdict) for t in content.treatments) for verdict in VERDICTS},
    )
