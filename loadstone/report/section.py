"""A self-contained part of the page: findings, tables, figures and template."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from loadstone.report.content import Content
from loadstone.report.figures.kinds import Kind


@dataclass(frozen=True)
class Section:
    """What a part adds to a report.

    ``templates/<name>.html.j2`` shows it and is given ``section``, ``shown`` as variables, and the macros of
    ``parts.html.j2``; each table becomes ``tables/<name>.csv``, and the figures are drawn from the report's tables and
    these.
    """

    name: str
    """Its anchor in the page and its template."""
    title: str
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    kinds: Sequence[Kind] = ()
    shown: Mapping[str, Any] = field(default_factory=dict)
    answers: Sequence[str] = ()
    """Findings for the top of the page, as sentences with their numbers; ``**`` stands around what is set in bold."""
    cautions: Sequence[str] = ()
    """What a reader must know before believing them."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What the captions of its figures leave open."""
    explains: bool = False
    """Whether it explains more than it answers: it stands after the run's own figures then."""


Gather = Callable[[Content], Section | None]
"""Makes the section of a run; None where it has no content."""
