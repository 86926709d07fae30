"""How one trial is run and how often, and when it ends: by the time, or by a number of requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from loadstone.model.arrival import ArrivalProcess, Replay
from loadstone.model.base import Finding, Model
from loadstone.model.comparison import Repeating, Repetitions
from loadstone.model.load import Count, Load
from loadstone.model.units import LONGEST_S, Duration, Pause, format_seconds

Reset = Literal["never", "per-treatment", "per-trial"]


class WarmupRequests(Model):
    """A warm-up by a number of requests, at the whole rate from its beginning."""

    requests: Count
    """How many, of all clients or arrivals together; they are not counted."""


def _form(value: Any) -> str:
    return "by requests" if isinstance(value, dict | WarmupRequests) else "by the time"


Warmup = Annotated[
    Annotated[Pause, Field(le=LONGEST_S), Tag("by the time")] | Annotated[WarmupRequests, Tag("by requests")],
    Discriminator(_form),
]


class TrialSettings(Model):
    """How one trial is run and how often."""

    warmup: Annotated[Warmup, Field(examples=["5s", {"requests": 5000}])] = 5.0
    """Load before the measured window, which is not counted: for a time, while the rate grows evenly to the whole one;
    or ``{requests: 5000}`` at the whole rate."""
    duration: Annotated[Duration, Field(le=LONGEST_S)] = 30.0
    """The measured window."""
    requests: Count | None = None
    """The number of measured requests, instead of ``duration``. In a closed loop exactly so many are sent, by all
    clients together, and the window ends with the last answer. At a rate the window lasts ``requests`` / rate, and
    ends then: with constant arrivals it has exactly so many, with random arrivals so many on average."""
    limit: Annotated[Duration, Field(le=LONGEST_S)] = 3600.0
    """The longest that a closed loop with a number of requests may take, warm-up excluded if that is a time; a trial
    that takes longer is invalid."""
    repetitions: Repetitions = 1
    """How often each trial (or each search) is done: a number, or ``{least: 10, most: 30, until: {p50: 2%, p99: 5%}}``
    for as many as it takes."""
    order: Literal["interleaved", "sequential"] = "interleaved"
    """``interleaved`` spreads a machine's drift over all treatments; ``sequential`` finishes one after the other."""
    reset: Reset = "per-trial"
    """When stores are emptied and filled anew."""
    redeploy: Literal["per-treatment", "per-trial"] = "per-treatment"
    """When the application is removed and deployed anew."""
    pause: Pause = 0.0
    """How long nothing is sent between the end of a trial and the next one."""
    on_invalid: Literal["continue", "stop"] = "continue"
    """Whether the study goes on after an invalid trial."""

    @property
    def least(self) -> int:
        """Repetitions that are done in any case."""
        return self.repetitions.least if isinstance(self.repetitions, Repeating) else self.repetitions

    @property
    def most(self) -> int:
        """Repetitions that may be done."""
        return self.repetitions.most if isinstance(self.repetitions, Repeating) else self.repetitions

    @property
    def warmup_requests(self) -> int | None:
        """The number of requests that warm up; None where it is a time."""
        return self.warmup.requests if isinstance(self.warmup, WarmupRequests) else None

    def warmup_s(self, rate: float) -> float:
        """How long the warm-up lasts at a rate in requests/s, in seconds; 0 where clients warm up by requests."""
        if not isinstance(self.warmup, WarmupRequests):
            return self.warmup
        return self.warmup.requests / rate if rate else 0.0

    def window_s(self, rate: float) -> float:
        """How long the measured window lasts at a rate in requests/s, in seconds."""
        return self.requests / rate if self.requests is not None and rate else self.duration

    def counts(self, load: Load) -> bool:
        """Whether trials are closed loops that end by a number of requests."""
        return load.closed is not None and (self.requests is not None or load.closed.requests is not None)

    def contradictions(self, load: Load) -> Iterator[Finding]:
        """What does not go together with the load, each at its place in a study."""
        yield from self._given_twice(load)
        counted = {("requests",): self.requests, ("warmup", "requests"): self.warmup_requests}
        for path in (path for path, requests in counted.items() if requests is not None):
            where = ("trial", *path)
            if load.capacity is not None:
                yield where, "the trials of a search last as long as trial.duration and a warm-up in seconds; remove it"
            elif isinstance(load.arrival, Replay):
                yield where, "the requests of a trace are its own; remove it, and give trial.duration"
            elif isinstance(load.arrival, ArrivalProcess) and load.arrival.shape:
                yield where, "a rate with a shape needs a duration that its phases add up to; remove it"
        if load.closed is not None:
            yield from self._wrong_in_a_closed_loop(load)
        elif self.requests is not None:
            for index, rate in enumerate(load.rates or []):
                if (window := self.window_s(rate)) > LONGEST_S:
                    text = f"{self.requests:,} requests at {rate:g}/s take {format_seconds(window)}"
                    yield ("load", "rates", index), f"{text}, more than {format_seconds(LONGEST_S)}; give fewer"

    def _given_twice(self, load: Load) -> Iterator[Finding]:
        each = load.closed.requests if load.closed is not None else None
        if self.requests is not None and each is not None:
            yield ("trial", "requests"), f"load.closed.requests has each client send {each:,}; keep one of the two"
        if self.requests is not None and "duration" in self.model_fields_set:
            yield ("trial", "duration"), "'requests' ends the window; keep one of the two"
        elif each is not None and "duration" in self.model_fields_set:
            text = "the clients' requests end the window"
            yield ("trial", "duration"), f"{text}; remove it, or write trial.limit for the longest that they may take"
        if "limit" in self.model_fields_set and not self.counts(load):
            yield ("trial", "limit"), "is for a closed loop with a number of requests; remove it"

    def _wrong_in_a_closed_loop(self, load: Load) -> Iterator[Finding]:
        assert load.closed is not None
        if self.warmup_requests is not None and not self.counts(load):
            text = "a closed loop that is warmed up by requests is measured by requests"
            yield ("trial", "warmup", "requests"), f"{text}: give trial.requests or load.closed.requests"
        if self.requests is not None and self.requests < (most := max(load.closed.clients)):
            yield ("trial", "requests"), f"{self.requests} is fewer than {most} clients; each sends at least one"
