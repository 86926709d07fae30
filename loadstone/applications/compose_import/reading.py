"""Reads compose files with ``stone-compose``, which is the loader of the format's own project."""

from __future__ import annotations

import difflib
import json
import os
import re
from pathlib import Path
from typing import Any

from loadstone.applications.compose_import.sources import ComposeSource, nearest
from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.binary import compose_loader
from loadstone.model.allowed import is_allowed
from loadstone.model.document import Document
from loadstone.model.errors import InputError, Problem, no_utf8
from loadstone.model.messages import KeyPath

_AT = re.compile(r"\b(services|networks|volumes|configs|secrets)[.\[]([\w-]+)\]?((?:\.[\w-]+)*)")
_NAMED = re.compile(r'service "([^"]+)"')
_UNKNOWN = re.compile(r"(?:(\S+)\s+)?additional properties '([^']+)'.* not allowed|(\S+)\.([\w-]+) false schema")


OUTSIDE = "outside of the project's folder; `loadstone --allow-path FOLDER` allows it"


class ComposeDocument(Document):
    """A project in the long forms of the specification; ``notes`` collects what is not as its writer may think.

    ``files``: as ``docker compose -f FILE -f FILE`` takes them, the first of which names the project's folder.
    Raises InputError where the files are not a project.
    """

    def __init__(self, files: list[Path], profiles: list[str], known_keys: list[str]) -> None:
        given = [ComposeSource.read(file) for file in files]
        loaded = _load(given, profiles, known_keys)
        super().__init__("{}", files[0])
        self.data = loaded["project"]
        self.sources = [_beside(given, Path(file)) for file in loaded["files"]]
        foreign = [str(source.file) for source in self.sources if self.outside(Path(source.file))]
        if foreign:
            raise InputError([Problem(files[0], 0, "", f"reads {', '.join(foreign)}: {OUTSIDE}")])
        self.carried: list[str] = []
        """The files whose text stands in the application, and so in the results."""
        """The files that were read: those given, and those that they include or extend."""
        self.disabled: dict[str, list[str]] = loaded["disabled"]
        """Services that no profile enables, with the profiles that would."""
        self.notes: list[Problem] = []
        order = [name for source in self.sources for name in source.data.get("services") or {}]
        services = self.data["services"]
        self.data["services"] = dict(sorted(services.items(), key=lambda item: _position(order, item[0])))
        for origin in sorted({origin for origin in loaded["variables"].values() if os.path.isfile(origin)}):
            require_utf8(Path(origin))
        self._note_variables(loaded["variables"], loaded["unset"])

    @property
    def folder(self) -> Path:
        """What relative paths start from."""
        return Path(self.file).parent

    def problem(self, path: Any, text: str) -> Problem:
        return nearest(self.sources, tuple(path), self.data, text)

    def note(self, path: KeyPath, text: str) -> None:
        """Note that the value at ``path`` is not carried, or is guessed."""
        self.notes.append(self.problem(path, text))

    def shown(self, file: Path | str) -> str:
        """A file as messages name it: below the project's folder, or whole."""
        folder = self.folder.resolve()
        return str(Path(file).relative_to(folder)) if Path(file).is_relative_to(folder) else str(file)

    def outside(self, file: Path) -> bool:
        """Whether a file is below neither the project's folder nor one that the user allows."""
        return not is_allowed(file, self.folder)

    def written(self, path: KeyPath) -> bool:
        """Whether a file has this key, rather than that the loader added it."""
        return any(len(source.place(path, self.data)) == len(path) for source in self.sources)

    def is_name_alone(self, service: str, variable: str, env_files: list[Path]) -> bool:
        """Whether a variable of a service is only named, so that its value is that of the environment."""
        path = ("services", service, "environment", variable)
        for source in reversed(self.sources):
            value: Any = source.data
            place = source.place(path, self.data)
            if len(place) == len(path):
                for part in place[:-1]:
                    value = value[part]
                named = value[place[-1]]
                return named is None or (isinstance(value, list) and named == variable)
        alone = re.compile(rf"^\s*(export\s+)?{re.escape(variable)}\s*$", re.MULTILINE)
        return any(alone.search(file.read_text(encoding="utf-8")) for file in env_files if file.is_file())

    def _note_variables(self, variables: dict[str, str], unset: dict[str, list[str]]) -> None:
        own = str((self.folder / ".env").resolve())
        for name, origin in variables.items():
            if origin in ("", own) and name not in os.environ:
                continue
            place = "this shell" if name in os.environ else origin
            self._note_uses(name, f"{name} is taken from {place}; its value stands in the results")
        for name, texts in unset.items():
            self._note_uses(name, f"{name} is not set, so nothing stands in its place", texts)

    def _note_uses(self, variable: str, text: str, among: list[str] | None = None) -> None:
        for source in self.sources:
            self.notes += [source.problem(path, text) for path in source.uses(variable, among)]


def require_utf8(file: Path) -> None:
    """Raise InputError where a file of variables is in another encoding: the loader would put U+FFFD in its values."""
    try:
        file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError([no_utf8(file, error)]) from None


def _position(order: list[str], name: str) -> int:
    return order.index(name) if name in order else len(order)


def _beside(given: list[ComposeSource], file: Path) -> ComposeSource:
    """A file as it was named, if it was, so that messages name it alike."""
    named = (source for source in given if Path(source.file).resolve() == file.resolve())
    return next(named, None) or ComposeSource.read(file)


def _load(given: list[ComposeSource], profiles: list[str], known_keys: list[str]) -> Any:
    """The result of ``stone-compose``; raises InputError with its message at the line that it speaks of."""
    flags = [flag for name in profiles for flag in ("--profile", name)]
    command = [str(compose_loader()), *flags, *(str(source.file) for source in given)]
    result = subprocesses.run(command)
    if result.returncode == 0:
        return json.loads(result.stdout)
    text = result.stderr.strip().removesuffix(": invalid compose project")
    text = re.sub(r"\.\s+You may need to escape any \$ with another \$\.\n", "; write '$$' for a dollar sign: ", text)
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("decoding failed due")]
    problems = [_problem(given, line.strip(), known_keys) for line in lines]
    unclear = Problem(given[0].file, 0, "", f"stone-compose ended with exit code {result.returncode}")
    raise InputError(sorted(problems, key=lambda problem: problem.line) or [unclear])


def _problem(given: list[ComposeSource], text: str, known_keys: list[str]) -> Problem:
    """A message of the loader, at the line that it speaks of."""
    for source in given:
        text = text.removeprefix(f"validating {Path(source.file).resolve()}: ").strip()
    text = text.replace(f"{Path(given[0].file).resolve().parent}/", "")
    text = text.removeprefix("error while interpolating ")
    if unknown := _UNKNOWN.match(text):
        parent, key = unknown.group(1) or unknown.group(3) or "", unknown.group(2) or unknown.group(4)
        close = difflib.get_close_matches(key, known_keys, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        return nearest(given, (*filter(None, parent.split(".")), key), None, f"unknown key {key!r}{hint}")
    if found := _AT.search(text):
        path = (found.group(1), found.group(2), *found.group(3).split(".")[1:])
        return nearest(given, path, None, re.sub(rf"^'?{re.escape(found.group())}'?:? ", "", text))
    named = _NAMED.search(text)
    return nearest(given, ("services", named.group(1)) if named else (), None, text)
