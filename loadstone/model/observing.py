"""What a study observes while it loads: spans of requests, and counters of nodes and replicas."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from loadstone.model.base import Matches, Model
from loadstone.model.units import Duration, format_seconds, format_share, share


def _sample(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return share(value)
    if not 0 <= value <= 1:
        raise ValueError(f"{value!r} is no share of requests; use 0 to 1, or 0% to 100%")
    return float(value)


_RECEIVER_LIMIT = 100_000.0
"""Spans/s that a receiver takes on one core (docs/explanation/performance.md)."""
_SPANS_OF_SERVICE = 2
"""Spans of a traced request in each service, as long as nothing has been measured: one of its own and one of what it
calls."""
_MOST_RECEIVERS = 100
Sample = Annotated[
    float,
    BeforeValidator(_sample),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                {"type": "string", "pattern": r"^[0-9.]+\s*%$", "examples": ["1%"], "quantity": "percentage"},
            ]
        }
    ),
]


class Traces(Model):
    """Spans of a share of the requests, from every service and store access."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"sample": "1%"}]})

    sample: Sample = 1.0
    """Share of requests that are traced, from entry to the last store, the same in every service: ``1%`` or ``0.01``;
    with 0 nothing is."""
    forward: Annotated[str | None, Matches(r"[^\s/]+:\d{1,5}", "host:port of something that takes OTLP over gRPC")] = (
        None
    )
    """Where spans are sent on to as well, a Jaeger for one: ``10.0.0.7:4317``."""
    receivers: Annotated[int, Field(ge=1, le=_MOST_RECEIVERS)] | None = None
    """How many receivers take a share of the traces each, on the machines with the role ``client``, in turn where there
    are fewer of them; one takes 100,000 spans/s. By default as many as the highest rate needs if each service of the
    application makes two spans of a traced request."""

    def receivers_needed(self, rate: float | None, services: int) -> int:
        """How many take the spans of a rate in requests/s; 1 where answers or a trace decide the rate."""
        spans = (rate or 0.0) * self.sample * _SPANS_OF_SERVICE * services
        return min(max(1, math.ceil(spans / _RECEIVER_LIMIT)), _MOST_RECEIVERS)

    def __str__(self) -> str:
        """``sample:1%,receivers:2``, for labels."""
        sample = f"sample:{format_share(self.sample)}"
        return sample if self.receivers in (None, 1) else f"{sample},receivers:{self.receivers}"


class Metrics(Model):
    """Counters of each node, its containers, its C-states and its power, in every trial."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"period": "1s"}]})

    period: Annotated[Duration, Field(ge=0.1, le=60)] = 1.0
    """The time between two readings: 100 ms to a minute."""

    def __str__(self) -> str:
        """``period:1s``, for labels."""
        return f"period:{format_seconds(self.period)}"


Off = Annotated[Literal["off"], WithJsonSchema({"type": "string", "enum": ["off"]})]
"""How a setting is left out, also as a level of a factor."""


def or_off(value: Any) -> Any:
    """``off`` is nothing, also as a level of a factor; older YAML reads the word as false."""
    return None if value == "off" or value is False else value
