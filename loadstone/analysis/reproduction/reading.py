"""The samples that scenarios are made of: latencies of requests from histograms, durations of spans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from loadstone.analysis import traces
from loadstone.analysis.reproduction.fitting import Scenario
from loadstone.analysis.run import RunFolder, hlog
from loadstone.analysis.statistics.merging import Sample, sample
from loadstone.analysis.summary import TreatmentSummary
from loadstone.analysis.traces.spans import CLIENT, PRODUCER, SpanColumns
from loadstone.model.errors import InputError
from loadstone.model.records.trial_row import TrialRow

REQUESTS = "all requests"
FEWEST = 10
"""Observations of a run; with fewer it takes no part."""
Kind = Literal["requests", "operation", "span"]


@dataclass(frozen=True)
class Group:
    """The scenarios of one span, of one operation or of all requests at one load; the baseline first."""

    kind: Kind
    name: str
    """``all requests``, an operation, or ``service operation`` of a span."""
    rate: float
    clients: int | None
    scenarios: list[Scenario]


@dataclass
class Samples:
    """What was read of a run."""

    groups: list[Group] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def baseline(run: RunFolder, treatments: list[TreatmentSummary]) -> TreatmentSummary:
    """The one that others are compared with: that of ``comparison.baseline`` in the study, else the first."""
    wanted = run.study.comparison.baseline or {}
    fits = (
        treatment
        for treatment in treatments
        if all(treatment.levels.get(name) == str(level) for name, level in wanted.items())
    )
    return next(fits, treatments[0])


def read(run: RunFolder, treatments: list[TreatmentSummary]) -> Samples:
    """The groups of all fixed loads at which the baseline was measured: requests, operations, then spans by time."""
    if not treatments:
        return Samples()
    first = baseline(run, treatments)
    ordered = [first, *(treatment for treatment in treatments if treatment is not first)]
    found = Samples()
    # By load, then by what was measured, then by treatment: the samples of each trial.
    every: dict[float, dict[tuple[Kind, str], dict[str, dict[str, Sample]]]] = {}
    loads: dict[float, TrialRow] = {}
    for treatment in ordered:
        for row in runs(treatment):
            loads.setdefault(row.load, row)
            there = every.setdefault(row.load, {})
            for what, values in _samples(run, row, found.warnings):
                there.setdefault(what, {}).setdefault(treatment.label, {})[row.trial_id] = values
    for load in sorted(every):
        for (kind, name), by_label in sorted(every[load].items(), key=_weight):
            if first.label in by_label:
                scenarios = [Scenario(label, tuple(of), tuple(of.values())) for label, of in by_label.items()]
                found.groups.append(Group(kind, name, loads[load].rate, loads[load].clients, scenarios))
    return found


def runs(treatment: TreatmentSummary) -> list[TrialRow]:
    """The trials that count as runs: valid, at a fixed load, to their end, on processors that are no software; a
    search's are each of another load."""
    return [row for row in treatment.whole if row.repeatable and row.timed]


def _weight(entry: tuple[tuple[Kind, str], dict[str, dict[str, Sample]]]) -> tuple[int, float, str]:
    (kind, name), by_label = entry
    spent = sum(float(sample.values @ sample.counts) for of in by_label.values() for sample in of.values())
    return ("requests", "operation", "span").index(kind), -spent, name


def _samples(run: RunFolder, row: TrialRow, warnings: list[str]) -> Iterator[tuple[tuple[Kind, str], Sample]]:
    place = run.folder / "trials" / row.trial_id
    try:
        if (place / hlog.FILE).exists():
            # Where clients wait for answers there is no intended send time.
            tag = hlog.ALL if row.clients is None else "service"
            for name, distribution in hlog.distributions(place / hlog.FILE, tag).items():
                operation = name.removeprefix(tag).removeprefix(":")
                kind: Kind = "operation" if operation else "requests"
                if distribution.size >= FEWEST:
                    yield (kind, operation or REQUESTS), distribution
        if (place / "spans.parquet").exists():
            spans = traces.read(place / "spans.parquet", *run.window_ns(row.trial_id))
            yield from ((("span", name), duration) for name, duration in durations(spans).items())
    except InputError as error:
        warnings.append(str(error).replace(f"{run.folder}/", ""))


def durations(spans: SpanColumns) -> dict[str, Sample]:
    """In us by ``service operation``, of spans that ended; a call's is its server's, not also its client's."""
    width = max(len(spans.operation.names), 1)
    key = spans.service.codes.astype(np.int64) * width + spans.operation.codes
    counted = (spans.duration_ns >= 0) & (spans.kind != CLIENT) & (spans.kind != PRODUCER)
    key, duration_us = key[counted], spans.duration_ns[counted] / 1000.0
    order = np.argsort(key, kind="stable")
    key, duration_us = key[order], duration_us[order]
    starts = np.flatnonzero(np.r_[True, key[1:] != key[:-1]]) if len(key) else np.empty(0, np.int64)
    found = {}
    for low, high in zip(starts, [*starts[1:], len(key)], strict=True):
        if high - low >= FEWEST:
            service, operation = divmod(int(key[low]), width)
            name = f"{spans.service.names[service]} {spans.operation.names[operation]}"
            found[name] = sample(duration_us[low:high])
    return found
