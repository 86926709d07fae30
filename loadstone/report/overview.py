"""The first table of a run with several treatments at fixed loads: what each of them held."""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.model.base import plural
from loadstone.report import format
from loadstone.report.content import Content


@dataclass(frozen=True)
class Overview:
    """A treatment: the highest load that every trial held, the next one that was not held, and by how many trials."""

    label: str
    held: str
    next: str
    failed: str


def rows(content: Content) -> list[Overview]:
    """A row for each treatment that was tried at fixed loads against an SLO, in the study's order."""
    load = format.clients if content.closed else format.rate
    found = []
    for treatment in content.treatments:
        if treatment.searched is not None or not treatment.count("held") + treatment.count("not held"):
            continue
        held, broken = treatment.held_up_to, treatment.breaks_from
        there = [row for row in treatment.trials if row.load == broken and row.valid]
        failed = sum(row.verdict == "not held" for row in there)
        found.append(
            Overview(
                treatment.label,
                load(held) if held is not None else format.NOTHING,
                load(broken) if broken is not None else "none found",
                f"{failed} of {plural(len(there), 'trial')}" if there else "",
            )
        )
    return found
