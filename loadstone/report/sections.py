"""The parts of a report in the order of the page: to add one, write its ``gather`` and its template, and list it."""

from __future__ import annotations

from loadstone.report import (
    claims,
    comparison,
    deviations,
    distributions,
    environments,
    generators,
    interference,
    iterations,
    model,
    placement,
    published,
    reproduction,
    steady,
    system,
)
from loadstone.report.content import Content
from loadstone.report.section import Gather, Section

SECTIONS: tuple[Gather, ...] = (
    claims.gather,
    comparison.gather,
    environments.gather,
    interference.gather,
    iterations.gather,
    reproduction.gather,
    distributions.gather,
    placement.gather,
    model.gather,
    steady.gather,
    generators.gather,
    system.gather,
    published.gather,
    deviations.gather,
)


def gather(content: Content) -> tuple[list[Section], list[str]]:
    """The sections with content, and the errors of those that failed; a failure does not affect the others."""
    found: list[Section] = []
    problems: list[str] = []
    for gather_section in SECTIONS:
        try:
            section = gather_section(content)
        except Exception as error:  # the rest of the page is written, whatever the results contain
            problems.append(
                f"{gather_section.__module__.rpartition('.')[2]}: left out, {type(error).__name__}: {error}"
            )
            continue
        if section is not None:
            found.append(section)
    return found, problems
