"""What a published study claims, in a form that a run confirms, contradicts or cannot tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from loadstone.model.base import Finding, Model
from loadstone.model.papers import Measure


class Claim(Model):
    """One claim: a measure of some treatments is above or below that of others, or lies between two numbers."""

    text: Annotated[str, Field(min_length=1, examples=["vertical scaling moves the break most"])]
    """The claim in words, for the report."""
    measure: Measure
    """What is compared: latencies in ms, loads in requests/s, shares from 0 to 1."""
    at: Literal["highest"] | float | None = None
    """The offered load in requests/s; of a search and of a study with a single load it is left out. Of ``iteration_s``
    the number of the iteration; left out, the mean over all."""
    span: str | None = None
    """The span that a latency or a distance is of, as ``service operation`` or ``all requests``."""
    of: dict[str, Any] = {}
    """Settings of the treatments that it is about, by name; by default all. Of a closed loop also its ``clients``."""
    above: dict[str, Any] | None = None
    """Settings of the treatments that it claims them to be above. Those are compared that are equal in all other
    factors."""
    below: dict[str, Any] | None = None
    """Settings of those that it claims them to be below."""
    between: Annotated[list[float | None] | None, Field(min_length=2, max_length=2)] = None
    """The numbers between which it claims the measure to be; ``null`` leaves an end open."""

    def findings(self) -> Iterator[Finding]:
        given = [name for name in ("above", "below", "between") if getattr(self, name) is not None]
        if len(given) != 1:
            yield (), "a claim needs one of 'above', 'below' and 'between'"
        if self.measure in ("anderson_darling", "kolmogorov_smirnov") and self.span is None:
            yield ("span",), f"{self.measure!r} is of a span; 'all requests' for whole requests"
        if self.between == [None, None]:
            yield ("between",), "both ends are open; give a number"
