"""What is wrong with a value, in a sentence that names the value and says what to write instead."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator
from typing import Any

from loadstone.model.base import did_you_mean

Schema = dict[str, Any]
KeyPath = tuple[str | int, ...]


def message(detail: Any, known_keys: list[str]) -> str:
    """The sentence for one of pydantic's error details; ``known_keys`` are those of the object it lies in."""
    context = detail.get("ctx", {})
    shown = show(detail["input"])
    if isinstance(detail["input"], float) and math.isnan(detail["input"]):
        return "expected a number, not .nan"
    match detail["type"]:
        case "missing":
            return "is missing"
        case "extra_forbidden":
            key = str(detail["loc"][-1])
            return f"unknown key {key!r}" + did_you_mean(key, known_keys)
        case "value_error":
            return str(context["error"])
        case "model_type" | "dict_type" | "model_attributes_type":
            return f"expected keys and values, not {shown}" if detail["input"] is not None else "has nothing below it"
        case "list_type" | "tuple_type":
            return f"expected a list, not {shown}; write [{shown}]" if detail["input"] is not None else "is empty"
        case "string_type":
            quoted = isinstance(detail["input"], int | float)
            return f"expected text, not {shown}" + ("; put it in quotes" if quoted else "")
        case "literal_error":
            return f"{shown} is not known here; use {context['expected']}"
        case "int_type" | "int_from_float" | "int_parsing":
            return f"expected a whole number, not {shown}"
        case "float_type" | "float_parsing":
            return f"expected a number, not {shown}"
        case "greater_than":
            return f"{shown} is too small; it must be more than {context['gt']:,.12g}"
        case "greater_than_equal":
            return f"{shown} is too small; it must be at least {context['ge']:,.12g}"
        case "less_than_equal":
            return f"{shown} is too large; it must be at most {context['le']:,.12g}"
        case "too_short":
            return f"needs at least {context['min_length']} entry, has {context['actual_length']}"
        case "union_tag_invalid":
            return f"{context['discriminator']} {context['tag']!r} is not known; use {context['expected_tags']}"
        case "union_tag_not_found":
            return f"{context['discriminator']} is missing"
    return f"{shown}: {detail['msg'][0].lower()}{detail['msg'][1:]}"


def misspelt(details: list[Any], known_keys: Callable[[KeyPath], list[str]]) -> set[KeyPath]:
    """The missing keys that stand in the file, misspelt: naming the unknown key is enough."""
    unknown = [detail["loc"] for detail in details if detail["type"] == "extra_forbidden"]
    return {(*path[:-1], *difflib.get_close_matches(str(path[-1]), known_keys(path[:-1]), n=1)) for path in unknown}


def show(value: Any) -> str:
    """A value as the file has it; of lists and mappings only what they are."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case list() | tuple():
            return "a list"
        case dict():
            return "keys and values"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def known_keys(schema: Schema, path: KeyPath) -> list[str]:
    """The keys that a JSON Schema has for the object at ``path``."""
    nodes = list(_alternatives(schema, schema))
    for part in path:
        below = [child for node in nodes for child in _children(node, part)]
        # Pydantic puts the chosen member of a union into the path; the file has no such level.
        nodes = [found for child in below for found in _alternatives(schema, child)] or nodes
    return [key for node in nodes for key in node.get("properties", {})]


def _children(node: Schema, part: str | int) -> Iterator[Schema]:
    if part in node.get("properties", {}):
        yield node["properties"][part]
    elif isinstance(part, int) and "items" in node:
        yield node["items"]
    elif isinstance(node.get("additionalProperties"), dict):
        yield node["additionalProperties"]


def _alternatives(schema: Schema, node: Schema) -> Iterator[Schema]:
    """``node`` with references and unions resolved."""
    if "$ref" in node:
        yield from _alternatives(schema, schema["$defs"][node["$ref"].rsplit("/", 1)[-1]])
    elif options := node.get("anyOf") or node.get("oneOf") or node.get("allOf"):
        for option in options:
            yield from _alternatives(schema, option)
    else:
        yield node
