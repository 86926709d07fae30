"""The figures of a run's report as objects: ``run.plot.latency()``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadstone.model.base import did_you_mean
from loadstone.model.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from loadstone.report.content import Content
    from loadstone.report.figures.kinds import Kind


class Plot:
    """One figure of a report; a notebook shows it."""

    def __init__(self, figure: Figure, title: str, caption: str) -> None:
        self.figure = figure
        """The ``matplotlib`` figure."""
        self.title = title
        """What it is called in the report."""
        self.caption = caption
        """What it shows."""

    def save(self, path: str | Path) -> None:
        """Write it as ``.svg``, ``.pdf`` or ``.png``, by the name of the file. Raises InputError for another ending."""
        file = Path(path)
        if file.suffix not in (".svg", ".pdf", ".png"):
            raise InputError(f"{file}: write a figure as .svg, .pdf or .png")
        file.write_bytes(self._drawn(file.suffix[1:]))

    def _drawn(self, kind: str) -> bytes:
        from loadstone.report.figures import style

        with style.styled():
            return style.save(self.figure, kind)

    def _repr_png_(self) -> bytes:
        return self._drawn("png")

    def __repr__(self) -> str:
        return f"<Plot: {self.title}>"


class Plots:
    """The figures of a report by their names: ``run.plot.latency()``; ``dir(run.plot)`` lists those of this run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _kinds(self) -> Mapping[str, tuple[Kind, Content, Mapping[str, str]]]:
        """By name the kind, what it is drawn from, and what its caption leaves open."""
        from loadstone.report import content as contents
        from loadstone.report import observability, sections
        from loadstone.report.figures.kinds import KINDS
        from loadstone.report.figures.observability_kinds import PARTS

        content = contents.gather(self._folder)
        observed = observability.gather(content)
        found: list[tuple[Kind, Content, Mapping[str, str]]] = [(kind, content, {}) for kind in KINDS]
        found += [(kind, observed.content, observed.facts()) for part in PARTS.values() for kind in part]
        for section in sections.gather(observed.content)[0]:
            known = replace(content, tables=content.tables | dict(section.tables))
            found += [(kind, known, dict(section.facts)) for kind in section.kinds]
        return {kind.name.replace("-", "_"): (kind, known, facts) for kind, known, facts in found}

    def __getattr__(self, name: str) -> Callable[[], Plot]:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._kinds:
            raise AttributeError(f"no figure {name!r}" + did_you_mean(name, list(self._kinds)))
        return lambda: self._draw(name)

    def __dir__(self) -> list[str]:
        return sorted(self._kinds)

    def _draw(self, name: str) -> Plot:
        """Raises InputError where the run has no data for it."""
        from loadstone.report.figures import intervals, style

        kind, content, facts = self._kinds[name]
        with style.styled():
            figure: Any = kind.draw(content)
            if figure is None:
                raise InputError(f"{self._folder}: has no data for the figure {name!r} ({kind.title})")
            style.settle(figure)
            title, caption = kind.texts(content, **facts)
            return Plot(figure, title, intervals.noted(caption, figure))
