"""YAML documents that remember the line of every key, so that an error can name it."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from loadstone.model import yaml12
from loadstone.model.base import Finding, Model
from loadstone.model.errors import InputError, Problem, no_utf8, unreadable
from loadstone.model.messages import KeyPath, known_keys, message, misspelt
from loadstone.model.units import FORMATS

ModelType = TypeVar("ModelType", bound=Model)


_MOST_REPEATED = 100_000
"""Values that aliases may add to a document."""
_LINE_ENDS = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""YAML ends lines as Unix, Windows and old Macs do, and as Unicode may."""


class Document:
    """A YAML file: ``data`` as plain values, ``line(path)`` for the line of a key path."""

    def __init__(self, text: str, file: Path | str) -> None:
        self.file = file
        self._lines: dict[KeyPath, int] = {}
        self._last_line = len(_LINE_ENDS.findall(text)) + 1
        self._most_values = len(text) + _MOST_REPEATED
        self._overrides: dict[KeyPath, str] = {}
        self._from: dict[KeyPath, KeyPath] = {}
        try:
            node = yaml12.compose(text)
            self.data: Any = None if node is None else self._construct(node, ())
        except (yaml.YAMLError, ValueError) as error:
            raise InputError([_not_yaml(error, text, file)]) from None
        except RecursionError:
            raise InputError([Problem(file, 1, "", "is nested too deeply, or refers to itself")]) from None
        if node is None:
            raise InputError([Problem(file, 1, "", "the file is empty")])
        if not isinstance(self.data, dict):
            raise InputError([Problem(file, self.line(()), "", "expected keys and values at the top level")])

    @classmethod
    def read(cls, file: Path | str) -> Self:
        """Read ``file``; raises InputError where it is missing or not YAML."""
        try:
            text = Path(file).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise InputError([no_utf8(file, error)]) from None
        except OSError as error:
            raise InputError([Problem(file, 0, "", unreadable(error))]) from None
        return cls(text, file)

    @classmethod
    def of(cls, data: Mapping[str, Any], source: Path | str) -> Self:
        """What no file holds, such as options of the command line; its problems name ``source`` and no line."""
        document = cls("{}", source)
        document.data, document._lines = copy.deepcopy(dict(data)), dict.fromkeys(_paths(data), 0)
        return document

    def with_values(self, values: Iterable[tuple[KeyPath, Any, KeyPath]]) -> Self:
        """A copy with a value put at each path; problems with it name the place that the path comes with."""
        made = self.without()
        for path, value, place in values:
            made._set(path, value, place)
            if place != path:
                made._from[path] = place
        return made

    def without(self, *keys: str) -> Self:
        """A copy without these keys."""
        made = copy.copy(self)
        made.data = copy.deepcopy({key: value for key, value in self.data.items() if key not in keys})
        made._from = dict(self._from)
        return made

    def merged(self, patch: Mapping[str, Any], place: KeyPath) -> Self:
        """A copy with a patch of RFC 7396 merged in: null removes; problems with it name ``place`` and on."""
        made = self.without()
        for path, value in _leaves(patch, self.data):
            if value is None:
                made.remove(path)
            else:
                made._set(path, copy.deepcopy(value), (*place, *path))
                made._from[path] = (*place, *path)
        return made

    def remove(self, path: KeyPath) -> None:
        """Without what is at ``path``, if there is something."""
        if self.has(path):
            target = functools.reduce(lambda part, key: part[key], path[:-1], self.data)
            del target[path[-1]]

    def has(self, path: KeyPath) -> bool:
        """Whether there is a value at a path."""
        value = self.data
        for key in path:
            if not isinstance(value, dict) or key not in value:
                return False
            value = value[key]
        return True

    def _construct(self, node: yaml.Node, path: KeyPath) -> Any:
        line = self._line_of(node)
        self._lines.setdefault(path, line)
        if len(self._lines) > self._most_values:  # without aliases, each value needs a character at least
            raise InputError([Problem(self.file, line, dotted(path), "its aliases (*name) add too many values")])
        if node.tag not in yaml12.TAGS:
            raise InputError(
                [Problem(self.file, line, dotted(path), f"the tag {node.tag!r} is not supported; remove it")]
            )
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._construct(item, (*path, index)) for index, item in enumerate(node.value)]
        return yaml12.value(node)

    def _line_of(self, node: yaml.Node) -> int:
        """The parser places a value that is missing at the end of a file on the line after its last."""
        return min(node.start_mark.line + 1, self._last_line)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str | int, Any]:
        result: dict[str | int, Any] = {}
        for key_node, value_node in node.value:
            # A key is always text, also where it looks like something else: `1:`, `true:`.
            key = key_node.value
            line = self._line_of(key_node)
            if not isinstance(key, str):
                raise InputError([Problem(self.file, line, dotted(path), "a key must be a word")])
            if key in result:
                raise InputError([Problem(self.file, line, dotted((*path, key)), f"{key!r} is given twice")])
            self._lines[(*path, key)] = line
            result[key] = self._construct(value_node, (*path, key))
        return result

    def line(self, path: Iterable[str | int]) -> int:
        """The line of the deepest part of ``path`` that the file has."""
        known = tuple(path)
        while known and known not in self._lines:
            known = known[:-1]
        return self._lines.get(known, 1)

    def problem(self, path: Iterable[str | int], text: str) -> Problem:
        """A problem at a key path of this document, or of the ``--set`` that gave the value."""
        parts = tuple(path)
        while moved := max((path for path in self._from if parts[: len(path)] == path), key=len, default=None):
            parts = (*self._from[moved], *parts[len(moved) :])
        if parts not in self._lines:  # made above a value that was put
            parts = next((place for path, place in self._from.items() if path[: len(parts)] == parts), parts)
        for overridden, assignment in self._overrides.items():
            made = parts not in self._lines and overridden[: len(parts)] == parts
            if made or parts[: len(overridden)] == overridden:
                return Problem(f"--set {assignment}", 0, dotted(parts), text)
        return Problem(self.file, self.line(parts), dotted(parts), text)

    def override(self, assignment: str) -> None:
        """Apply ``a.b=c`` (the value is YAML) as ``--set`` does."""
        name, separator, value = assignment.partition("=")
        keys = tuple(key.strip() for key in name.split("."))
        if keys[0] == "factors" and len(keys) > 1:  # the name of a factor may be a path itself
            keys = (keys[0], ".".join(keys[1:]))
        if not separator or not all(keys):
            raise InputError(f"--set {assignment!r}: expected KEY.KEY=VALUE, for example trial.duration=30s")
        self.put(keys, Document(f"value: {value}", f"--set {assignment}").data["value"], assignment)

    def put(self, keys: KeyPath, value: Any, assignment: str) -> None:
        """Set the value at ``keys``; problems there name ``--set`` and the assignment."""
        self._set(keys, value, assignment)
        self._from = {path: place for path, place in self._from.items() if path[: len(keys)] != keys}
        self._overrides[keys] = assignment

    def _set(self, keys: KeyPath, value: Any, source: KeyPath | str) -> None:
        """``source`` is the place in the file that the value comes from, or the assignment of ``--set``."""
        target = self.data
        for key in keys[:-1]:
            if target.get(key) is None:
                target[key] = {}
            target = target[key]
            if not isinstance(target, dict):
                text = f"{key!r} has no keys below it"
                if isinstance(source, str):
                    raise InputError(f"--set {source!r}: {text}")
                raise InputError([self.problem(source, text)])
        target[keys[-1]] = value

    def parse(self, model: type[ModelType]) -> ModelType:
        """This document as ``model``; raises InputError with every problem, each with its line."""
        try:
            # Strict: `threads: true` is not 1. The context tells units that this is a file, not a model's dump.
            parsed = model.model_validate(self.data, strict=True, context={"file": self.file})
        except ValidationError as error:
            raise InputError(self._problems(error, schema(model))) from None
        self.check(parsed.findings())
        return parsed

    def check(self, findings: Iterable[Finding]) -> None:
        """Raise InputError if there are findings, each at its line."""
        problems = [self.problem(path, text) for path, text in findings]
        if problems:
            raise InputError(sorted(problems, key=lambda problem: problem.line))

    def _problems(self, error: ValidationError, known: dict[str, Any]) -> list[Problem]:
        details = error.errors(include_url=False)
        there = misspelt(details, lambda path: known_keys(known, path))
        problems = []
        for detail in details:
            if detail["type"] == "missing" and detail["loc"] in there:
                continue
            path = self._present(detail["loc"])
            if detail["type"] == "missing":
                path = (*path, detail["loc"][-1])
            problems.append(self.problem(path, message(detail, known)))
        return sorted(dict.fromkeys(problems), key=lambda problem: problem.line)

    def _present(self, path: KeyPath) -> KeyPath:
        """``path`` without the parts that pydantic adds for union members and that the document does not have."""
        kept: KeyPath = ()
        value = self.data
        for part in path:
            inside = isinstance(value, dict) and part in value
            if inside or (isinstance(value, list) and isinstance(part, int) and part < len(value)):
                kept = (*kept, part)
                value = value[part]
        return kept


def dotted(path: KeyPath) -> str:
    """``load.rates.0``"""
    return ".".join(map(str, path))


def _leaves(patch: Mapping[str, Any], data: Any, at: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """What a patch sets, by path: a mapping where none is there is one value, and replaces what was."""
    for key, value in patch.items():
        there = data.get(key) if isinstance(data, dict) else None
        if isinstance(value, dict) and isinstance(there, dict) and (*at, key) != ("factors",):
            yield from _leaves(value, there, (*at, key))
        else:
            yield (*at, key), value


def _paths(value: Any, at: KeyPath = ()) -> Iterator[KeyPath]:
    """The path of every value in a document, its own first."""
    yield at
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _paths(inner, (*at, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _paths(inner, (*at, place))


_REMEDIES = {
    "'\\t'": "indent with spaces, not tabs",
    "end of stream": "a quote is not closed",
    "<stream end>": "a bracket is not closed",
    "<block end>": "look at the indentation",
    "another document": "remove '---' and what follows",
    "mapping values": "put a text that has ': ' in it in quotes",
}


def _not_yaml(error: Exception, text: str, file: Path | str) -> Problem:
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error).splitlines()[0]
    if mark := getattr(error, "problem_mark", None):
        line = mark.line + 1
    else:
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
    remedy = next((f"; {remedy}" for sign, remedy in _REMEDIES.items() if sign in what), "")
    return Problem(file, line, "", f"not valid YAML: {what.removeprefix('but ')}{remedy}")


@functools.cache
def schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of ``model``, for editors and for the reference; defaults are as a file would have them."""
    generated = model.model_json_schema(by_alias=True)
    for part in (generated, *generated.get("$defs", {}).values()):
        for field in part.get("properties", {}).values():
            if "quantity" in field and not isinstance(field.get("default", ""), str):
                field["default"] = FORMATS[field["quantity"]](field["default"])
    return generated
