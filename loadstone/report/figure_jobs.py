"""Draws the figures of a report: each once, as SVG, PDF and PNG beside the page and as SVG in it."""

from __future__ import annotations

import ctypes
import multiprocessing
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from markupsafe import Markup

from loadstone.report.content import Content
from loadstone.report.figures import intervals, style
from loadstone.report.figures.kinds import Kind
from loadstone.report.figures.look import USUAL, Look
from loadstone.report.inline import inline

FORMATS = ("svg", "pdf", "png")
MANY_TRIALS = 100
"""From so many on it is worth to start processes."""
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class DrawnFigure:
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
    look: Look = USUAL

    def draw(self) -> tuple[str, str] | None:
        """Write its files and return its caption and the figure for the page; None where there is no data for it."""
        kind = self.kind
        with style.styled(self.look), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # an axis whose values are all the same is shown as it is
            figure = kind.draw(self.content)
            if figure is None:
                return None
            style.settle(figure)
            title, caption = kind.texts(self.content, **self.about)
            caption = intervals.noted(caption, figure)
            files = {name: style.save(figure, name) for name in FORMATS}
        for name, data in files.items():
            (self.folder / f"{kind.name}.{name}").write_bytes(data)
        return caption, inline(files["svg"], kind.name, f"{title}. {caption}")

    def shown(self, caption: str, svg: str) -> DrawnFigure:
        """The figure with title and caption. The SVG comes from our own drawing code, which escapes users' texts."""
        title, _ = self.kind.texts(self.content, **self.about)
        return DrawnFigure(self.kind, title, caption, Markup(svg))


def draw(jobs: Sequence[Job], meanwhile: Callable[[], _Result]) -> tuple[list[DrawnFigure | None], list[str], _Result]:
    """Draw all jobs and call ``meanwhile``; uses all cores where there are many trials.

    Returns the figures in the order of the jobs, the errors of those that failed, and the result of ``meanwhile``.
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
    shown = [None if found is None else job.shown(*found) for job, (found, _) in zip(jobs, results, strict=True)]
    return shown, [problem for _, problem in results if problem], other


def _parallel(jobs: Sequence[Job]) -> bool:
    """Whether to fork. Forking a process with other threads could deadlock on their locks."""
    many = bool(jobs) and len(jobs[0].content.run.trials) >= MANY_TRIALS
    return many and sys.platform == "linux" and threading.active_count() == 1


def _end_with_parent() -> None:
    """End this process with its parent: a waiting subprocess would not notice that the parent was killed."""
    pr_set_pdeathsig = 1  # prctl(2)
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


_jobs: Sequence[Job] = ()
"""The jobs of forked processes, which inherit it; each draws by index."""


def _draw(place: int) -> tuple[tuple[str, str] | None, str]:
    """The caption and the figure, or the error."""
    job = _jobs[place]
    try:
        return job.draw(), ""
    except Exception as error:  # the other figures are drawn, whatever the results contain
        return None, f"figure {job.kind.name}: not drawn, {type(error).__name__}: {error}"
