"""The kinds of random fields in requests. Each value is drawn anew for each request, from its number and the seed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from loadstone.model.base import Finding, Matches, Model, beside

_LARGEST = 10**15
_LONGEST_TEXT = 2**20
_MOST_DAYS = 1_000_000


def _real_day(value: str) -> str:
    try:
        if len(value) == len("2015-04-09"):
            date.fromisoformat(value)
            return value
    except ValueError:
        pass
    raise ValueError(f"{value!r} is not a day; write it like 2015-04-09")


Day = Annotated[str, AfterValidator(_real_day), WithJsonSchema({"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"})]
Weight = Annotated[float, Field(gt=0, le=1e9)]
Whole = Annotated[int, Field(ge=-_LARGEST, le=_LARGEST)]
Name = Annotated[str, Matches(r"[A-Za-z_][A-Za-z0-9_]*", "letters, digits and '_', not a digit first")]
"""What stands between braces in a request."""


class IntegerField(Model):
    """A whole number, uniform over ``min`` to ``max``, both included."""

    kind: Literal["integer"]
    min: Whole
    max: Whole
    not_: Annotated[str | None, Field(alias="not")] = None
    """Another field with whole numbers, from which this one always differs."""

    def findings(self) -> Iterator[Finding]:
        if self.min > self.max:
            yield ("min",), f"{self.min} is above max {self.max}"
        elif self.min == self.max and self.not_ is not None:
            yield ("not",), f"min {self.min} = max leaves no value that differs from {self.not_}"


class SeededField(Model):
    """A whole number, uniform over as many as the study's dataset has: ``first`` to ``first`` + KEY - 1."""

    kind: Literal["seeded"]
    of: str
    """The dataset's key with their number: ``users``."""
    first: Annotated[int, Field(ge=0, le=10**12)] = 0
    not_: Annotated[str | None, Field(alias="not")] = None
    """Another field with whole numbers, from which this one always differs."""


class DecimalField(Model):
    """A number on the grid ``min``, ``min + step`` ... ``max``, uniform."""

    kind: Literal["decimal"]
    min: Annotated[float, Field(ge=-_LARGEST, le=_LARGEST)]
    max: Annotated[float, Field(ge=-_LARGEST, le=_LARGEST)]
    step: Annotated[float, Field(gt=0, le=_LARGEST)]

    def findings(self) -> Iterator[Finding]:
        if self.min > self.max:
            yield ("min",), f"{self.min} is above max {self.max}"
        places = max(_decimals(self.min), _decimals(self.step))
        if places > 9 or max(abs(self.min), abs(self.max)) * 10**places > _LARGEST:
            yield (), "too many digits; at most 9 decimals, and 15 digits in all"


def _decimals(value: float) -> int:
    exponent = Decimal(repr(value)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


class ChoiceField(Model):
    """One of ``values``, by ``weights`` where given, else uniform."""

    kind: Literal["choice"]
    values: Annotated[list[str], Field(min_length=1)]
    weights: list[Weight] | None = None
    not_: Annotated[str | None, Field(alias="not")] = None
    """Another choice of the same values, from which this one always differs."""

    def findings(self) -> Iterator[Finding]:
        if self.weights is not None and len(self.weights) != len(self.values):
            yield ("weights",), f"{len(self.weights)} weights for {len(self.values)} values"
        if self.not_ is not None and len(set(self.values)) < len(self.values):
            yield ("values",), "has a value twice; with 'not', give each once, and weights"
        elif self.not_ is not None and len(self.values) == 1:
            yield ("values",), f"one value leaves none that differs from {self.not_}"


class ZipfField(Model):
    """A rank from 1 to ``n``, or the value of that rank, with a probability in proportion to rank ** -``alpha``."""

    kind: Literal["zipf"]
    n: Annotated[int | None, Field(ge=1, le=10**12)] = None
    """Draw a number from 1 to this."""
    values: Annotated[list[str], Field(min_length=1)] | None = None
    """Draw one of these, the most frequent first."""
    alpha: Annotated[float, Field(gt=0, le=20)]
    """How unequal: near 0 all are as frequent, at 1 the first is twice as frequent as the second."""

    def findings(self) -> Iterator[Finding]:
        if (self.n is None) == (self.values is None):
            yield (), "give either 'n' (ranks 1 to n) or 'values' (the most frequent first)"


class TextField(Model):
    """Random characters: ``length`` of them, or ``min`` to ``max``."""

    kind: Literal["text"]
    length: Annotated[int | None, Field(ge=1, le=_LONGEST_TEXT)] = None
    min: Annotated[int | None, Field(ge=0, le=_LONGEST_TEXT)] = None
    max: Annotated[int | None, Field(ge=0, le=_LONGEST_TEXT)] = None
    alphabet: Literal["alnum", "lower", "digits", "hex", "words"] = "alnum"
    """Letters and digits, lower-case letters, digits, hexadecimal digits, or lower-case words with spaces."""

    def findings(self) -> Iterator[Finding]:
        if self.length is not None and (self.min is not None or self.max is not None):
            yield ("length",), "give 'length', or 'min' and 'max', not both"
        elif self.length is None and (self.min is None or self.max is None):
            yield (), "give 'length', or 'min' and 'max'"
        elif self.min is not None and self.max is not None and self.min > self.max:
            yield ("min",), f"{self.min} is above max {self.max}"


class SumField(Model):
    """Another field of whole numbers, plus ``add``: the end of a range that begins there."""

    kind: Literal["sum"]
    of: str
    """The field that is added to."""
    add: Whole


class SequenceField(Model):
    """``start + step * n``, n the request's number: never the same twice in a run. Other operations' requests count."""

    kind: Literal["sequence"]
    start: Whole = 0
    step: Annotated[int, Field(ge=-(10**6), le=10**6)] = 1

    def findings(self) -> Iterator[Finding]:
        if self.step == 0:
            yield ("step",), "0 gives every request the same; use kind choice with one value"


class FileField(Model):
    """A line of a text file, or a value of one column of a CSV file; at most 100 MB."""

    kind: Literal["file"]
    path: Annotated[str, AfterValidator(beside)]
    """Relative to the folder of the file that has this key."""
    column: str | None = None
    """The name of a column in the first row of a CSV file."""
    order: Literal["random", "sequence"] = "random"
    """Any value, or the one at the request's number (and again from the start)."""


class RepeatField(Model):
    """A random number, ``min`` to ``max``, of draws of another field, joined."""

    kind: Literal["repeat"]
    of: str
    """The field that is drawn."""
    min: Annotated[int | None, Field(ge=0, le=10_000)] = None
    max: Annotated[int | None, Field(ge=0, le=10_000)] = None
    as_many_as: str | None = None
    """Instead of ``min`` and ``max``: another repeat, whose number this one takes."""
    separator: str = ""
    """Between two draws."""
    prefix: str = ""
    """Before each draw."""
    suffix: str = ""
    """After each draw."""

    def findings(self) -> Iterator[Finding]:
        if self.as_many_as is not None and (self.min is not None or self.max is not None):
            yield ("as_many_as",), "give 'min' and 'max', or 'as_many_as', not both"
        elif self.as_many_as is None and (self.min is None or self.max is None):
            yield (), "give 'min' and 'max', or 'as_many_as'"
        elif self.min is not None and self.max is not None and self.min > self.max:
            yield ("min",), f"{self.min} is above max {self.max}"


class DateField(Model):
    """A day: from ``from`` to ``to``, or ``min_days`` to ``max_days`` (and at most ``to``) after another field."""

    kind: Literal["date"]
    from_: Annotated[Day | None, Field(alias="from")] = None
    after: str | None = None
    """Another date, from which the days are counted."""
    to: Day | None = None
    min_days: Annotated[int | None, Field(ge=0, le=_MOST_DAYS)] = None
    """By default 1."""
    max_days: Annotated[int | None, Field(ge=0, le=_MOST_DAYS)] = None

    def findings(self) -> Iterator[Finding]:
        if (self.from_ is None) == (self.after is None):
            yield (), "a date needs either 'from' or 'after'"
        if self.from_ is not None and self.to is None:
            yield ("from",), "a date 'from' a day needs 'to'"
        if self.from_ is not None and not (self.min_days is None and self.max_days is None):
            yield ("from",), "'min_days' and 'max_days' go with 'after'; remove them"
        if self.after is not None and self.to is None and self.max_days is None:
            yield ("after",), "a date 'after' another needs 'to' or 'max_days'"
        if self.from_ and self.to and self.from_ > self.to:
            yield ("from",), f"{self.from_} is after to {self.to}"
        if self.max_days is not None and self.fewest_days > self.max_days:
            yield ("max_days",), f"{self.max_days} is below min_days {self.fewest_days}"

    @property
    def fewest_days(self) -> int:
        """How many days after the other date it is at least."""
        return 1 if self.min_days is None else self.min_days


AnyField = (
    IntegerField
    | SeededField
    | DecimalField
    | ChoiceField
    | ZipfField
    | TextField
    | SumField
    | SequenceField
    | FileField
    | RepeatField
    | DateField
)
RandomField = Annotated[AnyField, Field(discriminator="kind")]
