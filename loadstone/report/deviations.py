"""The page's part of deviations: in what a run differs from the study that it reproduces, as its file has it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from loadstone.analysis.run import read_parts
from loadstone.analysis.schema import TableRow, table
from loadstone.model import parts
from loadstone.model.base import plural
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.messages import brief
from loadstone.report import format
from loadstone.report.content import Content
from loadstone.report.section import Section

_LONGEST = 120
"""Characters of a value in the page; all of them stand in the table."""


class DeviationRow(TableRow, name="deviations"):
    """One difference. ``cause``: ``scale`` (the file has two), ``--set``, ``machine``, or ``stated`` in the file."""

    cause: str
    setting: str
    published: str | None
    here: str | None


def gather(content: Content) -> Section | None:
    """None where the study reproduces no published one, or nothing differs."""
    if not content.run.study.reproduces:
        return None
    rows = [*_of_scale(content), *_of_overrides(content), *_of_machine(content), *_stated(content)]
    if not rows:
        return None
    return Section(
        name="deviations",
        title="Deviations",
        explains=True,
        tables={"deviations": table(DeviationRow, rows)},
        shown={"rows": [(row, _short(row.published), _short(row.here)) for row in rows]},
    )


def _of_scale(content: Content) -> Iterator[DeviationRow]:
    """What the file has at one scale and not at the other, where the run is not at the published one."""
    folder = content.run.folder
    try:
        known = read_parts(folder.parent)
        if known.scale != "here" or folder.name not in known.parts:
            return
        found = parts.differences(Document.read(folder / "study.yaml"), folder.name)
    except InputError:  # no part of a study, or of a release whose files differ
        return
    for path, (there, here) in found.items():
        yield DeviationRow(cause="scale", setting=path, published=_text(there), here=_text(here))


def _of_overrides(content: Content) -> Iterator[DeviationRow]:
    for override in content.run.plan.overrides:
        path, _, value = str(override).partition("=")
        yield DeviationRow(cause="--set", setting=path, published=None, here=value)


def _of_machine(content: Content) -> Iterator[DeviationRow]:
    trials = [row for row in content.run.trials if row.valid]
    if trials and any(row.emulated for row in trials):
        here = "emulated: they share the cores of one machine"
        yield DeviationRow(cause="machine", setting="nodes", published="machines of their own", here=here)
    if content.evidence.waived:
        here = f"{plural(content.evidence.waived, 'limit')} not applied, as announced"
        yield DeviationRow(cause="machine", setting="limits", published=None, here=here)
    for store in sorted({row.documents for row in trials if row.documents}):
        yield DeviationRow(cause="machine", setting="document store", published=None, here=store)


def _stated(content: Content) -> Iterator[DeviationRow]:
    for text in content.run.study.deviations:
        yield DeviationRow(cause="stated", setting="", published=None, here=text)


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value) if isinstance(value, list | dict) else brief(value)


def _short(text: str | None) -> str:
    if text is None:
        return format.NOTHING
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
