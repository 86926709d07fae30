"""The journal: what was started on this machine, so that it can be undone whatever happens to who started it.

One JSON file a deployment, written before anything of it is started. Each process writes its own record (its
``/proc/<pid>/stat``) into the folder beside that file before it becomes what it runs, so there is no moment in
which something runs that the journal cannot find.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from loadstone import plugins
from loadstone.model.base import Model, did_you_mean
from loadstone.model.errors import DeploymentError, InputError


class StartedReplica(Model):
    """What must be known to stop a replica and to reach it."""

    name: str
    store: bool
    stop_signal: Literal["TERM", "INT", "QUIT"]
    ports: dict[str, int]


class Entry(Model):
    """One deployment: where its parts are. Replicas in start order."""

    version: Literal[1] = 1
    name: str
    orchestrator: str
    digest: str
    """Of what was rendered, so that something else of the same name is noticed."""
    folder: str
    data: str
    group: str | None
    """Its control group; None where none could be made."""
    replicas: tuple[StartedReplica, ...]


def state_folder() -> Path:
    """``$LOADSTONE_STATE``, else ``$XDG_STATE_HOME/loadstone``, else ``~/.local/state/loadstone``."""
    if given := os.environ.get("LOADSTONE_STATE"):
        return Path(given)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "loadstone"


def records_folder(name: str) -> Path:
    """Where the processes of a deployment write their records."""
    return state_folder() / name


def save(entry: Entry) -> None:
    """Write an entry to the disk, whole or not at all."""
    records_folder(entry.name).mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=state_folder(), prefix=".", delete=False) as file:
        json.dump(entry.model_dump(mode="json"), file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(file.name, _file(entry.name))


def load(name: str) -> Entry | None:
    """The entry of that name, if there is one."""
    return _read(_file(name)) if _file(name).exists() else None


def entries() -> list[Entry]:
    """All deployments that were started and not removed, by name."""
    return [_read(file) for file in sorted(state_folder().glob("*.json"))]


def forget(name: str) -> None:
    """Drop an entry: the last thing that removing does."""
    shutil.rmtree(records_folder(name), ignore_errors=True)
    _file(name).unlink(missing_ok=True)


def remove_all(names: list[str] | None = None) -> list[str]:
    """Undo the deployments of these names, or all; returns what was removed, as sentences.

    Raises InputError for a name that the journal does not have.
    """
    known = {entry.name: entry for entry in entries()}
    for name in names or []:
        if name not in known:
            nothing = "; nothing is deployed" if not known else did_you_mean(name, list(known))
            raise InputError(f"no deployment {name!r}{nothing}")
    sentences = []
    for name in names if names is not None else known:
        entry = known[name]
        sentences += plugins.find("orchestrators", entry.orchestrator).undo(entry)
    return sentences


def _file(name: str) -> Path:
    return state_folder() / f"{name}.json"


def _read(file: Path) -> Entry:
    try:
        return Entry.model_validate_json(file.read_text(encoding="utf-8"))
    except (OSError, ValidationError) as error:
        why = error.strerror if isinstance(error, OSError) else f"{error.error_count()} fields are wrong"
        raise DeploymentError(
            f"{file}: not a readable journal entry: {why}",
            "stop what it lists by hand, then delete the file",
        ) from None
