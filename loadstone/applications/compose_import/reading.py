"""Reads a compose file: merge keys, variables from the environment and ``.env``, and where everything stands."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import yaml

from loadstone.applications.compose_import.variables import Lookup, assignments, substitute
from loadstone.model.document import Document
from loadstone.model.errors import InputError, Problem, no_utf8
from loadstone.model.messages import KeyPath

_INTERPOLATED = ("name", "services", "networks", "volumes", "configs", "secrets")
_MERGE = "<<"


class ComposeDocument(Document):
    """A compose file as data, its variables replaced; ``notes`` collects what is not as its writer may think."""

    def __init__(self, text: str, file: Path | str) -> None:
        super().__init__(text, file)
        self.notes: list[Problem] = []
        self.variables = self._variables()
        self._replace_variables()

    @property
    def folder(self) -> Path:
        """What relative paths start from."""
        return Path(self.file).parent

    def note(self, path: KeyPath, text: str) -> None:
        """Note that the value at ``path`` is not carried, or is guessed."""
        self.notes.append(self.problem(path, text))

    def taken(self, name: str, path: KeyPath) -> str | None:
        """A variable for what stands at ``path``: of the environment, which is noted, else of ``.env``."""
        if name in os.environ:
            self.note(path, f"{name} is taken from this shell; its value stands in the results")
        return os.environ.get(name, self.variables.get(name))

    def entry(self, path: KeyPath, name: str) -> KeyPath:
        """The path of what is called ``name`` at ``path``, be that keys and values or a list of ``name=value``."""
        there = reduce(lambda value, part: value[part], path, self.data)
        for index, item in enumerate(there if isinstance(there, list) else []):
            if str(item).partition("=")[0] == name:
                return (*path, index)
        return (*path, name)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str | int, Any]:
        merged = yaml.MappingNode(node.tag, list(self._merged(node)), node.start_mark, node.end_mark, node.flow_style)
        return super()._mapping(merged, path)

    def _merged(self, node: yaml.MappingNode) -> Iterator[tuple[yaml.Node, yaml.Node]]:
        """Keys and values with those of ``<<``, which give way to the node's own and to earlier ones."""
        own = [(key, value) for key, value in node.value if key.value != _MERGE]
        yield from own
        there = {str(key.value) for key, _ in own}
        for source in self._sources(node):
            for key, value in self._merged(source):
                if str(key.value) not in there:
                    there.add(str(key.value))
                    yield key, value

    def _sources(self, node: yaml.MappingNode) -> Iterator[yaml.MappingNode]:
        """The mappings that the ``<<`` of a mapping names."""
        for key, value in node.value:
            if key.value != _MERGE:
                continue
            for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                if not isinstance(source, yaml.MappingNode):
                    text = "merges keys and values; give it the anchor of such, for example <<: *defaults"
                    raise InputError([Problem(self.file, key.start_mark.line + 1, _MERGE, text)])
                yield source

    def _variables(self) -> dict[str, str | None]:
        file = self.folder / ".env"
        return read_variables(file, os.environ.get) if file.is_file() else {}

    def _replace_variables(self) -> None:
        problems: list[Problem] = []
        for key in _INTERPOLATED:
            if key in self.data:
                self.data[key] = self._replaced(self.data[key], (key,), problems)
        if problems:
            raise InputError(problems)

    def _replaced(self, value: Any, path: KeyPath, problems: list[Problem]) -> Any:
        if isinstance(value, dict):
            return {key: self._replaced(below, (*path, key), problems) for key, below in value.items()}
        if isinstance(value, list):
            return [self._replaced(below, (*path, index), problems) for index, below in enumerate(value)]
        if not isinstance(value, str) or "$" not in value:
            return value
        try:
            return substitute(value, lambda name: self.taken(name, path), lambda name: self._unset(name, path))
        except ValueError as error:
            problems.append(self.problem(path, str(error)))
            return value

    def _unset(self, name: str, path: KeyPath) -> None:
        self.note(path, f"{name} is not set, so nothing stands in its place")


def read_variables(file: Path, lookup: Lookup) -> dict[str, str | None]:
    """The variables of ``.env`` or of an ``env_file``; raises InputError with file and line."""
    try:
        return assignments(file.read_text(encoding="utf-8"), lookup)
    except OSError as error:
        raise InputError([Problem(file, 0, "", f"cannot be read: {error.strerror}")]) from None
    except UnicodeDecodeError as error:
        raise InputError([no_utf8(file, error)]) from None
    except ValueError as error:
        line, _, text = str(error).partition(": ")
        raise InputError([Problem(file, int(line), "", text)]) from None
