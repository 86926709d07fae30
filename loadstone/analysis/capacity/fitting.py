"""The capacity model of a treatment: its demands, and how far its bottleneck could be filled before the SLO broke."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from loadstone.analysis.breaking_point import Estimate
from loadstone.analysis.capacity import demands
from loadstone.analysis.capacity.bottleneck import PRESSED, Pressed, Surroundings, calibrate
from loadstone.analysis.capacity.demands import CpuDemand, Floats, Point
from loadstone.analysis.capacity.layout import Layout, Station, stations
from loadstone.analysis.capacity.objective import of_study
from loadstone.analysis.run import RunFolder
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model.base import plural
from loadstone.model.records.reading import Reading
from loadstone.model.records.trial_row import TrialRow

Measured = tuple[TrialRow, tuple[Reading, ...]]
"""A trial and what its replicas used."""
LEAST_LOADS, WANTED_LOADS = 2, 4
FULL = 0.78
"""Trials up to this share of the breaking point measure the bottleneck's cost of a request: 75 %, and the random
variation of the offered rate."""
FAR_FROM_OBSERVED = 1.25
"""A model is contradicted if its use of the bottleneck's CPU differs from the observed one by this factor."""
MISFIT = 0.1
"""A relative error of the calibrated simulation at the measured breaking point above this is a warning."""
_LEAST_FULL = 0.5
"""Below this share of its CPU at the breaking point, a bottleneck did not break the SLO."""
_UNKNOWN_CORES = 1e3
_HIGHEST = 5
"""The number of trials with the highest throughput that measure other services' costs near the breaking point."""
_DRAWS = 2000


class CannotFit(Exception):
    """No model can be fitted; the text names what is missing."""


@dataclass(frozen=True)
class CapacityModel:
    """The capacity model of one treatment. ``draws`` are standard normal (n, 4): three for demands, one for the
    load."""

    treatment_id: str
    label: str
    demands: Mapping[str, CpuDemand]
    breaking_point: Estimate
    layout: Layout
    bottleneck: Station
    utilisation: float
    """CPU that the bottleneck uses at the breaking point, as a share of what it has: as simulated where ``pressed`` is
    known, else what requests would ask of it at their cost at low load."""
    draws: Floats
    trials: tuple[str, ...]
    warnings: tuple[str, ...]
    observed: float | None = None
    """The share of its CPU that the bottleneck used in the trial of the highest throughput; None where unknown."""
    slope: float = 0.0
    """How much equal trials of the search differ from run to run: a standard deviation, relative to the breaking point;
    0 where nothing was searched."""
    pressed: Pressed | None = None
    """What its quota does to the bottleneck; None where a node is the bottleneck, or nothing to simulate is known."""

    @property
    def contradicted(self) -> bool:
        """Whether the modelled CPU of the bottleneck is far from the observed one."""
        if self.observed is None:
            return False
        low, high = sorted((self.utilisation, self.observed))
        return high > FAR_FROM_OBSERVED * low and (self.pressed is not None or self.utilisation > 1)

    @property
    def misfit(self) -> float:
        """How far the simulated breaking point is from the measured one, as a logarithm; 0 where none was simulated."""
        if self.pressed is None:
            return 0.0
        return float(np.mean(np.log(self.pressed.breaks))) - math.log(self.breaking_point.value)

    def point_draws(self) -> Floats:
        """Draws of the breaking point."""
        spread = _spread(self.breaking_point)
        return np.asarray(self.breaking_point.value * np.exp(spread * self.draws[:, 3]), dtype=np.float64)

    def used(self, station: Station, load: Floats | float, drawn: bool = False) -> Floats:
        """Cores that ``load`` uses at a station at the cost of unpressed requests; one load a draw if ``drawn``.

        On a node no replica can use more than its own limit.
        """
        return used(self.demands, station, load, self.draws[:, :3] if drawn else None)

    def is_bottleneck(self, station: Station) -> bool:
        """Whether a station of any layout is what broke when the model was measured."""
        return (station.kind, station.name) == (self.bottleneck.kind, self.bottleneck.name)

    def share(self, station: Station, load: float) -> float:
        """The share of a station's CPU that ``load`` uses; of a bottleneck under a quota, as simulated."""
        if self.pressed is not None and self.is_bottleneck(station):
            cores = _cores_of(self.pressed, station, load)
        else:
            cores = float(self.used(station, load))
        return min(cores / station.capacity, 1.0)


def _cores_of(pressed: Pressed, station: Station, load: float) -> float:
    return pressed.at(load, station.capacity, station.parts[0].replicas).cpu


def used(found: Mapping[str, CpuDemand], station: Station, load: Floats | float, draws: Floats | None = None) -> Floats:
    """Cores that ``load`` uses at a station; see ``CapacityModel.used``."""
    total = np.zeros(np.shape(load))
    for part in station.parts:
        if (demand := found.get(part.service)) is None:
            continue
        coefficients = demand.draws(draws) if draws is not None else None
        cores = demand.cores(np.asarray(load) / part.replicas, coefficients)
        if station.kind == "node" and part.limit is not None:
            cores = np.minimum(cores, part.limit)
        total = total + part.here * cores
    return total


def fit(run: RunFolder, treatment: TreatmentSummary) -> CapacityModel:
    """The model of a treatment that was measured; raises CannotFit with what is missing."""
    if not treatment.timed:
        raise CannotFit(f"{treatment.label}: its processors were software (tcg), on which nothing is measured")
    reference = breaking_point(treatment)
    measured = [(row, usage) for row, usage in _trials(run, treatment) if usage]
    if not measured:
        raise CannotFit(f"{treatment.label}: no trial that held has CPU counters (usage.json)")
    layout = Layout.seen(measured[-1][1], run.provenance.nodes)
    points, tiers = _points(measured)
    found: dict[str, CpuDemand] = {}
    for service, pairs in points.items():
        limit = next(replica.limit for replica in layout.replicas if replica.service == service)
        ceiling = reference.value / layout.count(service)
        fitted = demands.fit(service, tiers[service], _unpressed(pairs, limit, ceiling))
        found[service] = fitted
    at = {station: float(used(found, station, reference.value)) / station.capacity for station in stations(layout)}
    if not at:
        raise CannotFit(f"{treatment.label}: no service has a CPU limit and the nodes' cores are not known")
    bottleneck = max(at, key=lambda station: at[station])
    pressed = _pressed(run, measured, reference, bottleneck, layout, points) if at[bottleneck] > _LEAST_FULL else None
    use = at[bottleneck]
    if pressed is not None:
        use = _cores_of(pressed, bottleneck, reference.value) / bottleneck.capacity
    model = CapacityModel(
        treatment_id=treatment.id,
        label=treatment.label,
        demands=found,
        breaking_point=reference,
        layout=layout,
        bottleneck=bottleneck,
        utilisation=use,
        draws=np.random.default_rng(1).standard_normal((_DRAWS, 4)),
        trials=tuple(sorted({point.trial for demand in found.values() for point in demand.points})),
        warnings=tuple(_doubts(bottleneck, at[bottleneck], found, layout)),
        observed=_observed(bottleneck, measured[-1][1]),
        slope=_slope(treatment),
        pressed=pressed,
    )
    if abs(model.misfit) <= MISFIT:
        return model
    doubt = (
        f"the simulation of {bottleneck} under its quota breaks at {math.exp(model.misfit):.0%} of what was measured:"
        " something that is not in it decides too"
    )
    return replace(model, warnings=(*model.warnings, doubt))


def _slope(treatment: TreatmentSummary) -> float:
    searched = treatment.searched
    return searched.result.slope.value if searched is not None and searched.result is not None else 0.0


def _spread(point: Estimate) -> float:
    """Standard deviation of the logarithm."""
    return math.log(point.high / point.low) / 3.92


def _pressed(
    run: RunFolder,
    measured: Sequence[Measured],
    point: Estimate,
    station: Station,
    layout: Layout,
    points: Mapping[str, list[Point]],
) -> Pressed | None:
    """The bottleneck under its quota; None of a node, or without an SLO that can be simulated."""
    objective = of_study(run.study, run.objective)
    if station.kind == "node" or objective is None:
        return None
    (part,) = station.parts
    node = next(replica.node for replica in layout.replicas if replica.service == station.name)
    others = [
        sum(reading.cpu_s / reading.window_s for reading in usage if _beside(reading, node, part.service))
        / (row.throughput or math.inf)
        for row, usage in measured[-_HIGHEST:]
    ]
    surroundings = Surroundings(
        apart_s=max((measured[0][0].p50_ms or 0.0) / 1e3 - points[part.service][0].demand, 0.0),
        others_s=median(others),
        cores=layout.cores.get(node, _UNKNOWN_CORES),
    )
    quota = station.capacity, part.replicas
    return calibrate(
        part.service, tuple(points[part.service]), quota, (point.value, _spread(point)), surroundings, objective
    )


def _beside(reading: Reading, node: str, service: str) -> bool:
    """Whether a replica of another service ran on the node."""
    return bool(reading.window_s) and reading.node == node and reading.service != service


def _observed(station: Station, usage: Sequence[Reading]) -> float | None:
    """The share of its cores that what runs there used; of equal replicas the mean."""
    cores = 0.0
    for part in station.parts:
        mine = [
            reading.cpu_s / reading.window_s
            for reading in usage
            if reading.service == part.service and reading.window_s
        ]
        if not mine:
            return None
        cores += part.here * sum(mine) / len(mine)
    return cores / station.capacity


def breaking_point(treatment: TreatmentSummary) -> Estimate:
    """The search's estimate; at fixed rates the middle between what held and what did not. Raises CannotFit."""
    if treatment.searched is not None and treatment.searched.result is not None:
        return treatment.searched.result.breaking_point
    low, high = treatment.held_up_to, treatment.breaks_from
    if low is None or high is None:
        missing = "no trial held" if low is None else "every trial held"
        raise CannotFit(f"{treatment.label}: {missing}, so its breaking point is not known; measure it first")
    return Estimate(math.sqrt(low * high), low, high)


def _trials(run: RunFolder, treatment: TreatmentSummary) -> list[Measured]:
    """The trials that held to their end, by throughput."""
    rows = [row for row in treatment.whole if row.verdict in ("held", "measured") and row.throughput]
    rows.sort(key=lambda row: row.throughput or 0.0)
    return [(row, run.readings(row.trial_id) or ()) for row in rows]


def _points(measured: Sequence[Measured]) -> tuple[dict[str, list[Point]], dict[str, str | None]]:
    points: dict[str, list[Point]] = {}
    tiers: dict[str, str | None] = {}
    for row, usage in measured:
        for service in dict.fromkeys(replica.service for replica in usage):
            mine = [replica for replica in usage if replica.service == service and replica.window_s]
            if not mine:
                continue
            tiers[service] = mine[0].tier
            cores = sum(replica.cpu_s / replica.window_s for replica in mine) / len(mine)
            rate = (row.throughput or 0.0) / len(mine)
            points.setdefault(service, []).append(Point(rate, cores, mine[0].window_s, row.trial_id))
    return points, tiers


def _unpressed(points: list[Point], limit: float | None, ceiling: float) -> list[Point]:
    """Those at up to 75 % of the breaking point that leave a quarter of the limit free; where too few do, the lowest.

    Of a service that is far from its limit at the breaking point, trials beside that count too: nothing bends there.
    """
    free = [point for point in points if limit is None or point.cores <= PRESSED * limit]
    near = max((point.cores for point in points), default=0.0)
    if limit is not None and near > PRESSED * limit:
        free = [point for point in free if point.rate <= FULL * ceiling]
    if len({round(point.rate, 1) for point in free}) >= LEAST_LOADS:
        return free
    lowest = sorted(points, key=lambda point: point.rate)[:LEAST_LOADS]
    return sorted({*free, *lowest}, key=lambda point: point.rate)


def _doubts(station: Station, utilisation: float, found: Mapping[str, CpuDemand], layout: Layout) -> list[str]:
    doubts = []
    if utilisation < _LEAST_FULL:
        doubts.append(
            f"at the breaking point {station}, the busiest, used {utilisation:.0%} of its CPU: something else"
            " than CPU breaks the SLO, and that is not in the model"
        )
    demand = found.get(station.name) if station.kind == "service" else None
    if demand is not None:
        loads = {round(point.rate, 1) for point in demand.points}
        pressed = [p for p in demand.points if station.capacity and p.cores > PRESSED * station.capacity]
        if len(loads) < WANTED_LOADS:
            doubts.append(
                f"{station.name} is fitted from {plural(len(loads), 'load')} of at most 75 %;"
                f" {WANTED_LOADS} are wanted (load.capacity.predict: true measures them)"
            )
        if pressed:
            doubts.append(
                f"{station.name} was near its quota at the lowest loads too: its cost per request is a lower bound"
            )
    if not layout.cores:
        doubts.append("the nodes' cores are not known: only limits of services bound the prediction")
    return doubts
