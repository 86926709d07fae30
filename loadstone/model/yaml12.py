"""YAML as its current version, 1.2, reads plain values; PyYAML alone reads those of 1.1.

Only ``true`` and ``false`` are booleans (``on``, ``no`` are words), ``0100`` is a hundred rather than octal, and
``1:30`` or ``2015-04-09`` stay text: a measurement must not depend on such surprises.
"""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor


class Loader(Composer, yaml.CSafeLoader):
    """Makes nodes, with the implicit types of YAML 1.2's core schema, of numbers only the decimal ones.

    It reads by libyaml. Python composes the nodes, since libyaml would crash where brackets nest deeply.
    """

    yaml_implicit_resolvers = {}

    def __init__(self, text: str) -> None:
        yaml.CSafeLoader.__init__(self, text)
        Composer.__init__(self)


class _Explaining(yaml.SafeLoader):
    """The same in Python: ten times slower, and says what it expected where a text is no YAML."""

    yaml_implicit_resolvers = Loader.yaml_implicit_resolvers


def compose(text: str) -> yaml.Node | None:
    """The nodes of a document; None of an empty one. Raises YAMLError."""
    try:
        return yaml.compose(text, Loader=Loader)
    except (yaml.YAMLError, UnicodeError):
        return yaml.compose(text, Loader=_Explaining)


def value(node: yaml.Node) -> Any:
    """What a scalar means. Raises YAMLError or ValueError where it is not of the type of its tag."""
    return _Values().construct_object(node, deep=True)


def _integer(values: SafeConstructor, node: yaml.ScalarNode) -> int | str:
    text = str(values.construct_scalar(node))
    return int(text) if len(text) < 100 else text  # Python refuses thousands of digits


class _Values(SafeConstructor):
    yaml_constructors = {**SafeConstructor.yaml_constructors, "tag:yaml.org,2002:int": _integer}


TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("map", "seq", "str", "null", "bool", "int", "float")}
"""The types of the core schema; any other tag is an error."""

_IMPLICIT = {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"[-+]?[0-9]+",
    "float": r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
}
for _name, _pattern in _IMPLICIT.items():
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(rf"(?:{_pattern})$"), None)


_IN_GO = {
    "bool": r"[yYnN]",
    "int": r"[-+]?0[xXoObB][0-9a-fA-F_]+",
    "float": r"(?=.*_)[-+.0-9][-+.0-9a-fA-FxXoO_]*",
    "timestamp": r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?",
}
"""What the readers of Docker and Kubernetes, which are written in Go, take for something else than text, too: ``_`` may
stand anywhere in their numbers."""


_BREAKS = "\n\r\x85\u2028\u2029"
"""What ends a line in YAML 1.1."""


class FlowMapping(dict[str, Any]):
    """A mapping that is written on one line."""


class _Dumper(yaml.CSafeDumper):
    """As a person would write it: short lists on one line, texts of several lines as such, no anchors.

    Quotes what YAML 1.1 or 1.2, or readers of files that are rendered, take for something else than text.
    """

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    style = None
    if "\n" in value:  # as a block, empty lines at its end would go on into what is written behind it
        content = value.rstrip(_BREAKS)
        style = "|" if content and len(value) - len(content) < 2 else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _list(dumper: _Dumper, values: list[Any]) -> yaml.SequenceNode:
    plain = not any(isinstance(value, list | dict) or "\n" in str(value) for value in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=plain)


def _line(dumper: _Dumper, values: FlowMapping) -> yaml.MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:map", values, flow_style=True)


def dump(*documents: Any) -> str:
    """Plain data as a file that a person reads and :func:`compose` reads as it was; ``---`` before each of several."""
    several = len(documents) > 1
    text = yaml.dump_all(
        documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110, explicit_start=several
    )
    return str(text)


def line(document: Any) -> str:
    """Plain data on one line, a mapping in braces."""
    return str(yaml.dump(document, Dumper=_Dumper, default_flow_style=True, allow_unicode=True, width=10_000)).strip()


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)
_Dumper.add_representer(FlowMapping, _line)
for _name, _pattern in (*_IMPLICIT.items(), *_IN_GO.items()):
    _Dumper.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(rf"(?:{_pattern})$"), None)
