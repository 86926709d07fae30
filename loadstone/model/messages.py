"""Describes an invalid value in a sentence with the value and a valid example."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator
from typing import Any

from loadstone.model import hints, yaml12
from loadstone.model.base import did_you_mean, show
from loadstone.model.units import FORMATS

Schema = dict[str, Any]
KeyPath = tuple[str | int, ...]


def message(detail: Any, schema: Schema) -> str:
    """The sentence for one of pydantic's error details about a value of the model that has this JSON Schema."""
    context, value, path = detail.get("ctx", {}), detail["input"], detail["loc"]
    shown, limit = show(value), _limits(schema, path)
    if isinstance(value, float) and math.isnan(value):
        return "expected a number, not .nan"
    match detail["type"]:
        case "missing":
            return "is missing" + _example(schema, path)
        case "extra_forbidden":
            hint = hints.of_key(path) or did_you_mean(str(path[-1]), known_keys(schema, path[:-1]))
            return f"unknown key {str(path[-1])!r}{hint}"
        case "value_error":
            return str(context["error"])
        case "model_type" | "dict_type" | "model_attributes_type":
            text = "has nothing below it" if value is None else f"expected keys and values, not {shown}"
            return text + _example(schema, path)
        case "list_type" | "tuple_type":
            remedy = "begin each entry with '- '" if isinstance(value, dict) or value is None else f"write [{shown}]"
            return f"expected a list, not {shown}; {remedy}"
        case "string_type":
            quoted = isinstance(value, int | float)
            return f"expected text, not {shown}" + ("; put it in quotes" if quoted else _example(schema, path))
        case "literal_error":
            if value is None:
                return f"has no value; use {context['expected'].replace('True', 'true')}, or leave it out"
            return f"{shown} is not known here; use {context['expected'].replace('True', 'true')}"
        case "int_type" | "int_from_float" | "int_parsing":
            return f"expected a whole number, not {shown}"
        case "float_type" | "float_parsing":
            return f"expected a number, not {shown}{hints.of_number(value)}"
        case "greater_than":
            return f"{shown} is too small; it must be more than {limit(context['gt'])}"
        case "greater_than_equal":
            return f"{shown} is too small; it must be at least {limit(context['ge'])}"
        case "less_than_equal":
            return f"{shown} is too large; it must be at most {limit(context['le'])}"
        case "too_short":
            return f"is empty; it needs at least {context['min_length']} entry"
        case "union_tag_invalid":
            return f"{context['tag']!r} is no {context['discriminator']} known here; use {context['expected_tags']}"
        case "union_tag_not_found":
            return f"{context['discriminator']} is missing"
    return f"{shown}: {detail['msg'][0].lower()}{detail['msg'][1:]}"


def _limits(schema: Schema, path: KeyPath) -> Callable[[float], str]:
    """How the limits of the value at ``path`` are written: of a quantity with its unit, as in the file."""
    quantity = next((node["quantity"] for node in _at(schema, path) if "quantity" in node), None)
    return FORMATS[quantity] if quantity is not None else _limit


def _limit(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.12g}"


def _example(schema: Schema, path: KeyPath) -> str:
    for node in _at(schema, path):
        for example in (*node.get("examples", []), *([node["const"]] if "const" in node else [])):
            return f"; for example {yaml12.line({path[-1]: example})[1:-1]}"
    return ""


def misspelt(details: list[Any], known_keys: Callable[[KeyPath], list[str]]) -> set[KeyPath]:
    """The missing keys that stand in the file, misspelt: naming the unknown key is enough."""
    unknown = [detail["loc"] for detail in details if detail["type"] == "extra_forbidden"]
    return {(*path[:-1], *difflib.get_close_matches(str(path[-1]), known_keys(path[:-1]), n=1)) for path in unknown}


def brief(value: Any) -> str:
    """A value of a file as a name: ``8``, ``on``, ``100,200``, ``cpu:1,memory:1GiB``."""
    match value:
        case None:
            return "none"
        case bool():
            return "on" if value else "off"
        case list() | tuple():
            return ",".join(map(brief, value))
        case dict():
            return str(value.get("name") or ",".join(f"{key}:{brief(each)}" for key, each in value.items()))
        case float():
            return f"{value:.12g}"
    return str(value)


def known_keys(schema: Schema, path: KeyPath) -> list[str]:
    """The keys that a JSON Schema has for the object at ``path``."""
    return [key for node in _at(schema, path) for key in node.get("properties", {})]


def _at(schema: Schema, path: KeyPath) -> list[Schema]:
    """The JSON Schemas of the value at ``path``: several where it is a union."""
    nodes = list(_alternatives(schema, schema))
    for part in path:
        below = [child for node in nodes for child in _children(node, part)]
        # Pydantic puts the chosen member of a union into the path; the file has no such level.
        chosen = [
            node for node in nodes if any(branch.get("const") == part for branch in node.get("properties", {}).values())
        ]
        nodes = [found for child in below for found in _alternatives(schema, child)] or chosen or nodes
    return nodes


def _children(node: Schema, part: str | int) -> Iterator[Schema]:
    if part in node.get("properties", {}):
        yield node["properties"][part]
    elif isinstance(part, int) and "items" in node:
        yield node["items"]
    else:
        yield from node.get("patternProperties", {}).values()
        if isinstance(node.get("additionalProperties"), dict):
            yield node["additionalProperties"]


def _alternatives(schema: Schema, node: Schema) -> Iterator[Schema]:
    """``node`` with references and unions resolved; what stands beside a reference is kept."""
    if "$ref" in node:
        for found in _alternatives(schema, schema["$defs"][node["$ref"].rsplit("/", 1)[-1]]):
            yield {**found, **node}
    elif options := node.get("anyOf") or node.get("oneOf") or node.get("allOf"):
        for option in options:
            yield from _alternatives(schema, option)
    else:
        yield node
