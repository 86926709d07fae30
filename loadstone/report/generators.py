"""The page's part of the generating hosts, where several shared the load."""

from __future__ import annotations

from loadstone.analysis import generators
from loadstone.analysis.schema import table
from loadstone.report.content import Content
from loadstone.report.section import Section


def gather(content: Content) -> Section | None:
    """None where one process generated every load."""
    rows = generators.by_host(content.run)
    if not rows:
        return None
    return Section(
        name="generators",
        title="Generating hosts",
        explains=True,
        tables={"generators": table(generators.HostRow, rows)},
        shown={"hosts": generators.medians(rows)},
    )
