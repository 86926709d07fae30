"""What another layout would bear: the load at which the first service or node is as full as the bottleneck was.

How full a bottleneck can be when the SLO breaks is not theory but measured: ``Model.utilisation`` at the measured
breaking point. Two readings of it are possible for another layout, and a prediction lies midway: the same share (what
is lost is lost in proportion), or the same queueing: in heavy traffic P99 <= T asks for (1 - u) / u proportional to
1 / x, x the requests/s of one replica, so that a replica which serves more of them can be fuller (Kingman, "The
single server queue in heavy traffic", 1961). What was no bottleneck has shown no such limit of its own: a node is taken
to bear 90 % [80, 100], a service what the bottleneck bore, and the interval reaches to 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadstone.analysis.capacity.demands import Floats
from loadstone.analysis.capacity.fitting import Model
from loadstone.analysis.capacity.layout import Layout, Station, stations

FARTHEST = 2.0
"""A replica's load beyond this many times the measured one is extrapolation: predictions err by tens of percent."""
_ROUNDING = 1.05
NODE_FULL, _NODE_SPREAD = 0.9, 0.1
_REACH = 1e4
_STEPS = 60


@dataclass(frozen=True)
class Prediction:
    """The breaking point that a layout is predicted to have, in requests/s, with its 95 % interval."""

    value: float
    low: float
    high: float
    bottleneck: Station
    utilisation: float
    """Share of the bottleneck's CPU at the breaking point, at the cost of unpressed requests."""
    extrapolation: float
    """Requests/s of one of the bottleneck's replicas as a multiple of what it had at the measured breaking point."""
    loads: dict[str, float]
    """Where each service and node alone would break, in requests/s, the first eight."""
    warnings: tuple[str, ...]


def predict(model: Model, layout: Layout, precision: float = 0.0) -> Prediction:
    """The breaking point of ``layout``. The interval is for a search that measures to a relative ``precision``."""
    measured = model.point_draws()
    z = model.draws
    own = np.asarray(model.used(model.bottleneck, measured, drawn=True)) / model.bottleneck.capacity
    mix = np.random.default_rng(2).uniform(size=(len(z), 2))
    single: dict[Station, float] = {}
    drawn: dict[Station, Floats] = {}
    for station in stations(layout):
        middle = _Bound(model, station, np.array([model.utilisation]), np.array([model.breaking_point.value]))
        many = _Bound(model, station, own, measured)
        single[station] = float(middle.load(np.array([0.5]), np.array([_unmixed(station)]), False)[0])
        drawn[station] = many.load(mix[:, 0], mix[:, 1], True)
    if not single:
        raise ValueError("nothing in the layout has a CPU limit or a node with known cores")
    first = min(single, key=lambda station: single[station])
    value = single[first]
    of_search = np.exp(precision / 1.96 * np.random.default_rng(3).standard_normal(len(z)))
    low, high = np.quantile(np.min(list(drawn.values()), axis=0) * of_search, [0.025, 0.975])
    extrapolation = _times(model, first, value)
    return Prediction(
        value=value,
        low=min(float(low), value),
        high=max(float(high), value),
        bottleneck=first,
        utilisation=float(model.used(first, value)) / first.capacity,
        extrapolation=extrapolation,
        loads={str(station): single[station] for station in sorted(single, key=lambda one: single[one])[:8]},
        warnings=tuple(_doubts(model, layout, first, extrapolation)),
    )


def _unmixed(station: Station) -> float:
    """Where a station that has not shown its own limit lies between the two ends of what is possible, as the point."""
    return 0.5 if station.kind == "node" else 0.0


@dataclass(frozen=True)
class _Bound:
    """How full a station can be, by draw; ``own``: how full the measured bottleneck was at ``measured`` requests/s."""

    model: Model
    station: Station
    own: Floats
    measured: Floats

    def load(self, queueing: Floats, unshown: Floats, drawn: bool) -> Floats:
        """Requests/s at which it is full; ``queueing`` and ``unshown`` in 0..1 choose between the readings."""
        full = self._full(unshown, drawn)
        share = self._solve(full, drawn)
        if not self._shown:
            return share
        ratio = share / self.station.parts[0].replicas / (self.measured / self._replicas)
        with np.errstate(divide="ignore", invalid="ignore"):
            fuller = 1 / (1 + np.maximum(1 - full, 0) / full / ratio)
        return self._solve(np.where(full < 1, full + queueing * (fuller - full), full), drawn)

    @property
    def _shown(self) -> bool:
        """Whether it is what broke when the model was measured."""
        return (self.station.kind, self.station.name) == (self.model.bottleneck.kind, self.model.bottleneck.name)

    @property
    def _replicas(self) -> int:
        return self.model.bottleneck.parts[0].replicas

    def _full(self, unshown: Floats, drawn: bool) -> Floats:
        if self._shown:
            return self.own
        if self.station.kind == "service":
            return self.own + unshown * (1 - self.own)
        if self.model.bottleneck.kind == "node":
            return self.own
        return np.maximum(NODE_FULL + _NODE_SPREAD * (2 * unshown - 1), self._held(drawn))

    def _held(self, drawn: bool) -> Floats:
        """How full such a node was at the measured breaking point, which it bore."""
        same = [one for one in stations(self.model.layout) if one.kind == "node"]
        used = [np.asarray(self.model.used(one, self.measured, drawn)) / one.capacity for one in same]
        return np.minimum(np.max(used, axis=0), 1.0) if used else np.zeros(len(self.measured))

    def _solve(self, full: Floats, drawn: bool) -> Floats:
        """By bisection: the CPU asked for never falls with the load."""
        wanted = full * self.station.capacity
        base = self.model.breaking_point.value
        low, high = np.full(len(full), np.log(base / _REACH)), np.full(len(full), np.log(base * _REACH))
        for _ in range(_STEPS):
            middle = (low + high) / 2
            less = self.model.used(self.station, np.exp(middle), drawn) < wanted
            low, high = np.where(less, middle, low), np.where(less, high, middle)
        return np.asarray(np.exp((low + high) / 2), dtype=np.float64)


def _times(model: Model, station: Station, load: float) -> float:
    """The load of a replica there, as a multiple of the measured one; of a node, that of its busiest service."""
    part = max(station.parts, key=lambda one: one.here * _cores(model, one.service, load / one.replicas))
    before = model.layout.count(part.service) or part.replicas
    return (load / part.replicas) / (model.breaking_point.value / before)


def _cores(model: Model, service: str, rate: float) -> float:
    return float(model.demands[service].cores(rate)) if service in model.demands else 0.0


def _doubts(model: Model, layout: Layout, first: Station, extrapolation: float) -> list[str]:
    said = list(model.warnings)
    if extrapolation > FARTHEST * _ROUNDING:
        where = "on" if first.kind == "node" else "of"
        said.append(
            f"extrapolation: each replica {where} {first.name} would serve {extrapolation:.1f} times what was measured;"
            f" beyond {FARTHEST:g} times believe the order of magnitude only"
        )
    unknown = sorted({one.service for one in layout.replicas} - set(model.demands))
    if unknown:
        said.append(f"not measured, so taken to cost nothing: {', '.join(unknown)}")
    return said
