"""What a report shows beside its usual parts."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field

from loadstone.model.base import Model


def _once(spans: list[str]) -> list[str]:
    if twice := next((span for span in spans if spans.count(span) > 1), None):
        raise ValueError(f"{twice!r} is given twice; remove one")
    return spans


class Report(Model):
    """Spans whose runs are drawn one by one."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"spans": ["user GET /users/{id}"]}]})

    spans: Annotated[list[str], Field(min_length=1, max_length=6), AfterValidator(_once)]
    """Spans whose single runs, histograms and distances between runs are drawn: ``service operation`` of a span (``user
    GET /users/{id}``), an operation of the workload, or ``all requests``. In comparisons they are a family of tests of
    their own, which those of all other spans and operations do not weaken."""
