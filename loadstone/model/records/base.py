"""What all records share."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""A whole number as tables have them: of 64 bits."""
_Item = TypeVar("_Item")
Items = Annotated[tuple[_Item, ...], BeforeValidator(lambda value: () if value is None else value)]
"""A list; Go writes an empty one as null."""


class Record(BaseModel):
    """Immutable; keys that this release does not know are left out."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)
