"""YAML documents that remember the line of every key, so that an error can name it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from loadstone.model.base import Finding, Model
from loadstone.model.errors import InputError, Problem

ModelType = TypeVar("ModelType", bound=Model)
Path_ = tuple[str | int, ...]


class Document:
    """A YAML file: ``data`` as plain values, ``line(path)`` for the line of a key path."""

    def __init__(self, text: str, file: Path | str) -> None:
        self.file = file
        self._lines: dict[Path_, int] = {}
        try:
            node = yaml.compose(text, Loader=yaml.SafeLoader)
        except (yaml.YAMLError, ValueError) as error:
            mark = getattr(error, "problem_mark", None)
            what = getattr(error, "problem", None) or str(error).splitlines()[0]
            raise InputError([Problem(file, mark.line + 1 if mark else 1, "", f"not valid YAML: {what}")]) from None
        if node is None:
            raise InputError([Problem(file, 1, "", "the file is empty")])
        self.data: Any = self._construct(node, ())
        if not isinstance(self.data, dict):
            raise InputError([Problem(file, 1, "", "expected keys and values at the top level")])

    @classmethod
    def read(cls, file: Path | str) -> Document:
        """Read ``file``; raises InputError where it is missing or not YAML."""
        try:
            text = Path(file).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InputError([Problem(file, 0, "", "not a UTF-8 text file")]) from None
        except OSError as error:
            raise InputError([Problem(file, 0, "", f"cannot be read: {error.strerror}")]) from None
        return cls(text, file)

    def _construct(self, node: yaml.Node, path: Path_) -> Any:
        self._lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            result: dict[Any, Any] = {}
            for key_node, value_node in node.value:
                key = yaml.SafeLoader("").construct_object(key_node)
                line = key_node.start_mark.line + 1
                if isinstance(key, bool):  # YAML 1.1 reads the key `on` as true
                    key = key_node.value
                if not isinstance(key, str | int | float):
                    raise InputError([Problem(self.file, line, "", "a key must be a word")])
                if key in result:
                    raise InputError([Problem(self.file, line, ".".join(map(str, path)), f"{key!r} is given twice")])
                self._lines[(*path, key)] = line  # type: ignore[arg-type]
                result[key] = self._construct(value_node, (*path, key))  # type: ignore[arg-type]
            return result
        if isinstance(node, yaml.SequenceNode):
            return [self._construct(item, (*path, index)) for index, item in enumerate(node.value)]
        if node.tag == "tag:yaml.org,2002:timestamp":  # dates stay as written
            return node.value
        return yaml.SafeLoader("").construct_object(node, deep=True)

    def line(self, path: Iterable[str | int]) -> int:
        """The line of the deepest part of ``path`` that the file has; 0 where it came from elsewhere."""
        known = tuple(path)
        while known and known not in self._lines:
            known = known[:-1]
        return self._lines.get(known, 1)

    def problem(self, path: Iterable[str | int], message: str) -> Problem:
        """A problem at a key path of this document."""
        parts = tuple(path)
        return Problem(self.file, self.line(parts), ".".join(map(str, parts)), message)

    def override(self, assignment: str) -> None:
        """Apply ``a.b=c`` (the value is YAML) as ``--set`` does."""
        dotted, separator, value = assignment.partition("=")
        keys = dotted.strip().split(".")
        if not separator or not all(keys):
            raise InputError(f"--set {assignment!r}: expected KEY.KEY=VALUE, for example trial.duration=30s")
        target = self.data
        for key in keys[:-1]:
            target = target.setdefault(key, {})
            if not isinstance(target, dict):
                raise InputError(f"--set {assignment!r}: {key!r} has no keys below it")
        target[keys[-1]] = Document(f"value: {value}", f"--set {dotted}").data["value"]

    def parse(self, model: type[ModelType]) -> ModelType:
        """This document as ``model``; raises InputError with every problem, each with its line."""
        try:
            parsed = model.model_validate(self.data)
        except ValidationError as error:
            raise InputError(self._problems(error)) from None
        self.check(parsed.findings())
        return parsed

    def check(self, findings: Iterable[Finding]) -> None:
        """Raise InputError if there are findings, each at its line."""
        problems = [self.problem(path, message) for path, message in findings]
        if problems:
            raise InputError(problems)

    def _problems(self, error: ValidationError) -> list[Problem]:
        problems = []
        for detail in error.errors(include_url=False):
            path = self._present(detail["loc"])
            if detail["type"] == "unknown_key":
                path = (*path, detail["ctx"]["key"])
            elif detail["type"] == "missing":
                path = (*path, detail["loc"][-1])
            problems.append(self.problem(path, _message(detail)))
        return list(dict.fromkeys(problems))

    def _present(self, path: Path_) -> Path_:
        """``path`` without the parts that pydantic adds for union members and that the file does not have."""
        kept: Path_ = ()
        for part in path:
            if (*kept, part) in self._lines:
                kept = (*kept, part)
        return kept


def _message(detail: Any) -> str:
    given = detail.get("input")
    shown = repr(given) if isinstance(given, str | int | float | bool) else type(given).__name__
    match detail["type"]:
        case "missing":
            return "is missing"
        case "unknown_key":
            return str(detail["ctx"]["text"])
        case "value_error":
            return str(detail["ctx"]["error"])
        case "model_type" | "dict_type" | "model_attributes_type":
            return f"expected keys and values, not {shown}"
        case "list_type" | "tuple_type":
            return f"expected a list, not {shown}"
        case "string_type":
            return f"expected text, not {shown}; put it in quotes"
    text = detail["msg"][0].lower() + detail["msg"][1:]
    return f"{shown}: {text}"


def schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of ``model``, for editors."""
    return model.model_json_schema(by_alias=True)
