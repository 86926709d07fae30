"""What an answer must be to count as completed, and what is taken out of it for later steps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema

from loadstone.model.base import Finding, Matches, Model

_MOST_BYTES = 10**15
_PATH = r"[^.\s]+(\.[^.\s]+)*"
_TOKEN = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"  # RFC 9110, 5.6.2


def _scalar(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a number that JSON has")
    if value is not None and not isinstance(value, str | int | float):
        raise ValueError("is one value in the answer: give a text, a number, true, false or null")
    return value


Scalar = Annotated[Any, AfterValidator(_scalar), WithJsonSchema({"type": ["string", "number", "boolean", "null"]})]
Status = Annotated[int, Field(ge=200, le=599)]
Source = Annotated[str, Matches(rf"(json:{_PATH}|(header|cookie):{_TOKEN})", "json:PATH, header:NAME or cookie:NAME")]
"""Where in an answer a value is."""


class JsonExpectation(Model):
    """A value in a JSON body that must exist and be equal to ``equals``."""

    path: Annotated[str, Matches(_PATH, "keys and positions with a dot between each, for example items.0.id")]
    """The keys, and the positions in lists counted from 0, that lead to it: ``items.0.id``."""
    equals: Scalar = None
    """A text, a number, true, false or null; by default any value."""

    def plan(self) -> dict[str, Any]:
        """As the load generator reads it."""
        return {"path": self.path} | ({"equals": self.equals} if "equals" in self.model_fields_set else {})


class Expectation(Model):
    """What an answer must be; any other counts as an error of its own kind, not as completed."""

    status: Annotated[list[Status], Field(min_length=1)] | None = None
    """The status codes of correct answers; by default all below 400."""
    json_: Annotated[JsonExpectation | None, Field(alias="json")] = None
    """A value in the body. Each answer is read for it, which costs the load generator some microseconds."""
    min_bytes: Annotated[int | None, Field(ge=0, le=_MOST_BYTES)] = None
    """The fewest bytes that the body may have."""
    max_bytes: Annotated[int | None, Field(ge=0, le=_MOST_BYTES)] = None
    """The most bytes that the body may have."""

    def findings(self) -> Iterator[Finding]:
        if self.status is None and self.json_ is None and self.min_bytes is None and self.max_bytes is None:
            yield (), "expects nothing; give 'status', 'json', 'min_bytes' or 'max_bytes'"
        if self.max_bytes is not None and self.max_bytes < (self.min_bytes or 0):
            yield ("max_bytes",), f"{self.max_bytes} is below min_bytes {self.min_bytes}"

    def plan(self) -> dict[str, Any]:
        """As the load generator reads it."""
        plan: dict[str, Any] = self.model_dump(exclude={"json_"}, exclude_none=True)
        return plan | ({"json": self.json_.plan()} if self.json_ is not None else {})
