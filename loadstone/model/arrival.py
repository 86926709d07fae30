"""Arrival processes: how intended send times follow each other, and how the rate goes over the measured window.

In a study ``load.arrival`` is a name (``poisson``), or a process and its keys (``{process: on-off, on: 1s, off: 1s}``).
docs/explanation/arrivals.md describes each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from loadstone.model.base import Finding, Matches, Model, did_you_mean
from loadstone.model.units import LONGEST_S, Duration

SHORTEST_S = 0.001


def _long_enough(value: float) -> float:
    if value < SHORTEST_S:
        raise ValueError(f"{value * 1e3:g}ms is shorter than a load generator can offer; at least 1ms")
    return value


Span = Annotated[Duration, AfterValidator(_long_enough), Field(le=LONGEST_S)]
Factor = Annotated[float, Field(ge=0, le=1e6)]


class Phase(Model):
    """A part of the measured window: steady (``rate``), a ramp (``from``, ``to``) or a sine (``mean``, ``amplitude``,
    ``period``). All but the durations are factors of the load's rate."""

    for_: Annotated[Duration, Field(alias="for", examples=["10s"])]
    """How long it lasts; all phases together last as long as ``trial.duration``."""
    rate: Factor | None = None
    """Steady: the rate."""
    from_: Annotated[Factor | None, Field(alias="from")] = None
    """A ramp: the rate at its beginning."""
    to: Factor | None = None
    """A ramp: the rate at its end."""
    mean: Annotated[float, Field(ge=1e-6, le=1e6)] | None = None
    """A sine: the mean rate; it begins there and rises."""
    amplitude: Annotated[float, Field(ge=-1e6, le=1e6)] | None = None
    """A sine: the amplitude, at most the mean; a negative one begins by falling."""
    period: Span | None = None
    """A sine: the period."""

    def findings(self) -> Iterator[Finding]:
        _, *given = self.model_dump(by_alias=True, exclude_none=True)
        if given not in (["rate"], ["from", "to"], ["mean", "amplitude", "period"]):
            has = ", ".join(given) or "only 'for'"
            yield (), f"has {has}; give rate (steady), or from and to (ramp), or mean, amplitude and period (sine)"
        elif self.mean is not None and self.amplitude is not None and abs(self.amplitude) > self.mean:
            text = f"{self.amplitude:g} is more than the mean, {self.mean:g}: the rate would fall below 0"
            yield ("amplitude",), text

    @property
    def sends(self) -> bool:
        """Whether the rate is ever above 0."""
        return any((self.rate, self.from_, self.to, self.mean))

    @property
    def peak(self) -> float:
        """The highest factor."""
        return max(self.rate or 0.0, self.from_ or 0.0, self.to or 0.0, (self.mean or 0.0) + abs(self.amplitude or 0.0))


class ArrivalProcess(Model):
    """What all processes have in common."""

    process: str

    def to_plan(self, rate: float) -> dict[str, Any]:
        """The ``arrival`` of a plan of ``stone load`` at this mean rate, in requests/s; pure."""
        keys = self.model_dump(by_alias=True, exclude_none=True, exclude={"process"})
        return {"process": self.process, "rate": rate, **_in_seconds(keys)}

    @property
    def peak(self) -> float:
        """The highest rate that lasts, relative to the load's; a trace's own bursts are not known here."""
        return 1.0

    def __str__(self) -> str:
        """As text: ``zipf with n, shape``; the name alone for a process without keys of its own."""
        given = [key for key in type(self).model_fields if key in self.model_fields_set - {"process"}]
        return f"{self.process} with {', '.join(given)}" if given else self.process


def _in_seconds(value: Any) -> Any:
    """The same with the keys of durations as a plan names them: ``for_s``."""
    match value:
        case dict():
            timed = ("for", "period", "on", "off", "dwell")
            return {f"{key}_s" if key in timed else key: _in_seconds(below) for key, below in value.items()}
        case list():
            return [_in_seconds(entry) for entry in value]
    return value


class Shaped(ArrivalProcess):
    """A process whose rate may follow a shape."""

    shape: Annotated[list[Phase], Field(min_length=1)] | None = None
    """Phases in sequence, over the measured window; by default one steady rate."""

    def findings(self) -> Iterator[Finding]:
        phases = self.shape or []
        wrong = [(("shape", n, *path), text) for n, phase in enumerate(phases) for path, text in phase.findings()]
        yield from wrong
        if phases and not wrong and not any(phase.sends for phase in phases):
            yield ("shape",), "the rate is 0 all the time; give a phase that sends"

    @property
    def peak(self) -> float:
        return max((phase.peak for phase in self.shape or []), default=1.0)


class Constant(Shaped):
    """Equal gaps."""

    process: Literal["constant"]
    """Which process this is."""


class Poisson(Shaped):
    """Independent exponential gaps: the requests of many independent users."""

    process: Literal["poisson"]
    """Which process this is."""


class Zipf(Shaped):
    """Independent gaps of 1 to ``n`` units; one of k units has a probability in proportion to 1 / k^alpha. The unit is
    such that the mean rate is the load's."""

    process: Literal["zipf"]
    """Which process this is."""
    n: Annotated[int, Field(ge=1, le=1_000_000)] = 100
    """The longest gap, in units."""
    alpha: Annotated[float, Field(ge=0, le=100)] = 3.0
    """The exponent: longer gaps are rarer; with 0 all are equally probable."""


class OnOff(Shaped):
    """Bursts: Poisson for exponential times of mean ``on``, nothing for exponential times of mean ``off``. The mean
    rate over both is the load's."""

    process: Literal["on-off"]
    """Which process this is."""
    on: Annotated[Span, Field(examples=["1s"])]
    """How long a burst lasts on average."""
    off: Annotated[Span, Field(examples=["1s"])]
    """How long a silence lasts on average."""

    @property
    def peak(self) -> float:
        return super().peak * (self.on + self.off) / self.on


class ModulatedState(Model):
    """One state of a Markov-modulated Poisson process."""

    factor: Factor
    """Its rate relative to the other states'."""
    dwell: Annotated[Span, Field(examples=["2s"])]
    """How long it lasts on average; the times are exponential."""


class Mmpp(Shaped):
    """A Markov-modulated Poisson process: Poisson at a rate that changes from state to state, in a circle. The mean
    rate over all of them is the load's."""

    process: Literal["mmpp"]
    """Which process this is."""
    states: list[ModulatedState]
    """At least two states."""

    def findings(self) -> Iterator[Finding]:
        if len(self.states) < 2:
            yield ("states",), f"{len(self.states)} given; mmpp needs at least two, one alone is poisson"
        elif not any(state.factor for state in self.states):
            yield ("states",), "every factor is 0; give one that is not"
        yield from super().findings()

    @property
    def peak(self) -> float:
        mean = sum(state.factor * state.dwell for state in self.states) / sum(state.dwell for state in self.states)
        return super().peak * max(state.factor for state in self.states) / mean


class Replay(ArrivalProcess):
    """The times of a trace. The window begins with its first request and is cut at its end; the trace is sped up to the
    load's rate unless ``speed`` is given."""

    process: Literal["replay"]
    """Which process this is."""
    file: Annotated[str, Field(examples=["trace.csv"])]
    """CSV or Parquet, relative to the study file; times ascend, as seconds or as a Parquet timestamp."""
    column: Annotated[str | None, Matches(r".+", "the name of a column")] = None
    """The column of the times; by default the first."""
    speed: Annotated[float, Field(gt=0, le=1e6)] | None = None
    """How much faster than recorded, instead of the load's rate."""

    def to_plan(self, rate: float) -> dict[str, Any]:
        plan = super().to_plan(rate)
        return plan if self.speed is None else {key: plan[key] for key in plan if key != "rate"}


_ALONE = ("poisson", "constant", "zipf")
_WITH_KEYS = {
    "on-off": "{process: on-off, on: 1s, off: 1s}",
    "mmpp": "{process: mmpp, states: [{factor: 1, dwell: 2s}, {factor: 4, dwell: 1s}]}",
    "replay": "{process: replay, file: trace.csv}",
}


def _can_stand_alone(value: Any) -> Any:
    if isinstance(value, str) and value not in _ALONE:
        if value in _WITH_KEYS:
            raise ValueError(f"{value!r} needs keys; write {_WITH_KEYS[value]}")
        raise ValueError(f"{value!r} is no arrival process" + did_you_mean(value, [*_ALONE, *_WITH_KEYS]))
    return value


def _form(value: Any) -> str:
    return "with its keys" if isinstance(value, dict | ArrivalProcess) else "by its name"


Arrival = Annotated[
    Annotated[Literal["poisson", "constant", "zipf"], BeforeValidator(_can_stand_alone), Tag("by its name")]
    | Annotated[
        Annotated[Constant | Poisson | Zipf | OnOff | Mmpp | Replay, Field(discriminator="process")],
        Tag("with its keys"),
    ],
    Discriminator(_form),
]
"""An arrival process: its name where it needs no keys, or the process with its keys."""


def arrival_plan(arrival: Arrival, rate: float) -> dict[str, Any]:
    """The ``arrival`` of a plan of ``stone load`` at this mean rate, in requests/s; pure."""
    return {"process": arrival, "rate": rate} if isinstance(arrival, str) else arrival.to_plan(rate)


def shape_seconds(arrival: Arrival) -> float | None:
    """How long the phases last together, in seconds; None where there are none."""
    if isinstance(arrival, Shaped) and arrival.shape is not None:
        return sum(phase.for_ for phase in arrival.shape)
    return None
