"""Optional monitoring stacks of a deployment; no result needs one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from pydantic import model_validator

from loadstone.model.base import Finding, Model

TIER: Literal["tracing"] = "tracing"
"""Of their services."""


class Stack(Model):
    """One stack."""

    node: str | None = None
    """A worker reserved for it, unless ``placement`` puts services there; by default it shares the last worker."""


class Stacks(Model):
    """Which of them run beside the application: ``[prometheus, jaeger]``, or ``{jaeger: {node: worker-3}}``."""

    prometheus: Stack | None = None
    """Counters of nodes, of their containers and of the load, stored and queried."""
    grafana: Stack | None = None
    """Dashboards over what Prometheus keeps: load, services, nodes."""
    jaeger: Stack | None = None
    """Spans of requests, for inspection; ``traces`` sets their share."""

    @model_validator(mode="before")
    @classmethod
    def _names_alone(cls, value: Any) -> Any:
        """Names in a list are stacks without settings."""
        if isinstance(value, str):
            raise ValueError(f"{value!r} is not a list; write [{value}]")
        if isinstance(value, list):
            if twice := next((name for name in value if value.count(name) > 1), None):
                raise ValueError(f"{twice!r} is given twice; remove one")
            return {str(name): {} for name in value}
        return value

    def given(self) -> dict[str, Stack]:
        """The requested stacks by name; Grafana after Prometheus, its source."""
        return {name: stack for name in type(self).model_fields if (stack := getattr(self, name)) is not None}

    def findings(self) -> Iterator[Finding]:
        if self.grafana is not None and self.prometheus is None:
            yield ("grafana",), "shows what Prometheus keeps; add prometheus"

    def clashes(self, services: Iterable[str]) -> Iterator[Finding]:
        """What stands in their way beside an application that has these services."""
        for name in self.given():
            if name in services:
                yield (name,), f"the application has a service {name!r} of its own; leave the stack out"
