"""Run folders: created for a study, found again, resumed only with the study that created them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import loadstone
from loadstone.experiments import pruning, schedule
from loadstone.experiments.durable import sync, sync_tree
from loadstone.experiments.ledger import Ledger, write_json, writing
from loadstone.experiments.plan import Plan
from loadstone.infrastructure.facts import host_facts
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.records.node import Change

OUTCOME = "outcome.json"
"""The file that records how a complete run ended."""


def create(results: Path, document: Document, plan: Plan, overrides: list[str], provenance: dict[str, Any]) -> Path:
    """A new folder ``results/<study>/<yyyymmdd-hhmmss>``, in UTC, with the study as given and as resolved."""
    folder = results / plan.study.name / datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    with writing(folder):
        while True:
            try:
                folder.mkdir(mode=0o700, parents=True)  # configurations may hold what is for its owner alone
                break
            except FileExistsError:
                folder = folder.with_name(folder.name + "b")
            except PermissionError:
                raise InputError(f"cannot make {folder}: no permission; choose another place with --results") from None
        (folder / "study.yaml").write_text(Path(document.file).read_text(encoding="utf-8"), encoding="utf-8")
        for place, files in (("scripts", plan.scripts), ("datasets", plan.datasets)):
            for name, file in files.items():
                _copy(folder, name, file, place)
        (folder / "trials").mkdir()
    write_json(
        folder / "plan.json",
        {"loadstone": loadstone.__version__, **plan.as_data(), "overrides": overrides, "source": str(document.file)},
    )
    write_json(folder / "provenance.json", provenance)
    with writing(folder):
        sync_tree(folder)
        for parent in (folder.parent, results, results.absolute().parent):  # which may be new too
            with suppress(PermissionError):  # a folder of others may be closed to readers
                sync(parent)
    return folder


def _copy(folder: Path, name: str, file: Path, otherwise: str) -> None:
    """Copy ``file`` to where the study refers to it, so that the run folder repeats the study, or to ``otherwise``."""
    inside = not Path(name).is_absolute() and ".." not in Path(name).parts
    target = folder / name if inside else folder / otherwise / file.name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, target)


def provenance(versions: dict[str, str], nodes: list[dict[str, Any]], warnings: list[str]) -> dict[str, Any]:
    """Where a result comes from: versions, host, nodes, the command that was given."""
    return {
        "loadstone": loadstone.__version__,
        "python": sys.version.split()[0],
        "command": ["loadstone", *sys.argv[1:]],
        "time": datetime.now().astimezone().isoformat(timespec="seconds"),
        "host": host_facts(),
        "software": versions,
        "nodes": nodes,
        "warnings": warnings,
    }


def add_software(folder: Path, versions: dict[str, str], images: dict[str, str]) -> None:
    """Add to a run's provenance what only a deployment reveals: versions of cluster software, images by content."""
    known = _provenance(folder)
    software, had = {**known.get("software", {}), **versions}, {**known.get("images", {}), **images}
    if (software, had) != (known.get("software", {}), known.get("images", {})):
        added = {"software": software, **({"images": had} if had else {})}
        write_json(folder / "provenance.json", {**known, **added})


def add_tuning(folder: Path, treatment: str, changes: Mapping[str, Sequence[Change]]) -> None:
    """Add to a run's provenance what a treatment set, by machine and file: the value before, and the one set."""
    if not changes:
        return
    values = {
        f"{machine}:{change.file}": {
            "before": change.before,
            **({"refused": change.refused} if change.refused else {"set": change.set}),
        }
        for machine, made in changes.items()
        for change in made
    }
    known = _provenance(folder)
    write_json(folder / "provenance.json", {**known, "tuning": {**known.get("tuning", {}), treatment: values}})


def _provenance(folder: Path) -> dict[str, Any]:
    try:
        known: dict[str, Any] = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
        return known
    except (OSError, ValueError):  # an older run's, damaged since
        return {}


def newest(results: Path, study: str) -> Path | None:
    """The newest run folder of a study."""
    folders = sorted(path.parent for path in (results / study).glob("*/plan.json"))
    return folders[-1] if folders else None


def locate(results: Path, given: str | None) -> Path:
    """The run folder that a user means: a folder, a study's name, or nothing for the newest of all.

    Raises InputError where there is none, and where a name is that of a study and of a folder beside ``results``.
    """
    pattern = f"{Path(given).name}/*/plan.json" if given else "*/*/plan.json"
    found = sorted(results.glob(pattern), key=lambda path: path.parent.name)
    if given and (Path(given) / "plan.json").exists():
        if found and os.sep not in given:
            both = f"{given!r} is a run folder here and a study in {results}/"
            raise InputError(f"{both}; write {os.path.join('.', given)} or {found[-1].parent}")
        return Path(given)
    if not found:
        what = f"no run {given!r}" if given else "no run"
        raise InputError(f"{what} in {results}/; `loadstone run STUDY` starts one")
    return found[-1].parent


def ledger_of(folder: Path, plan: Plan) -> Ledger:
    """The ledger of a run folder that this plan made."""
    return Ledger(folder, list(plan.study.factors))


def conclude(plan: Plan, ledger: Ledger) -> list[str]:
    """Record how a complete run ended; returns why searches found no breaking point."""
    failures = schedule.failures(plan, ledger.records)
    write_json(ledger.folder / OUTCOME, {"trials": len(ledger.records), "failures": failures})
    return failures


def complete(plan: Plan, ledger: Ledger) -> bool:
    """Whether no trial is left to run: the run was concluded, or would be now.

    A concluded run stays complete in later releases, whose searches might add trials.
    """
    try:
        if json.loads((ledger.folder / OUTCOME).read_text(encoding="utf-8"))["trials"] == len(ledger.records):
            return True
    except (OSError, ValueError, KeyError, TypeError):
        pass  # it was not, or what says so is damaged
    return schedule.next_trial(plan, ledger.records, pruning.foretold(ledger.folder)) is None


def version(folder: Path) -> str | None:
    """The release of Loadstone that wrote a run."""
    found = _provenance(folder).get("loadstone")
    return str(found) if found is not None else None
