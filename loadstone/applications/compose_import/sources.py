"""The files that a compose project is made of: where each of its parts stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from loadstone.model.document import Document, dotted
from loadstone.model.errors import InputError, Problem
from loadstone.model.messages import KeyPath
from loadstone.model.yaml12 import Loader

_MERGE = "<<"
_TAGS = ("!reset", "!override")


class ComposeSource(Document):
    """One compose file as it is written: merge keys are followed, variables and short forms stay."""

    def place(self, path: KeyPath, project: Any) -> KeyPath:
        """The deepest part of a path in the project that this file has; a list may have an entry in its short form."""
        place: KeyPath = ()
        here = self.data
        for part in path:
            key = _key(here, part, project)
            if key is None:
                break
            place, here = (*place, key), here[key]
            inside = isinstance(project, dict) and part in project
            project = project[part] if inside or isinstance(project, list) else None
        return place

    def uses(self, variable: str, among: list[str] | None = None) -> Iterator[KeyPath]:
        """Where texts of the file refer to a variable; only ``among`` these, if given."""
        pattern = re.compile(rf"\$\{{?{re.escape(variable)}(?![A-Za-z0-9_])")
        for path, text in _texts(self.data, ()):
            of_config = path[:1] == ("configs",) and path[-1] == "environment" and text == variable
            refers = of_config or pattern.search(text.replace("$$", ""))
            if refers and (among is None or text in among):
                yield path

    def _construct(self, node: yaml.Node, path: KeyPath) -> Any:
        if node.tag in _TAGS:
            kind = Loader.DEFAULT_SCALAR_TAG
            if isinstance(node, yaml.CollectionNode):
                mapping = isinstance(node, yaml.MappingNode)
                kind = Loader.DEFAULT_MAPPING_TAG if mapping else Loader.DEFAULT_SEQUENCE_TAG
            node.tag = kind
        return super()._construct(node, path)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str | int, Any]:
        merged = yaml.MappingNode(node.tag, list(self._merged(node)), node.start_mark, node.end_mark, node.flow_style)
        return super()._mapping(merged, path)

    def _merged(self, node: yaml.MappingNode) -> Iterator[tuple[yaml.Node, yaml.Node]]:
        """Keys and values with those of ``<<``, which give way to the node's own and to earlier ones."""
        own = [(key, value) for key, value in node.value if key.value != _MERGE]
        yield from own
        there = {str(key.value) for key, _ in own}
        for source in self._merge_sources(node):
            for key, value in self._merged(source):
                if str(key.value) not in there:
                    there.add(str(key.value))
                    yield key, value

    def _merge_sources(self, node: yaml.MappingNode) -> Iterator[yaml.MappingNode]:
        """The mappings that the ``<<`` of a mapping names."""
        for key, value in node.value:
            if key.value != _MERGE:
                continue
            for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                if not isinstance(source, yaml.MappingNode):
                    text = "merges keys and values; give it the anchor of such, for example <<: *defaults"
                    raise InputError([Problem(self.file, key.start_mark.line + 1, _MERGE, text)])
                yield source


def nearest(sources: list[ComposeSource], path: KeyPath, project: Any, text: str) -> Problem:
    """A problem at a path in the project, in the last of the files that has most of the path; in the first, if none."""
    places = [source.place(path, project) for source in sources]
    deepest = max(map(len, places))
    among = [(place, source) for place, source in zip(places, sources, strict=True) if len(place) == deepest]
    place, source = among[-1] if deepest > 1 else among[0]
    return Problem(source.file, source.line(place), dotted(path), text)


def _key(here: Any, part: str | int, project: Any) -> str | int | None:
    """The key or index of ``part`` in what a file has: a mapping, or a list of names and of ``name=value``.

    A list that has another length in the project has ranges of ports: an entry is found by its target.
    """
    if isinstance(here, dict):
        return part if part in here else None
    if not isinstance(here, list):
        return None
    if isinstance(part, str):
        names = (index for index, item in enumerate(here) if re.split("[=:]", str(item), maxsplit=1)[0] == part)
        return next(names, None)
    if not isinstance(project, list) or len(project) == len(here):
        return part if part < len(here) else None
    target = project[part].get("target") if isinstance(project[part], dict) else project[part]
    return next((index for index, item in enumerate(here) if _covers(str(item), str(target))), None)


def _covers(entry: str, target: str) -> bool:
    """Whether an entry of a list has a target, as it is or within a range of ports."""
    ranges = re.findall(r"([0-9]+)-([0-9]+)", entry)
    among = target.isdigit() and any(int(first) <= int(target) <= int(last) for first, last in ranges)
    return among or re.search(rf"(?<![\w-]){re.escape(target)}(?![\w-])", entry) is not None


def _texts(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, str):
        yield path, value
    for key, below in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _texts(below, (*path, key))
