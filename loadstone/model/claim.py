"""What a published study claims, in a form that a run confirms, contradicts or cannot tell."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from loadstone.model.base import Finding, Model
from loadstone.model.papers import Measure

_MEASURED_UNDER = ("clients", "generators", "requests", "slo", "stand-ins", "workers")
"""What treatments are distinguished by beside their settings."""


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

    def misspelt(self, settings: list[str]) -> Iterator[Finding]:
        """Names of settings that are misspelt: the claim would be about no treatment, and not be in the report.

        Other unknown names may be factors of another part of the file.
        """
        known = [*settings, *_MEASURED_UNDER]
        for key in ("of", "above", "below"):
            for name in getattr(self, key) or ():
                near = [] if name.split(".")[0] in known else difflib.get_close_matches(name, known, n=1)
                if near and name not in known:
                    yield (key, name), f"{name!r} is not a setting; did you mean {near[0]!r}?"

    def findings(self) -> Iterator[Finding]:
        given = [name for name in ("above", "below", "between") if getattr(self, name) is not None]
        if len(given) != 1:
            yield (), "a claim needs one of 'above', 'below' and 'between'"
        if self.measure in ("anderson_darling", "kolmogorov_smirnov") and self.span is None:
            yield ("span",), f"{self.measure!r} is of a span; 'all requests' for whole requests"
        ends = [end for end in self.between or () if end is not None]
        if self.between == [None, None]:
            yield ("between",), "both ends are open; give a number"
        elif not all(map(math.isfinite, ends)):
            yield ("between",), "an end is no number; write null for one that is open"
        elif len(ends) == 2 and ends[0] > ends[1]:
            yield (
                ("between",),
                f"{ends[0]:g} is above {ends[1]:g}, so nothing lies between them; write the lower one first",
            )
