"""What disturbs an application while it is measured."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from loadstone.model.application import Resources
from loadstone.model.base import Model
from loadstone.model.load import Rate
from loadstone.model.units import Share, format_memory, format_share

StressorKind = Literal["cpu", "cache", "stream", "vm", "switch", "fork", "io", "hdd", "sock", "udp"]


class Stressor(Model):
    """Processes of ``stress-ng`` in a control group of their own, on the cores of the nodes that they disturb."""

    stressor: StressorKind
    """What is used up: ``cpu``, ``cache``, ``stream`` (memory bandwidth), ``vm`` (memory), ``switch`` (context
    switches), ``fork`` (processes), ``io`` (sync), ``hdd`` (writes and reads of files), ``sock`` and ``udp`` (network
    stack)."""
    workers: Annotated[int, Field(ge=1, le=1024)] = 1
    """Processes on each node that do so."""
    load: Share | None = None
    """For ``cpu`` alone: the share of a core that each worker keeps busy; by default all of it."""
    on: str | None = None
    """A service, for the nodes of its replicas, or a node; by default every worker node."""
    limits: Resources = Resources()
    """CPU and memory of all its processes on a node together; by default not limited."""

    @model_validator(mode="after")
    def _a_load_that_can_be_set(self) -> Self:
        if self.load is not None and self.stressor != "cpu":
            raise ValueError(f"stressor {self.stressor!r} has no load; hold it to limits: {{cpu: 0.5}} instead")
        if self.load == 0:
            raise ValueError("load 0% disturbs nothing; write interference: off")
        return self

    def __str__(self) -> str:
        """``cpu,load:50%,on:search``, for labels."""
        limits = {"cpu": self.limits.cpu, "memory": self.limits.memory and format_memory(self.limits.memory)}
        parts = {
            "workers": self.workers if self.workers > 1 else None,
            "load": None if self.load is None else format_share(self.load),
            "on": self.on,
            "limits": "+".join(f"{name}={value}" for name, value in limits.items() if value is not None) or None,
        }
        return ",".join([self.stressor, *(f"{name}:{value}" for name, value in parts.items() if value is not None)])


class Neighbour(Model):
    """Another application on the nodes of the first, loaded at a constant rate by a generator of its own."""

    application: Annotated[str, Field(examples=["shop"])]
    """A built-in application's name, or the path of an application file, relative to the study file."""
    rate: Annotated[Rate, Field(examples=[20])]
    """Requests per second, from before the warm-up until the end of the measured window."""
    workload: str | None = None
    """A workload of that application; by default its own default."""
    on: str | None = None
    """A service of the measured application, for the nodes of its replicas, or a node; by default every worker
    node."""
    resources: dict[str, Resources] = {}
    """Limits that replace those of the other application, by its services."""

    def __str__(self) -> str:
        """``shop,rate:20,on:search``, for labels."""
        parts = {"rate": f"{self.rate:.12g}", "workload": self.workload, "on": self.on}
        limits = {
            f"{service}.{name}": value
            for service, given in self.resources.items()
            for name, value in (("cpu", given.cpu), ("memory", given.memory and format_memory(given.memory)))
        }
        named = [*parts.items(), *limits.items()]
        return ",".join([self.application, *(f"{name}:{value}" for name, value in named if value is not None)])


def _form(value: Any) -> str:
    application = isinstance(value, Neighbour) or (isinstance(value, dict) and "application" in value)
    return "an application" if application else "a stressor"


Disturbing = Annotated[
    Annotated[Stressor, Tag("a stressor")] | Annotated[Neighbour, Tag("an application")], Discriminator(_form)
]
