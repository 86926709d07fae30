"""What the simulator is given: the CPU of a request by service at a rate, and how far measured latencies agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from loadstone.analysis.capacity.bottleneck import Pressed
from loadstone.analysis.capacity.calls import Calls
from loadstone.analysis.capacity.fitting import CapacityModel
from loadstone.analysis.capacity.layout import Layout
from loadstone.analysis.capacity.replica import PERIOD_S
from loadstone.analysis.capacity.simulation import LATENCIES, SimulatedLoad, Work, simulate
from loadstone.analysis.summary import TreatmentSummary
from loadstone.model.records.trial_row import TrialRow

_CASES = 5
_BELOW = 0.95
"""Share of the breaking point up to which trials are simulated: of higher loads only those trials held in which chance
was kind, and they have no latency to compare with."""
TOLERANCE = 0.25
"""Median error of a simulated percentile beyond which it is not predicted."""


def work(model: CapacityModel, layout: Layout, rate: float) -> dict[str, Work]:
    """What each service spends on one request at ``rate`` requests/s; the bottleneck as it was calibrated."""
    found = {}
    for service, demand in model.demands.items():
        if (replicas := layout.count(service)) == 0:
            continue
        if model.pressed is not None and service == model.pressed.service:
            found[service] = _calibrated(model.pressed)
        else:
            found[service] = Work(float(demand.cores(rate / replicas)) * replicas / rate)
    return found


def _calibrated(pressed: Pressed) -> Work:
    """The middle server, as much slower or faster as makes its breaking point that which was measured: what a request
    costs in bursts, and what it costs more where it wakes the replica."""
    middle = len(pressed.servers) // 2
    server, scale = pressed.servers[middle], pressed.breaks[middle] / pressed.measured
    in_bursts = server.cost.in_bursts(server.limit * PERIOD_S)
    return Work(in_bursts * scale, max(server.cost.alone_s - in_bursts, 0.0) * scale, answers=True)


@dataclass(frozen=True)
class Case:
    """A measured trial and its simulation; ms."""

    trial_id: str
    rate: float
    measured_ms: Mapping[str, float | None]
    """By percentile, and of the mean, as those that are simulated."""
    simulated: SimulatedLoad


@dataclass(frozen=True)
class Validation:
    """How the simulator does where it was measured: in trials of the treatment that its model is of."""

    hop_s: float
    """What each call and return takes besides CPU, from the median latency at the lowest load."""
    cases: tuple[Case, ...]
    errors: Mapping[str, float | None]
    """By percentile, and of the mean, the median of |simulated / measured - 1|; None: no case."""

    def holds(self, name: str) -> bool:
        """Whether the simulator is near enough where it was measured for that latency to be shown elsewhere."""
        error = self.errors[name]
        return error is not None and error <= TOLERANCE

    @property
    def contradicted(self) -> int:
        """The number of loads that held when they were measured, and with which the simulator does not keep up."""
        return sum(not case.simulated.stable for case in self.cases)


def validate(model: CapacityModel, treatment: TreatmentSummary, calls: Calls) -> Validation:
    """Simulate trials of the treatment that the model is of, spread over the loads that held.

    Their latencies are held back: but for the median at the lowest load nothing was fitted to them.
    """
    most = _BELOW * model.breaking_point.value
    whole = [row for row in treatment.rows("held") if not row.stopped and row.rate <= most]
    rows = [row for row in whole if row.p50_ms and row.p99_ms]
    rows.sort(key=lambda row: row.rate)
    count = min(_CASES, len(rows))
    chosen = [rows[round(place * (len(rows) - 1) / max(count - 1, 1))] for place in range(count)]
    if not chosen:
        return Validation(0.0, (), dict.fromkeys(LATENCIES))
    hop = _hop(model, chosen[0], calls)
    cases = tuple(_case(model, row, calls, hop) for row in chosen)
    return Validation(hop, cases, {name: _error(cases, name) for name in LATENCIES})


def _hop(model: CapacityModel, row: TrialRow, calls: Calls) -> float:
    """Twice each call but the entry's: there and back."""
    bare = _case(model, row, calls, 0.0).simulated.latency_ms["p50"]
    hops = 2 * (sum(calls.visits().values()) - 1) or 1.0
    measured = row.p50_ms or 0.0
    return max(0.0, (measured - (bare or measured)) / 1e3 / hops)


def _case(model: CapacityModel, row: TrialRow, calls: Calls, hop: float) -> Case:
    rate = row.throughput or row.rate
    simulated = simulate(model.layout, calls, work(model, model.layout, rate), rate, hop)
    measured = {name: getattr(row, f"{name}_ms") for name in LATENCIES}
    return Case(row.trial_id, row.rate, measured, simulated)


def _error(cases: Sequence[Case], name: str) -> float | None:
    """The median error of one percentile. The first case's median says nothing: the simulator was fitted to it."""
    found = []
    for case in cases[1:] if name == "p50" else cases:
        simulated, measured = case.simulated.latency_ms[name], case.measured_ms[name]
        if simulated is not None and measured:
            found.append(abs(simulated / measured - 1))
    return median(found) if found else None
