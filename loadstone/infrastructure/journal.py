"""The journal: what was started from this machine, so that it can be undone whatever happens to its starter.

One JSON file a deployment or cluster, written before anything of it is started. A process writes its own record (its
``/proc/<pid>/stat``) into the folder beside that file before it becomes what it runs, so there is no moment in
which something runs that the journal cannot find.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from loadstone import plugins
from loadstone.infrastructure import identity, temporary
from loadstone.model.base import Model, did_you_mean
from loadstone.model.errors import DeploymentError, InputError, LoadstoneError, PreflightError, disk_error

_UNKNOWN = "if another release of Loadstone wrote it, use that one; else stop what it lists by hand, then delete it"


class JournalEntry(Model):
    """One deployment or one cluster, and what its maker needs to find its parts again."""

    version: Literal[1] = 1
    name: str
    layer: Literal["orchestrators", "infrastructure", "interference"]
    implementation: str
    """The entry point of that layer which made it, and can undo it."""
    digest: str = ""
    """The digest of what was rendered, so that something else of the same name is noticed."""
    folder: str
    facts: dict[str, Any] = {}
    """The maker's own."""
    host: str = Field(default_factory=lambda: socket.gethostname())
    """The name of the machine on which it was started."""
    machine: str = Field(default_factory=lambda: identity.machine_id())
    """Its identity. Others that share the folder, as in a home folder of a file server, look for none of its processes.
    """

    @property
    def ours(self) -> bool:
        """Whether it was started on this machine."""
        return self.machine == identity.machine_id()

    @property
    def cluster(self) -> str:
        """The name of the cluster's entry that a deployment lies in and vanishes with; empty if it is not ours."""
        return str((self.facts.get("access") or {}).get("cluster", ""))

    @property
    def kept(self) -> bool:
        """Whether it is a run's machines that the user kept on purpose."""
        return bool(self.facts.get("kept"))

    def reached_by(self, name: str) -> bool:
        """Whether its parts are on machines of another entry: reached by files that belong to that."""
        return self.name != name and json.dumps(f"{records_folder(name)}/")[1:-1] in json.dumps(self.facts)


def cluster_name(name: str) -> str:
    """What the cluster that is made for a deployment or a run is called."""
    return f"{name}-cluster"


def machines_name(cluster: str) -> str:
    """What the machines are called that are made for a cluster, by the cluster's name."""
    return f"{cluster.removesuffix('-cluster')}-machines"


def neighbour_name(name: str) -> str:
    """What disturbs a deployment is called."""
    return f"{name}-neighbour"


def state_folder() -> Path:
    """``$LOADSTONE_STATE``, else ``$XDG_STATE_HOME/loadstone``, else ``~/.local/state/loadstone``."""
    if given := os.environ.get("LOADSTONE_STATE"):
        return Path(given)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "loadstone"


def records_folder(name: str) -> Path:
    """Where what belongs to an entry lies: the records of processes."""
    return state_folder() / name


def save(entry: JournalEntry) -> None:
    """Write an entry to the disk, whole or not at all."""
    try:
        state_folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        records_folder(entry.name).mkdir(exist_ok=True, mode=0o700)
        with temporary.directory("journal", state_folder()) as folder:
            partial = Path(folder, "entry.json")
            with partial.open("w") as file:
                json.dump(entry.model_dump(mode="json"), file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            partial.chmod(0o600)
            partial.replace(_file(entry.name))
    except OSError as error:
        raise disk_error(state_folder(), error) or PreflightError(
            f"the journal cannot be written: {error.filename or state_folder()}: {error.strerror}",
            "give rights there, or name another folder in LOADSTONE_STATE",
        ) from error


def load(name: str) -> JournalEntry | None:
    """The entry of that name, if there is one. Raises DeploymentError for one that another machine started."""
    entry = _read(_file(name)) if _file(name).exists() else None
    if entry is not None and not entry.ours:
        raise DeploymentError(
            f"{name} was started on {entry.host}, which shares the journal: {state_folder()}",
            f"`loadstone down {name}` there removes it; or name another folder in LOADSTONE_STATE",
        )
    return entry


def entries() -> list[JournalEntry]:
    """All that was started on this machine and not removed, by name."""
    found, unreadable = _all()
    for error in unreadable.values():
        raise error
    return [entry for entry in found if entry.ours]


def elsewhere() -> dict[str, str]:
    """What other machines that share the folder started, by name, each with its machine."""
    return {entry.name: entry.host for entry in _all()[0] if not entry.ours}


def _all() -> tuple[list[JournalEntry], dict[str, DeploymentError]]:
    """All that can be read, and by name why others cannot."""
    found, unreadable = [], {}
    for file in sorted(state_folder().glob("*.json")):
        try:
            found.append(_read(file))
        except DeploymentError as error:
            unreadable[file.stem] = error
    return found, unreadable


@contextmanager
def understood(entry: JournalEntry) -> Iterator[None]:
    """While its maker reads its facts: raises DeploymentError for what another release wrote, or anyone else."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"{error.error_count()} fields are wrong" if isinstance(error, ValidationError) else str(error)
        message = f"{_file(entry.name)}: its facts are not understood: {type(error).__name__}: {why}"
        raise DeploymentError(message, _UNKNOWN) from error


def sweep() -> None:
    """Remove what killed processes left of entries that they were writing."""
    temporary.sweep(state_folder())


def forget(name: str) -> None:
    """Drop an entry: the last thing that removing does."""
    shutil.rmtree(records_folder(name), ignore_errors=True)
    _file(name).unlink(missing_ok=True)


def remove_all(names: list[str] | None = None) -> list[str]:
    """Undo the entries of these names with the clusters made for them, or all; returns what was removed, as sentences.

    What cannot be undone keeps nothing else from it. Raises what it failed by, with what was removed; InputError for a
    name that the journal does not have.
    """
    found, unreadable = _all()
    known = {entry.name: entry for entry in found if entry.ours}
    others = {entry.name: entry.host for entry in found if entry.name not in known}
    for name in names or []:
        if name in others:
            there = f"`loadstone down {name}` there removes it; if that machine is no more, delete {_file(name)}"
            raise InputError(f"{name!r} was started on {others[name]}: {there}")
        if name not in known and name not in unreadable:
            nothing = "; nothing is deployed" if not known else did_you_mean(name, list(known))
            raise InputError(f"no deployment {name!r}{nothing}")
    wanted = {*known, *unreadable} if names is None else {name for given in names for name in _belonging(given)}
    # A cluster takes what is deployed in it along, and machines what is on them.
    machines = [entry.name for entry in known.values() if entry.name in wanted and "machines" in entry.facts]
    on_them = {entry.name for entry in known.values() if any(map(entry.reached_by, machines))}
    chosen = [entry for entry in known.values() if entry.name in wanted | on_them or entry.cluster in wanted]
    sentences: list[str] = []
    failures: list[LoadstoneError] = [error for name, error in unreadable.items() if name in wanted]
    for entry in sorted(chosen, key=lambda entry: entry.layer == "infrastructure"):
        within = entry.cluster and (entry.cluster in wanted or entry.cluster not in known)
        if within or entry.name in on_them:
            forget(entry.name)
            sentences.append(entry.name)
            continue
        try:
            with understood(entry):
                sentences += plugins.find(entry.layer, entry.implementation).undo(entry)
        except LoadstoneError as error:
            failures.append(error)
    if len(failures) == 1 and not sentences:
        raise failures[0]
    if failures:
        raise DeploymentError("\n".join([*map(str, failures), *(f"removed {sentence}" for sentence in sentences)]))
    return sentences


def _belonging(name: str) -> tuple[str, ...]:
    return name, neighbour_name(name), cluster_name(name), machines_name(name)


def _file(name: str) -> Path:
    return state_folder() / f"{name}.json"


def _read(file: Path) -> JournalEntry:
    try:
        with open(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
            _refuse_foreign(file, opened.fileno())
            entry = JournalEntry.model_validate_json(opened.read())
    except (OSError, ValidationError) as error:
        why = error.strerror if isinstance(error, OSError) else f"{error.error_count()} fields are wrong"
        raise DeploymentError(
            f"{file}: not a readable journal entry: {why}",
            _UNKNOWN,
        ) from None
    if entry.name != file.stem:  # what is removed in the end is named by it
        raise DeploymentError(
            f"{file}: is the journal entry of {entry.name!r}", "delete the file if you did not write it"
        )
    return entry


def _refuse_foreign(file: Path, descriptor: int) -> None:
    """Raise DeploymentError for an entry that others wrote, or could have: it says what to remove."""
    for path, found in ((file, os.fstat(descriptor)), (file.parent, file.parent.stat())):
        if found.st_uid not in (0, os.geteuid()) or found.st_mode & 0o022:
            raise DeploymentError(
                f"{path}: user {found.st_uid} or others could have written what is to be removed",
                f"look at {file}; delete it, or make {path} yours and `chmod go-w` it",
            )
