"""YAML as its current version, 1.2, reads plain values; PyYAML alone reads those of 1.1.

Only ``true`` and ``false`` are booleans (``on``, ``no`` are words), ``0100`` is a hundred rather than octal, and
``1:30`` or ``2015-04-09`` stay text: what a measurement is asked to do must not depend on such surprises.
"""

from __future__ import annotations

import re

import yaml


class Loader(yaml.SafeLoader):
    """A safe loader with the implicit types of YAML 1.2's core schema, of numbers only the decimal ones."""

    yaml_implicit_resolvers = {}

    def construct_integer(self, node: yaml.ScalarNode) -> int | str:
        text = str(self.construct_scalar(node))
        return int(text) if len(text) < 100 else text  # Python refuses thousands of digits


TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("map", "seq", "str", "null", "bool", "int", "float")}
"""The types of the core schema; any other tag asks for something that a file of ours does not have."""

_IMPLICIT = {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?[0-9]+",
    "float": r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
}
for _name, _pattern in _IMPLICIT.items():
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(rf"(?:{_pattern})$"), None)
Loader.add_constructor("tag:yaml.org,2002:int", Loader.construct_integer)
