"""Setting a host's knobs, and setting them back: snapshot, journal, set, verify; then restore, verify, forget."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from loadstone.infrastructure.tuning import journal
from loadstone.infrastructure.tuning.base import Host, Knob, Refused
from loadstone.infrastructure.tuning.journal import Entry, Owner, Value
from loadstone.infrastructure.tuning.knobs import KNOBS, asked, touched
from loadstone.model.errors import PreflightError
from loadstone.model.tuning import Tuning

Say = Callable[[str], None]


@dataclass(frozen=True)
class Change:
    """One value that was set, or why the kernel kept the one before."""

    knob: Knob
    file: Path
    before: str
    set: str
    refused: str = ""


@dataclass(frozen=True)
class Restored:
    """What was set back, ``found`` and ``before`` by file, for whoever had set it."""

    owner: Owner
    restarted: bool
    values: dict[str, tuple[str, str]]

    @property
    def sentence(self) -> str:
        """What was done, in words."""
        who = f"process {self.owner.pid} ({self.owner.command})"
        if self.restarted:
            return f"this machine was restarted since {who} tuned it: its values are the kernel's own again"
        values = f"{len(self.values)} value{'s' if len(self.values) != 1 else ''}"
        return f"{who} left this host tuned: {values} set back, all verified"


def apply(tuning: Tuning, host: Host, say: Say) -> list[Change]:
    """Set what a study asks for; if anything fails, all is as before.

    Raises PreflightError where a knob is missing or refused, or another process has tuned this host.
    """
    try:
        with journal.locked():
            _restore_what_was_left(host)
            entry = Entry(boot=host.boot, owner=journal.myself(), tuning=str(tuning), values=[])
            entry = _with_values(entry, touched(tuning), host)
            journal.save(entry)
        changes: list[Change] = []
        for knob, value in asked(tuning):
            say(f"tuning this host: {knob.key}")
            wanted = knob.wanted(host, value)
            entry, known = _with_values(entry, touched(tuning), host), entry
            if entry != known:
                journal.save(entry)
            changes += _set(knob, host, wanted, entry.before())
        return [_verified(change, host) for change in changes]
    except BaseException:
        undo(host)
        raise


def restore(host: Host) -> Restored | None:
    """Set back what was set on this host; None where nothing was. Raises PreflightError while who did it still runs."""
    if journal.load() is None:
        return None
    with journal.locked():
        return _restore_what_was_left(host)


def undo(host: Host) -> None:
    """Set back what this process set, if it did."""
    if (entry := journal.load()) is not None and entry.owner == journal.myself():
        with journal.locked():
            _restore(entry, host)


def _with_values(entry: Entry, knobs: list[Knob], host: Host) -> Entry:
    """With the values that it does not have yet: all at first, later those of processors that were turned on."""
    known = entry.before()
    new = [
        Value(knob=knob.key, file=str(file), before=before)
        for knob in knobs
        for file in knob.files(host)
        if str(file) not in known and (before := knob.read(host, file)) is not None
    ]
    return entry.model_copy(update={"values": [*entry.values, *new]})


def _set(knob: Knob, host: Host, wanted: dict[Path, str], before: dict[str, str]) -> Iterator[Change]:
    for file in knob.order(host, wanted):
        change = Change(knob, file, before[str(file)], wanted[file])
        if knob.read(host, file) == change.set:
            yield change
            continue
        try:
            knob.write(host, file, change.set)
            yield change
        except OSError as error:
            if not knob.yields:
                message = f"{file}: the kernel does not take {change.set!r}: {error.strerror}"
                raise Refused(f"tuning.{knob.key}: {message}", _remedy(error, knob)) from None
            yield replace(change, refused=error.strerror or "refused")


def _verified(change: Change, host: Host) -> Change:
    """The change, if the kernel has the value now; raises Refused if it has another one."""
    found = change.knob.read(host, change.file)
    if change.refused or found == change.set:
        return change
    if change.knob.yields:
        return replace(change, refused=f"it is {found}")
    raise Refused(
        f"tuning.{change.knob.key}: {change.file}: wanted {change.set}, found {found}",
        f"ask for a value that this host keeps, or leave tuning.{change.knob.key} out; all is as before",
    )


def _remedy(error: OSError, knob: Knob) -> str:
    match error.errno:
        case errno.EACCES | errno.EPERM:
            return "tuning needs root: use sudo"
        case errno.EROFS:
            return "it is mounted read-only, as in containers: run it on the machine itself"
    return f"ask for another value, or leave tuning.{knob.key} out; all is as before"


def _restore_what_was_left(host: Host) -> Restored | None:
    entry = journal.load()
    if entry is None:
        return None
    if entry.owner.alive and entry.boot == host.boot:
        raise PreflightError(
            f"this host is tuned by process {entry.owner.pid} ({entry.owner.command}), which still runs",
            "wait for it, or stop it: it sets back what it set",
        )
    return _restore(entry, host)


def _restore(entry: Entry, host: Host) -> Restored:
    """Set back, verify, forget. What is not there any more (an interrupt whose device went) has no value to set."""
    if entry.boot != host.boot:
        journal.remove()
        return Restored(entry.owner, True, {})
    changed: dict[str, tuple[str, str]] = {}
    problems: list[str] = []
    for knob in _way_back(entry):
        values = {Path(value.file): value.before for value in entry.values if value.knob == knob.key}
        for file in knob.order(host, values):
            problems += _set_back(knob, host, file, values[file], changed)
    problems += _differing(entry, host)
    if problems:
        raise PreflightError(
            "this host is not as it was before it was tuned:\n" + "\n".join(dict.fromkeys(problems)),
            "`sudo loadstone restore` tries again; a restart of the machine sets all knobs back, too",
        )
    journal.remove()
    return Restored(entry.owner, False, changed)


def _way_back(entry: Entry) -> list[Knob]:
    """Hardware threads first, for the others' values need them; last, where they were off."""
    first, *others = KNOBS
    was = next((value.before for value in entry.values if value.knob == first.key), "on")
    return [first, *others] if was == "on" else [*others, first]


def _set_back(knob: Knob, host: Host, file: Path, before: str, changed: dict[str, tuple[str, str]]) -> Iterator[str]:
    if not (file.is_relative_to(host.sys) or file.is_relative_to(host.proc)) or ".." in file.parts:
        yield f"{file}: is no value of the kernel's"  # whoever can write the journal must not write all that root can
        return
    found = knob.read(host, file)
    if found is None or found == before:
        return
    try:
        knob.write(host, file, before)
        changed.setdefault(str(file), (found, before))
    except OSError as error:
        yield f"{file}: {before!r} is refused: {error.strerror}"


def _differing(entry: Entry, host: Host) -> Iterator[str]:
    knobs = {knob.key: knob for knob in KNOBS}
    for value in entry.values:
        if value.knob not in knobs:
            yield f"{value.file}: a newer Loadstone has set it to something else than {value.before}"
            continue
        found = knobs[value.knob].read(host, Path(value.file))
        if found not in (None, value.before):
            yield f"{value.file}: is {found}, was {value.before}"
