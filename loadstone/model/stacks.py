"""Optional monitoring stacks of a deployment; no result needs one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from loadstone.model.base import Finding, Model

TIER: Literal["tracing"] = "tracing"
"""The tier of their services."""
ELASTIC = ("elastic-collector", "elastic-kafka", "elastic-ingester", "elastic-search", "elastic-kibana")
"""The services of the stack ``elastic``; any other stack is one service of its own name."""


class Stack(Model):
    """One stack."""

    node: str | None = None
    """A worker reserved for it, unless ``placement`` puts services there; by default it shares the last worker."""


def names_alone(value: Any) -> Any:
    """Names in a list are stacks without settings."""
    if isinstance(value, str):
        raise ValueError(f"{value!r} is not a list; write [{value}]")
    if isinstance(value, list):
        if twice := next((name for name in value if value.count(name) > 1), None):
            raise ValueError(f"{twice!r} is given twice; remove one")
        return {str(name): {} for name in value}
    return value


class Stacks(Model):
    """Which of them run beside the application: ``[prometheus, jaeger]``, or ``{jaeger: {node: worker-3}}``."""

    prometheus: Stack | None = None
    """Counters of nodes, of their containers and of the load, stored and queried."""
    grafana: Stack | None = None
    """Dashboards over what Prometheus keeps: load, services, nodes."""
    jaeger: Stack | None = None
    """Spans of requests, for inspection; ``traces`` sets their share."""
    elastic: Stack | None = None
    """The trace pipeline of a published study, from images: Jaeger's collector, Kafka, Jaeger's ingester,
    Elasticsearch, Kibana."""

    def given(self) -> dict[str, Stack]:
        """The requested stacks by name; Grafana after Prometheus, its source."""
        return {name: stack for name in type(self).model_fields if (stack := getattr(self, name)) is not None}

    def services(self) -> list[str]:
        """The services of the requested stacks."""
        return [name for stack in self.given() for name in (ELASTIC if stack == "elastic" else (stack,))]

    def findings(self) -> Iterator[Finding]:
        if self.grafana is not None and self.prometheus is None:
            yield ("grafana",), "shows what Prometheus keeps; add prometheus"
        if self.elastic is not None and self.jaeger is not None:
            yield ("elastic",), "takes the spans as jaeger does; leave one of them out"

    def clashes(self, services: Iterable[str]) -> Iterator[Finding]:
        """What stands in their way beside an application that has these services."""
        for stack in self.given():
            for name in ELASTIC if stack == "elastic" else (stack,):
                if name in services:
                    yield (stack,), f"the application has a service {name!r} of its own; leave the stack out"
