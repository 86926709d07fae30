"""The treatments of one run against its baseline: by pairs of a block where blocks were interleaved."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from loadstone.analysis.comparison.measured import Key, MeasuredRun, families
from loadstone.analysis.statistics import Endpoint, EndpointComparison, Floor, adjacent, compare, floors

Pair = tuple[MeasuredRun, MeasuredRun]


def loads(runs: Iterable[MeasuredRun]) -> list[float]:
    """The loads of some runs, ascending."""
    return sorted({run.load for run in runs})


def at(runs: Iterable[MeasuredRun], treatment: str, load: float) -> list[MeasuredRun]:
    """The runs of a treatment at a load, without the second ones of a baseline."""
    return [run for run in runs if run.treatment == treatment and run.load == load and not run.again]


def again(runs: Iterable[MeasuredRun], treatment: str, load: float) -> list[MeasuredRun]:
    """A baseline's second runs in its blocks."""
    return [run for run in runs if run.treatment == treatment and run.load == load and run.again]


def pairs(a: Sequence[MeasuredRun], b: Sequence[MeasuredRun]) -> list[Pair]:
    """The runs of both sides that belong to the same block, by block."""
    of_b = {run.block: run for run in b}
    return sorted(((run, of_b[run.block]) for run in a if run.block in of_b), key=lambda pair: pair[0].block)


def effects(
    a: Sequence[MeasuredRun], b: Sequence[MeasuredRun], margin: float, paired: bool, chosen: Collection[str] = ()
) -> list[tuple[Key, EndpointComparison]]:
    """B against A on every endpoint that all runs have, by families. Nothing without a run on each side."""
    if paired:
        both = pairs(a, b)
        a, b = [mine for mine, _ in both], [other for _, other in both]
    if not (a and b):
        return []
    found: list[tuple[Key, EndpointComparison]] = []
    for keys in families([*a, *b], chosen):
        family = [_endpoint(key, a, b, paired) for key in keys]
        found += zip(keys, compare(family, margin), strict=True)
    return found


def _endpoint(key: Key, a: Sequence[MeasuredRun], b: Sequence[MeasuredRun], paired: bool) -> Endpoint:
    return Endpoint(key.name, key.statistic, [r.values[key] for r in a], [r.values[key] for r in b], paired)


def noise(
    a: Sequence[MeasuredRun], twice: Sequence[MeasuredRun], margin: float, count: int, chosen: Collection[str] = ()
) -> list[tuple[Key, Floor]]:
    """A against A, by the baseline's second runs, else by its neighbouring ones, for comparisons of ``count`` pairs."""
    both = pairs(a, twice)
    found: list[tuple[Key, Floor]] = []
    for keys in families([run for pair in both for run in pair] or list(a), chosen):
        family = {key: _again(key, a, both) for key in keys}
        known = {key: endpoint for key, endpoint in family.items() if endpoint is not None}
        found += zip(known, floors(list(known.values()), margin, count), strict=True)
    return found


def _again(key: Key, a: Sequence[MeasuredRun], both: Sequence[Pair]) -> Endpoint | None:
    if both:
        return _endpoint(key, [mine for mine, _ in both], [other for _, other in both], True)
    return adjacent(key.name, key.statistic, [run.values[key] for run in sorted(a, key=lambda run: run.order)])
