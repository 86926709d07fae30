"""Predicts the breaking point of another layout: the load at which its first service or node is saturated.

How the measured bottleneck breaks under its CPU quota is simulated (``pressed``): a prediction is the measured
breaking point times the ratio of two simulated ones, which also covers another objective. Where the
bottleneck has no quota to simulate, it is saturated at its utilisation at the measured breaking point. Two readings of
that are possible for another layout, and a prediction lies midway: the same share, or the same queueing: in heavy
traffic P99 <= T requires (1 - u) / u proportional to 1 / x, x the requests/s of one replica (Kingman, "The single
server queue in heavy traffic", 1961). A station that was no bottleneck has no measured limit: it is assumed to sustain
90 % [80, 100] of its CPU, and a node 86 % [72, 100]: four treatments of Social Network broke at 80, 84, 87 and 93 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from loadstone.analysis.capacity.bottleneck import Pressed
from loadstone.analysis.capacity.demands import Floats
from loadstone.analysis.capacity.fitting import CapacityModel
from loadstone.analysis.capacity.layout import Layout, Station, stations
from loadstone.analysis.capacity.objective import Objective
from loadstone.model.base import abridged

FARTHEST = 2.0
"""A replica's load beyond this many times the measured one is extrapolation: predictions err by tens of percent."""
_ROUNDING = 1.05
_BREAKS_AT = {"service": (0.9, 0.1), "node": (0.86, 0.14)}
"""Share of its CPU, plus or minus, at which a station breaks that was no bottleneck when the model was measured."""
_ERROR, _BY_LIMIT, _BY_REPLICAS, _BY_OBJECTIVE, _BY_MISFIT = 0.02, 0.03, 0.015, 0.15, 0.3
"""Standard deviation of the logarithm of the model's error: at least, more for each doubling or halving of the quota,
the replicas or the limit of latency, and more by this share of how far the simulation misses the measured breaking
point. Assumptions, which predictions that were measured correct (``registered.scale``)."""
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


def predict(
    model: CapacityModel,
    layout: Layout,
    precision: float = 0.0,
    objective: Objective | None = None,
    scale: float = 1.0,
) -> Prediction:
    """The breaking point of ``layout``, under another ``objective`` where one is given.

    The interval is for a later search that measures to a relative ``precision``, on a machine that may have changed as
    much as equal trials differ from run to run. ``scale`` multiplies the model's own error.
    Raises ValueError where another objective cannot be simulated, or is kept at no load.
    """
    if objective is not None and model.pressed is None:
        raise ValueError("another objective can be predicted only where the bottleneck is a service with a CPU limit")
    measured = model.point_draws()
    z = model.draws
    own = np.asarray(model.used(model.bottleneck, measured, drawn=True)) / model.bottleneck.capacity
    mix = np.random.default_rng(2).uniform(size=(len(z), 2))
    single: dict[Station, float] = {}
    drawn: dict[Station, Floats] = {}
    for station in stations(layout):
        if model.pressed is not None and model.is_bottleneck(station):
            count = station.parts[0].replicas
            if objective is not None and not model.pressed.keeps(station.capacity, count, objective):
                raise ValueError(f"at no load does {station} keep the objective: requests alone take longer")
            ratios, spread = _simulated(model, model.pressed, station, objective)
            single[station] = model.breaking_point.value * float(np.exp(np.log(ratios).mean()))
            chosen = ratios[(mix[:, 0] * len(ratios)).astype(int)]
            drawn[station] = measured * chosen * np.exp(scale * spread * _standard(4, len(z)))
            continue
        middle = _Bound(model, station, np.array([model.utilisation]), np.array([model.breaking_point.value]))
        many = _Bound(model, station, own, measured)
        single[station] = float(middle.load(np.array([0.5]), np.array([0.5]), False)[0])
        drawn[station] = many.load(mix[:, 0], mix[:, 1], True)
    if not single:
        raise ValueError("nothing in the layout has a CPU limit or a node with known cores")
    first = min(single, key=lambda station: single[station])
    value = single[first]
    of_search = np.exp(math.hypot(precision / 1.96, model.slope) * _standard(3, len(z)))
    low, high = np.quantile(np.min(list(drawn.values()), axis=0) * of_search, [0.025, 0.975])
    extrapolation = _times(model, first, value)
    return Prediction(
        value=value,
        low=min(float(low), value),
        high=max(float(high), value),
        bottleneck=first,
        utilisation=min(float(model.used(first, value)) / first.capacity, 1.0),
        extrapolation=extrapolation,
        loads={str(station): single[station] for station in sorted(single, key=lambda name: single[name])[:8]},
        warnings=tuple(_doubts(model, layout, first, extrapolation)),
    )


def _standard(seed: int, count: int) -> Floats:
    return np.asarray(np.random.default_rng(seed).standard_normal(count), dtype=np.float64)


def _simulated(
    model: CapacityModel, pressed: Pressed, station: Station, objective: Objective | None
) -> tuple[Floats, float]:
    """The breaking points relative to the measured one, equally likely, and the error of the model, as a logarithm."""
    wanted = objective or pressed.objective
    before, (part,) = model.bottleneck.parts[0], station.parts
    error = _ERROR + _BY_MISFIT * abs(model.misfit)
    error += _BY_LIMIT * abs(math.log2(station.capacity / model.bottleneck.capacity))
    error += _BY_REPLICAS * abs(math.log2(part.replicas / before.replicas))
    error += _BY_OBJECTIVE * wanted.doublings(pressed.objective)
    return pressed.ratios(station.capacity, part.replicas, wanted), error


@dataclass(frozen=True)
class _Bound:
    """How full a station can be, by draw; ``own``: how full the measured bottleneck was at ``measured`` requests/s."""

    model: CapacityModel
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
        return self.model.is_bottleneck(self.station)

    @property
    def _replicas(self) -> int:
        return self.model.bottleneck.parts[0].replicas

    def _full(self, unshown: Floats, drawn: bool) -> Floats:
        if self._shown:
            return self.own
        if self.station.kind == self.model.bottleneck.kind == "node":
            return self.own
        middle, spread = _BREAKS_AT[self.station.kind]
        return np.maximum(middle + spread * (2 * unshown - 1), self._held(drawn))

    def _held(self, drawn: bool) -> Floats:
        """How full the like of it was at the measured breaking point, which it bore."""
        kind, name = self.station.kind, self.station.name
        same = [
            station
            for station in stations(self.model.layout)
            if station.kind == kind and (kind == "node" or station.name == name)
        ]
        used = [np.asarray(self.model.used(same_kind, self.measured, drawn)) / same_kind.capacity for same_kind in same]
        return np.minimum(np.max(used, axis=0), 1.0) if used else np.zeros(len(self.measured))

    def _solve(self, full: Floats, drawn: bool) -> Floats:
        """By bisection: CPU use never falls with the load."""
        wanted = full * self.station.capacity
        base = self.model.breaking_point.value
        low, high = np.full(len(full), np.log(base / _REACH)), np.full(len(full), np.log(base * _REACH))
        for _ in range(_STEPS):
            middle = (low + high) / 2
            less = self.model.used(self.station, np.exp(middle), drawn) < wanted
            low, high = np.where(less, middle, low), np.where(less, high, middle)
        return np.asarray(np.exp((low + high) / 2), dtype=np.float64)


def _times(model: CapacityModel, station: Station, load: float) -> float:
    """The load of a replica there, as a multiple of the measured one; of a node, that of its busiest service."""
    part = max(station.parts, key=lambda share: share.here * _cores(model, share.service, load / share.replicas))
    before = model.layout.count(part.service) or part.replicas
    return (load / part.replicas) / (model.breaking_point.value / before)


def _cores(model: CapacityModel, service: str, rate: float) -> float:
    return float(model.demands[service].cores(rate)) if service in model.demands else 0.0


def _doubts(model: CapacityModel, layout: Layout, first: Station, extrapolation: float) -> list[str]:
    doubts = list(model.warnings)
    if extrapolation > FARTHEST * _ROUNDING:
        where = "on" if first.kind == "node" else "of"
        doubts.append(
            f"extrapolation: each replica {where} {first.name} would serve {extrapolation:.1f} times what was measured;"
            f" beyond {FARTHEST:g} times only the order of magnitude is reliable"
        )
    too_large = sorted({r.service for r in layout.replicas if (r.limit or 0.0) > layout.cores.get(r.node, math.inf)})
    if too_large:
        doubts.append(f"such a study is refused, as no node has the cores of a limit: {abridged(too_large, 3)}")
    unknown = sorted({replica.service for replica in layout.replicas} - set(model.demands))
    if unknown:
        doubts.append(f"not measured, and assumed to use no CPU: {', '.join(unknown)}")
    return doubts
