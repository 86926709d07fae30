"""What all records share."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""A whole number as tables have them: of 64 bits."""


class NullIsEmpty:
    """Go writes an empty list as null."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        items = handler(source)
        return core_schema.no_info_before_validator_function(
            lambda value: () if value is None else value,
            items,
            json_schema_input_schema=core_schema.nullable_schema(items),
        )


_Item = TypeVar("_Item")
Items = Annotated[tuple[_Item, ...], NullIsEmpty()]
"""A list."""


class Record(BaseModel):
    """Immutable; keys that this release does not know are left out."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, defer_build=True)


def writers_schema(record: type[Record]) -> dict[str, Any]:
    """The JSON Schema of what this release may write: what readers need, and no key that they do not know."""
    schema = record.model_json_schema(by_alias=True)
    for part in (schema, *schema.get("$defs", {}).values()):
        if "properties" in part:
            part.setdefault("additionalProperties", False)
    return schema
