"""One page for a study with parts: a section of each, with its answer and its report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from loadstone.analysis.run import VERDICTS, read_parts
from loadstone.report import content as contents
from loadstone.report import rendering, sections, sentences
from loadstone.report.content import Content
from loadstone.report.figures.kinds import KINDS, Kind
from loadstone.report.inline import inline
from loadstone.report.section import Section

MOST_FIGURES = 4
"""Most figures of a part that are shown: its report has them all."""
_OWN = ("breaking-bars", "hold", "grid-mean", "latency", "mean-latency", "throughput")
"""Figures of the run itself that answer the question, the most telling first."""
_LONG = ("comparison",)
"""Sections whose figure has a row for every operation and span: as long as a page."""


@dataclass(frozen=True)
class _Section:
    """A part of the study."""

    name: str
    content: Content
    answer: str
    each: list[tuple[str, str]]
    answers: list[str]
    """Answers of the sections of its report: the comparison, the claims, ..."""
    published: list[str]
    """Answers of the section that lays the published values beside it."""
    figures: list[tuple[str, Markup]]
    """Titles, and the figures that its report leads with."""
    verdicts: dict[str, int]


def build(folder: Path) -> Path:
    """Write ``report/index.html`` of a run folder whose study has parts; the parts have their reports already."""
    known = read_parts(folder)
    begun = [name for name in known.parts if (folder / name / "plan.json").exists()]
    found = [_section(folder / name, name) for name in begun]
    missing = [name for name in known.parts if name not in begun]
    target = folder / "report" / "index.html"
    target.parent.mkdir(exist_ok=True)
    values = {
        "name": folder.resolve().parent.name,
        "parts": found,
        "missing": missing,
        "shared": _in_all([part.published for part in found]),
        "scale": known.scale,
    }
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
        answers=[text for section in added if section.name != "published" for text in section.answers],
        published=[text for section in added if section.name == "published" for text in section.answers],
        figures=_figures(folder, name, content, added),
        verdicts={verdict: sum(t.count(verdict) for t in content.treatments) for verdict in VERDICTS},
    )


def _in_all(answers: list[list[str]]) -> list[str]:
    """What every part answers alike, so that the page has it once."""
    return [text for text in answers[0] if all(text in other for other in answers[1:])] if answers else []


def _figures(folder: Path, part: str, content: Content, added: list[Section]) -> list[tuple[str, Markup]]:
    """The figures that lead the part's report: two of the run's own, and the first of each section that answers."""
    drawn = folder / "report" / "figures"

    def there(kinds: Iterable[Kind]) -> list[Kind]:
        return [kind for kind in kinds if (drawn / f"{kind.name}.svg").exists()]

    own = there(kind for name in _OWN for kind in KINDS if kind.name == name)[:2]
    found: list[tuple[Kind, Mapping[str, str]]] = [(kind, {}) for kind in own]
    for section in added:
        if not section.explains and section.name not in _LONG:
            found += [(kind, section.facts) for kind in there(section.kinds)[:1]]
    figures = []
    for kind, facts in found[:MOST_FIGURES]:
        title, _ = kind.texts(content, **facts)
        svg = inline((drawn / f"{kind.name}.svg").read_bytes(), f"{part}-{kind.name}", title)
        figures.append((title, Markup(svg)))  # by our own drawing code, which escapes users' texts
    return figures
