"""The parts of a report in the order of the page: to add one, write its ``gather`` and its template, and list it."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.report import comparison, published, reproduction, steady
from loadstone.report.content import Content
from loadstone.report.section import Gather, Section

SECTIONS: tuple[Gather, ...] = (comparison.gather, reproduction.gather, steady.gather, published.gather)


def gather(content: Content) -> Iterator[Section]:
    """The sections that have something to say."""
    for one in SECTIONS:
        section = one(content)
        if section is not None:
            yield section
