"""Workloads: weighted operations whose requests have random, typed fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from loadstone.model.base import Finding, Matches, Model, did_you_mean


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


class IntegerField(Model):
    """A whole number, uniform over ``min`` to ``max``, both included."""

    kind: Literal["integer"]
    min: int
    max: int

    def findings(self) -> Iterator[Finding]:
        if self.min > self.max:
            yield ("min",), f"{self.min} is above max {self.max}"


class DecimalField(Model):
    """A number on the grid ``min``, ``min + step`` ... ``max``, uniform."""

    kind: Literal["decimal"]
    min: float
    max: float
    step: Annotated[float, Field(gt=0)]

    def findings(self) -> Iterator[Finding]:
        if self.min > self.max:
            yield ("min",), f"{self.min} is above max {self.max}"


class ChoiceField(Model):
    """One of ``values``, by ``weights`` where given, else uniform."""

    kind: Literal["choice"]
    values: Annotated[list[str], Field(min_length=1)]
    weights: list[Weight] | None = None

    def findings(self) -> Iterator[Finding]:
        if self.weights is not None and len(self.weights) != len(self.values):
            yield ("weights",), f"{len(self.weights)} weights for {len(self.values)} values"


class DateField(Model):
    """A day: from ``from`` to ``to``, or ``min_days`` to ``max_days`` (and at most ``to``) after another field."""

    kind: Literal["date"]
    from_: Annotated[Day | None, Field(alias="from")] = None
    after: str | None = None
    to: Day | None = None
    min_days: Annotated[int | None, Field(ge=0)] = None
    max_days: Annotated[int | None, Field(ge=0)] = None

    def findings(self) -> Iterator[Finding]:
        if (self.from_ is None) == (self.after is None):
            yield (), "a date needs either 'from' or 'after'"
        if self.from_ is not None and self.to is None:
            yield ("from",), "a date 'from' a day needs 'to'"
        if self.after is not None and self.to is None and self.max_days is None:
            yield ("after",), "a date 'after' another needs 'to' or 'max_days'"
        if self.from_ and self.to and self.from_ > self.to:
            yield ("from",), f"{self.from_} is after to {self.to}"
        if self.min_days is not None and self.max_days is not None and self.min_days > self.max_days:
            yield ("max_days",), f"{self.max_days} is below min_days {self.min_days}"


RandomField = Annotated[IntegerField | DecimalField | ChoiceField | DateField, Field(discriminator="kind")]


class Operation(Model):
    """One kind of request. ``{name}`` in path, headers and body is replaced by the field of that name."""

    weight: Weight = 1.0
    """Its share of the mix, relative to the other operations' weights."""
    method: Literal["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH"] = "GET"
    path: Annotated[str, Matches(r"/\S*", "a path that begins with '/' and has no spaces, for example /hotels")]
    headers: dict[str, str] = {}
    body: str = ""
    fields: dict[str, RandomField] = {}

    def findings(self) -> Iterator[Finding]:
        headers = ((("headers", key), text) for key, text in self.headers.items())
        texts: list[tuple[tuple[str, ...], str]] = [(("path",), self.path), (("body",), self.body), *headers]
        for key, text in texts:
            for name in re.findall(r"\{(\w+)\}", text):
                if name not in self.fields:
                    yield key, f"{{{name}}} is not a field" + did_you_mean(name, list(self.fields))
        for name, field in self.fields.items():
            for path, message in field.findings():
                yield ("fields", name, *path), message
            if isinstance(field, DateField) and field.after:
                yield from self._wrong_order(name, field.after)

    def _wrong_order(self, name: str, after: str) -> Iterator[Finding]:
        where = ("fields", name, "after")
        seen = {name}
        while True:
            other = self.fields.get(after)
            if not isinstance(other, DateField):
                dates = [key for key, field in self.fields.items() if isinstance(field, DateField) and key != name]
                yield where, f"{after!r} is not a date field of this operation" + did_you_mean(after, dates)
                return
            if after in seen:
                yield where, f"{name!r} comes after itself; begin with a date that has 'from'"
                return
            if other.after is None:
                return
            seen.add(after)
            after = other.after


class Workload(Model):
    """A weighted mix of operations."""

    description: str = ""
    operations: Annotated[dict[str, Operation], Field(min_length=1)]

    def findings(self) -> Iterator[Finding]:
        for name, operation in self.operations.items():
            for path, message in operation.findings():
                yield ("operations", name, *path), message
