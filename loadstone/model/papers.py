"""Published studies that a run may lay its numbers beside: their values, and which setting and measure each is of.

``studies/papers/published/<name>.yaml`` describes the tables (CSV) beside it; nothing about a paper is code.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from loadstone.model.base import Finding, Model, did_you_mean
from loadstone.model.document import Document

Measure = Literal[
    "breaking_point",
    "nothing_dropped_up_to",
    "throughput",
    "p50",
    "p75",
    "p90",
    "p95",
    "p99",
    "p999",
    "max",
    "mean",
    "generator_p99",
    "completed_share",
    "traced_share",
    "c0_share",
    "iteration_s",
    "anderson_darling",
    "kolmogorov_smirnov",
    "memory_programs",
    "memory_occupied",
    "cpu_user",
    "cpu_system",
    "cpu_iowait",
    "network_received",
    "network_sent",
    "context_switches",
    "interrupts",
]
UNITS: dict[str, dict[str, float]] = {
    "req/s": {"req/s": 1.0},
    "ms": {"us": 1000.0, "ms": 1.0, "s": 0.001},
    "s": {"ms": 1000.0, "s": 1.0},
    "%": {"%": 100.0},
    "bytes": {"GB": 1e-9},
    "bytes/s": {"MB/s": 1e-6},
    "1/s": {"1/s": 1.0},
    "": {"": 1.0},
}
"""By a measure's own unit (shares and cores have %), what a value is multiplied by to have a published unit."""
_OF_OTHERS: dict[str, str] = {
    **dict.fromkeys(("breaking_point", "nothing_dropped_up_to", "throughput"), "req/s"),
    "iteration_s": "s",
    **dict.fromkeys(("completed_share", "traced_share", "c0_share"), "%"),
    **dict.fromkeys(("cpu_user", "cpu_system", "cpu_iowait"), "%"),
    **dict.fromkeys(("memory_programs", "memory_occupied"), "bytes"),
    **dict.fromkeys(("network_received", "network_sent"), "bytes/s"),
    **dict.fromkeys(("context_switches", "interrupts"), "1/s"),
    **dict.fromkeys(("anderson_darling", "kolmogorov_smirnov"), ""),
}


def unit_of(measure: str) -> str:
    """The unit in which a run has a measure; latencies have ms."""
    return _OF_OTHERS.get(measure, "ms")


class PublishedColumn(Model):
    """A column of the published table, with what its texts are called here; a text not named stays as it is."""

    column: str
    values: dict[str, str | float] = {}
    otherwise: str | None = None
    """What every text is called that ``values`` does not name."""

    def of(self, row: Mapping[str, str]) -> str:
        """The row's value there, as a level of ours."""
        there = row[self.column]
        renamed = self.values.get(there, there if self.otherwise is None else self.otherwise)
        return f"{renamed:g}" if isinstance(renamed, float) else str(renamed)


class PublishedLimits(Model):
    """The columns between which a published value lies; an end that a row leaves empty is open."""

    low: str | None = None
    high: str | None = None


class PublishedTable(Model):
    """One quantity of one published table, and what it is a measure of in a run."""

    file: str
    only: dict[str, str] = {}
    """The rows that have these texts in these columns; by default all."""
    source: str = ""
    """Where it stands in the paper. ``{column}`` is replaced by a row's text, here, in ``quantity`` and ``unit``."""
    quantity: str
    unit: str
    measure: Measure | None = None
    """Its name here; left out where a run has no such number, with the reason in ``why``."""
    why: str = ""
    at: Literal["highest"] | float | PublishedColumn | None = None
    """The offered load that it was measured at, in requests per second; of ``iteration_s`` the number of the
    iteration."""
    span: PublishedColumn | None = None
    """The span that a latency is of, as ``service operation``; by default that of requests."""
    node_of: PublishedColumn | None = None
    """The service whose node a number is of: the mean of its one-minute values."""
    value: PublishedColumn | PublishedLimits
    of: Annotated[float, Field(gt=0)] = 1.0
    """What a value is a part of, where the published table has counts and the measure is a share."""
    levels: dict[str, str | float | PublishedColumn] = {}
    """The settings that it was measured under: names of a study's settings and factors, those of its load, trials and
    cluster by path (``load.connections``; durations in seconds), ``application``, ``workers`` (nodes that run replicas)
    and ``generators`` (hosts that generate the load), of ``generator_p99`` also ``generator`` (which, from 1); of
    a closed loop ``clients``, and ``requests`` of each in an iteration."""

    def findings(self) -> Iterator[Finding]:
        if (self.measure is None) != bool(self.why):
            yield ("measure",), "give a measure, or 'why' there is none"
        if self.measure == "iteration_s" and not isinstance(self.at, float | PublishedColumn):
            yield ("at",), "which iteration? Give its number"
        if self.measure is not None and self.unit not in (known := UNITS[unit_of(self.measure)]):
            yield ("unit",), f"{self.measure!r} has another unit than {self.unit!r}" + did_you_mean(self.unit, [*known])


class Paper(Model):
    """A published study."""

    about: str
    by: str
    method: Literal["best-fit-run"] | None = None
    """How it compared its treatments, where Loadstone has that as a reproduction."""
    tables: list[PublishedTable]

    def findings(self) -> Iterator[Finding]:
        for index, table in enumerate(self.tables):
            yield from ((("tables", index, *path), text) for path, text in table.findings())


@dataclass(frozen=True)
class Published:
    """One published value: a number, or the range from ``low`` to ``high`` that it lies in (None: open)."""

    source: str
    quantity: str
    unit: str
    measure: str | None
    why: str
    at: float | Literal["highest"] | None
    span: str | None
    node_of: str | None
    levels: Mapping[str, str]
    value: float | None
    low: float | None
    high: float | None


def folder() -> Path:
    """Where the papers are: in the installed package, else in the repository."""
    inside = Path(__file__).parents[1] / "papers"
    return (inside if inside.is_dir() else Path(__file__).parents[2] / "studies" / "papers") / "published"


def names() -> list[str]:
    """All papers that there are values of."""
    return sorted(file.stem for file in folder().glob("*.yaml"))


@functools.cache
def paper(name: str) -> Paper:
    """The paper of that name. Raises InputError where there is none."""
    return Document.read(folder() / f"{name}.yaml").parse(Paper)


def known(name: str | None) -> str | None:
    """The name itself, if there is such a paper."""
    if name is not None and name not in names():
        raise ValueError(f"{name!r} is no study whose published values are here" + did_you_mean(name, names()))
    return name


def values(name: str) -> list[Published]:
    """All published values of a paper, in the order of its tables."""
    return [value for table in paper(name).tables for value in _values(table)]


def _values(table: PublishedTable) -> Iterator[Published]:
    with (folder() / table.file).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if any(row[column] != text for column, text in table.only.items()):
                continue
            value, low, high = _numbers(table, row)
            yield Published(
                source=table.source.format(**row),
                quantity=table.quantity.format(**row),
                unit=table.unit.format(**row),
                measure=table.measure,
                why=table.why,
                at=float(table.at.of(row)) if isinstance(table.at, PublishedColumn) else table.at,
                span=table.span.of(row) if table.span is not None else None,
                node_of=table.node_of.of(row) if table.node_of is not None else None,
                levels={name: _level(level, row) for name, level in table.levels.items()},
                value=value,
                low=low,
                high=high,
            )


def _numbers(table: PublishedTable, row: Mapping[str, str]) -> tuple[float | None, float | None, float | None]:
    # A share of one that is published in percent is shown so, and a count as the percent that it is of all.
    scale = (100.0 if table.unit == "%" and table.of != 1 else 1.0) / table.of

    def number(column: str | None) -> float | None:
        return scale * float(row[column]) if column is not None and row[column] else None

    if isinstance(table.value, PublishedColumn):
        return number(table.value.column), None, None
    return None, number(table.value.low), number(table.value.high)


def _level(level: str | float | PublishedColumn, row: Mapping[str, str]) -> str:
    if isinstance(level, PublishedColumn):
        return level.of(row)
    return f"{level:g}" if isinstance(level, float) else level
