"""Draws the figures of a report: each once, as SVG, PDF and PNG beside the page and as SVG in it."""

from __future__ import annotations

import ctypes
import multiprocessing
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from markupsafe import Markup

from loadstone.report.content import Content
from loadstone.report.figures import style
from loadstone.report.figures.kinds import Kind
from loadstone.report.inline import inline

FORMATS = ("svg", "pdf", "png")
MANY_TRIALS = 100
"""From so many on it is worth to start processes."""
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Shown:
    """A figure in the page."""

    kind: Kind
    title: str
    caption: str
    svg: Markup


@dataclass(frozen=True)
class Job:
    """A figure to draw into ``folder``; ``about`` fills what its caption leaves open."""

    kind: Kind
    content: Content
    folder: Path
    about: Mapping[str, str] = field(default_factory=dict)

    def draw(self) -> str | None:
        """Write its files and return the figure for the page; None where there is no data for it."""
        kind = self.kind
        with style.styled():
            figure = kind.draw(self.content)
            if figure is None:
                return None
            style.settle(figure)
            files = {name: style.save(figure, name) for name in FORMATS}
        for name, data in files.items():
            (self.folder / f"{kind.name}.{name}").write_bytes(data)
        return inline(files["svg"], kind.name, ". ".join(kind.words(self.content, **self.about)))

    def shown(self, svg: str) -> Shown:
        """With its words. The figure comes from our own drawing code, which escapes what users named."""
        return Shown(self.kind, *self.kind.words(self.content, **self.about), Markup(svg))


def draw(jobs: Sequence[Job], meanwhile: Callable[[], _Result]) -> tuple[list[Shown | None], list[str], _Result]:
    """Draw all, in the order of the jobs, and do what is to be done meanwhile; on all cores where that is worth it.

    Returns the figures, what kept any from being drawn, and what was done meanwhile.
    """
    global _jobs
    _jobs = jobs
    places = range(len(jobs))
    if _parallel(jobs):
        fork = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(multiprocessing.cpu_count(), fork, initializer=_end_with_parent) as pool:
            drawn, other = pool.map(_draw, places), meanwhile()
            results = list(drawn)
    else:
        results, other = list(map(_draw, places)), meanwhile()
    shown = [None if svg is None else job.shown(svg) for job, (svg, _) in zip(jobs, results, strict=True)]
    return shown, [problem for _, problem in results if problem], other


def _parallel(jobs: Sequence[Job]) -> bool:
    """A copy of a process whose threads hold locks may wait for them for ever: only where there are no others."""
    many = bool(jobs) and jobs[0].content.run.trials.num_rows >= MANY_TRIALS
    return many and sys.platform == "linux" and threading.active_count() == 1


def _end_with_parent() -> None:
    """A copy that waits for work would not notice that its parent was killed."""
    pr_set_pdeathsig = 1  # prctl(2)
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


_jobs: Sequence[Job] = ()
"""What copies of this process draw: they have it in their memory, and are told the place of each."""


def _draw(place: int) -> tuple[str | None, str]:
    """The figure, or what kept it from being drawn."""
    job = _jobs[place]
    try:
        return job.draw(), ""
    except Exception as error:  # whatever results may hold that nobody thought of: the other figures are drawn
        return None, f"figure {job.kind.name}: not drawn, {type(error).__name__}: {error}"
