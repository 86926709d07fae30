"""How treatments are compared, and how often a trial is repeated until enough is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

from pydantic import AfterValidator, Discriminator, Field, Tag

from loadstone.model.base import Finding, Model
from loadstone.model.errors import InputError
from loadstone.model.units import Share, format_share, share

FEWEST_PAIRS = 7
"""With fewer no difference can be shown: of 6 pairs that all differ the same way the exact p is 3.1 %, and P50 and P99
are tested together, so 6.2 % after correction."""
_MOST = 1000


def _possible_share(value: float) -> float:
    if not 0.001 <= value <= 0.5:
        raise ValueError(f"{format_share(value)} is not between 0.1% and 50%; 2% is usual")
    return value


_FEW = replace(share, examples=("5%",))
"""As users write what is small."""


def given_share(option: str, text: str | None) -> float | None:
    """The share that an option of the command line gives; raises InputError naming it."""
    try:
        return None if text is None else _possible_share(_FEW(text))
    except ValueError as error:
        raise InputError(f"{option}: {error}") from None


_Few = Annotated[Share, AfterValidator(_possible_share)]


class Comparison(Model):
    """Every treatment is compared with one of them, the baseline.

    At fixed loads the baseline runs twice in each block, and every run of a block has a deployment of its own: what
    the two runs of the same thing differ by (A/A) is the noise that all other differences are seen through.
    """

    baseline: Annotated[dict[str, Any], Field(examples=[{"orchestrator": "swarm"}])] = {}
    """Levels by factor; the first treatment that has them is the baseline; by default the first treatment."""
    margin: _Few = 0.02
    """Differences within this margin count as practically equal: up to 2 % longer, or as much shorter."""


class Until(Model):
    """How exactly the latency of each treatment shall be known at each load: half of its 95 % interval."""

    p50: _Few | None = None
    """The precision of the median."""
    p90: _Few | None = None
    """The precision of the 90th percentile."""
    p99: _Few | None = None
    """The precision of the 99th percentile."""
    p999: _Few | None = None
    """The precision of the 99.9th percentile."""

    def findings(self) -> Iterator[Finding]:
        if not self.wanted:
            yield (), "names no percentile; write for example {p50: 2%, p99: 5%}"

    @property
    def wanted(self) -> dict[str, float]:
        """The share by percentile, of those that are given."""
        return {name: share for name in type(self).model_fields if (share := getattr(self, name)) is not None}


_Count = Annotated[int, Field(ge=1, le=_MOST)]


class Repeating(Model):
    """Repetitions until enough is known; looked at between whole blocks. A precision that is not reached is
    reported."""

    least: _Count = 10
    """The least number of repetitions."""
    most: _Count = 30
    """The greatest number of repetitions."""
    every: _Count = 5
    """The precision is checked again after so many further repetitions."""
    until: Until = Until(p50=0.02, p99=0.05)
    """Repetitions end when all these precisions are reached."""

    def findings(self) -> Iterator[Finding]:
        if self.least < 2:
            yield ("least",), f"{self.least} gives no spread; repeat at least twice"
        if self.most <= self.least:
            yield (
                ("most",),
                f"{self.most} is not above 'least', {self.least}; write repetitions: {self.least} for these",
            )
        yield from ((("until", *path), text) for path, text in self.until.findings())

    @property
    def looks(self) -> range:
        """After which repetitions it is looked whether enough is known."""
        return range(self.least, self.most, self.every)


def _form(value: Any) -> str:
    return "with its keys" if isinstance(value, dict | Repeating) else "as a number"


Repetitions = Annotated[
    Annotated[_Count, Tag("as a number")] | Annotated[Repeating, Tag("with its keys")], Discriminator(_form)
]
"""How often: a number, or a rule that ends it."""
