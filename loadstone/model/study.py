"""A study: what to vary, how to load it, what is good enough, how often."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator

from loadstone.model.application import Resources
from loadstone.model.base import Finding, Model, did_you_mean
from loadstone.model.cluster import Cluster
from loadstone.model.slo import Slo
from loadstone.model.units import Duration, Pause, Share

Rate = Annotated[float, Field(gt=0, le=10_000_000)]
Scaling = Literal["baseline", "vertical", "horizontal", "unlimited"]
Profile = Literal["default", "dsb-quirks", "paper"]
Environment = Literal["bare", "container", "vm", "vm-container"]
Reset = Literal["never", "per-treatment", "per-trial"]


class Settings(Model):
    """One level of every factor: what a treatment fixes."""

    orchestrator: str = "process"
    scaling: Scaling = "baseline"
    profile: Profile = "default"
    documents: Literal["postgres", "mongodb"] = "postgres"
    environment: Environment = "bare"
    high_availability: Literal["on", "off"] = "off"
    workload: str | None = None

    @field_validator("high_availability", mode="before")
    @classmethod
    def _on_off(cls, value: Any) -> Any:
        return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value


class Capacity(Model):
    """Search for the breaking point under an SLO, to a relative ``precision``."""

    slo: Slo
    precision: Annotated[Share, Field(ge=0.01, le=0.5)] = 0.05
    start: Rate = 100.0
    highest: Rate = 100_000.0
    bracket_duration: Duration = 10.0

    def findings(self) -> Iterator[Finding]:
        if self.start >= self.highest:
            yield ("start",), f"start {self.start:g} is not below highest {self.highest:g}"


class Load(Model):
    """How load is offered: fixed ``rates``, or a ``capacity`` search. Rates are requests per second."""

    arrival: Literal["poisson", "constant"] = "poisson"
    rates: Annotated[list[Rate], Field(min_length=1)] | None = None
    capacity: Capacity | None = None
    slo: Slo | None = None
    """What a trial at a fixed rate is judged by."""
    connections: Annotated[int, Field(ge=1, le=20_000)] = 64
    threads: Annotated[int, Field(ge=1, le=64)] = 1
    timeout: Duration = 5.0
    drain: Duration | None = None
    wait: Literal["auto", "precise", "tick", "spin"] = "auto"
    seed: Annotated[int, Field(ge=0)] = 1

    def findings(self) -> Iterator[Finding]:
        if (self.rates is None) == (self.capacity is None):
            yield (), "give either 'rates' (a list of requests per second) or 'capacity' (an SLO to search for)"
        if self.rates is not None and self.slo is None:
            yield (), "fixed 'rates' need an 'slo' to be judged by, for example slo: {p99: 200ms}"
        if self.capacity is not None and self.slo is not None:
            yield ("slo",), "the SLO of a capacity search stands under 'capacity'"
        if self.rates is not None and len(set(self.rates)) != len(self.rates):
            yield ("rates",), "a rate is given twice; use trial.repetitions to repeat"
        if self.capacity is not None:
            for path, message in self.capacity.findings():
                yield ("capacity", *path), message
        if (slo := self.objective) is not None:
            where = ("slo",) if self.capacity is None else ("capacity", "slo")
            for percentile, limit in slo.limits.items():
                if limit >= self.timeout * 1000:
                    message = f"{limit:g} ms is not below load.timeout {self.timeout:g} s"
                    yield (*where, f"p{percentile:g}".replace(".", "")), message

    @property
    def objective(self) -> Slo | None:
        """The SLO, wherever it stands."""
        return self.capacity.slo if self.capacity is not None else self.slo


class TrialSettings(Model):
    """How one trial is run and how often."""

    warmup: Pause = 5.0
    duration: Duration = 30.0
    repetitions: Annotated[int, Field(ge=1, le=1000)] = 1
    order: Literal["interleaved", "sequential"] = "interleaved"
    reset: Reset = "per-trial"
    on_invalid: Literal["continue", "stop"] = "continue"


class Study(Settings):
    """One study file."""

    version: Literal[1]
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    description: str = ""
    application: str
    cluster: Cluster = Cluster()
    factors: dict[str, Annotated[list[Any], Field(min_length=1)]] = {}
    except_: Annotated[list[dict[str, Any]], Field(alias="except")] = []
    resources: dict[str, Resources] = {}
    """Limits that replace those of the application, by service."""
    load: Load
    trial: TrialSettings = TrialSettings()

    def findings(self) -> Iterator[Finding]:
        """Contradictions in the file itself; what needs the application or adapters is checked by the plan."""
        for path, message in self.load.findings():
            yield ("load", *path), message
        yield from self._wrong_factors()
        if (
            self.load.capacity is not None
            and self.trial.duration < 2 * max(self.load.capacity.slo.limits.values()) / 1000
        ):
            yield ("trial", "duration"), "is shorter than twice the SLO's latency"

    def _wrong_factors(self) -> Iterator[Finding]:
        names = list(Settings.model_fields)
        for name, levels in self.factors.items():
            if name not in names:
                yield ("factors", name), f"{name!r} is not a factor" + did_you_mean(name, names)
                continue
            if name in self.model_fields_set:
                yield (name,), f"{name!r} is a setting and a factor at once; keep one"
            seen: list[Any] = []
            for index, level in enumerate(levels):
                where = ("factors", name, index)
                if level in seen:
                    yield where, f"level {level!r} is given twice"
                seen.append(level)
                try:
                    Settings.model_validate({name: level})
                except ValidationError as error:
                    detail = error.errors()[0]
                    expected = detail.get("ctx", {}).get("expected")
                    reason = f"use one of {expected}" if expected else detail["msg"]
                    yield where, f"{level!r} is not a level of {name!r}: {reason}"
        for index, dropped in enumerate(self.except_):
            for key in dropped:
                if key not in self.factors:
                    message = f"{key!r} is not a factor of this study" + did_you_mean(key, list(self.factors))
                    yield ("except", index, key), message

    def treatments(self) -> list[Settings]:
        """The cross product of the factors' levels without what ``except`` drops, in file order."""
        fixed = {name: getattr(self, name) for name in Settings.model_fields}
        result = []
        for levels in itertools.product(*self.factors.values()):
            chosen = dict(zip(self.factors, levels, strict=True))
            if not any(all(chosen.get(k) == v for k, v in drop.items()) for drop in self.except_ if drop):
                result.append(Settings.model_validate({**fixed, **chosen}))
        return result
