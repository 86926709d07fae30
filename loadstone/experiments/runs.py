"""Run folders: created for a study, found again, resumed only with the study that created them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import loadstone
from loadstone.analysis.run import read_parts
from loadstone.experiments import hardware, pruning, schedule
from loadstone.experiments.durable import recording, sync, sync_tree, write_json, write_text
from loadstone.experiments.ledger import Ledger
from loadstone.experiments.plan import Plan
from loadstone.infrastructure.facts import host_facts
from loadstone.model import parts
from loadstone.model.cluster import Node
from loadstone.model.document import Document
from loadstone.model.errors import InputError
from loadstone.model.records.node.tuning import KnobChange
from loadstone.model.study import Study

OUTCOME = "outcome.json"
"""The file that records how a complete run ended."""


@dataclass(frozen=True)
class RunSource:
    """What a run was made from: a study file, its ``--set`` overrides, and which part of it at which scale."""

    document: Document
    overrides: Sequence[str] = ()
    part: str = ""
    scale: str | None = None

    def as_data(self) -> dict[str, Any]:
        """As ``plan.json`` has it."""
        chosen = {"part": self.part, "scale": self.scale}
        given = {name: value for name, value in chosen.items() if value}
        return {"overrides": list(self.overrides), "source": str(self.document.file), **given}


def create(
    results: Path,
    document: Document,
    plan: Plan,
    overrides: Sequence[str],
    provenance: dict[str, Any],
    scale: str | None = None,
) -> Path:
    """A new folder ``results/<study>/<yyyymmdd-hhmmss>``, in UTC, with the study as given and as resolved."""
    folder = _new_folder(results, plan.study.name)
    return fill(folder, RunSource(document, overrides, scale=scale), plan, provenance)


def create_parts(
    results: Path, document: Document, overrides: Sequence[str], chosen: Sequence[str], scale: str | None
) -> Path:
    """A new folder for the runs of a study's parts, of which those ``chosen`` are to be run."""
    folder = _new_folder(results, str(document.data["name"]))
    text = Path(document.file).read_text(encoding="utf-8")
    with recording(folder):
        write_text(folder / "study.yaml", text)
    source = {"source": str(document.file), "overrides": list(overrides), "scale": scale}
    write_json(folder / parts.FILE, {"parts": parts.named(document), "chosen": list(chosen), **source})
    return folder


def parts_of(folder: Path) -> list[Path]:
    """The run folders of the parts that were begun, in the study's order; the folder itself where there are none."""
    if not (folder / parts.FILE).exists():
        return [folder]
    return [folder / name for name in read_parts(folder).parts if (folder / name / "plan.json").exists()]


def not_begun(folder: Path) -> list[str]:
    """The names of the parts that are to be run in a folder and were not begun."""
    if not (folder / parts.FILE).exists():
        return []
    return [name for name in read_parts(folder).chosen if not (folder / name / "plan.json").exists()]


def _new_folder(results: Path, study: str) -> Path:
    """An empty ``results/<study>/<yyyymmdd-hhmmss>``."""
    folder = results / study / datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    with recording(folder):
        while True:
            try:
                folder.mkdir(mode=0o700, parents=True)  # configurations may hold what is for its owner alone
                break
            except FileExistsError:
                folder = folder.with_name(folder.name + "b")
            except PermissionError:
                raise InputError(f"cannot make {folder}: no permission; choose another place with --results") from None
    return folder


def fill(folder: Path, source: RunSource, plan: Plan, provenance: dict[str, Any]) -> Path:
    """Write the study as given and as resolved into a new run folder, and return that.

    ``plan.json`` comes last: a folder that has it is a run, and one without, which a kill left, is filled anew.
    """
    with recording(folder):
        folder.mkdir(mode=0o700, exist_ok=True)
        text = Path(source.document.file).read_text(encoding="utf-8")
        (folder / "study.yaml").write_text(text, encoding="utf-8")
        for own in plan.own:
            for name, file, place in (
                (own.study.workload, own.script, "scripts"),
                (own.study.dataset, own.data, "datasets"),
            ):
                if name is not None and file is not None:
                    _copy(folder, name, file, place)
        for given in (source.document.data.get("workloads") or {}).values():
            if isinstance(given, str):
                _copy(folder, given, Path(source.document.file).parent / given, "workloads")
        (folder / "trials").mkdir(exist_ok=True)
    write_json(folder / "provenance.json", provenance)
    with recording(folder):
        sync_tree(folder)
    write_json(folder / "plan.json", {"loadstone": loadstone.__version__, **plan.as_data(), **source.as_data()})
    with recording(folder):
        for parent in list(folder.absolute().parents)[:3]:  # which may be new too
            with suppress(PermissionError):  # a folder of others may be closed to readers
                sync(parent)
    return folder


def _copy(folder: Path, name: str, file: Path, otherwise: str) -> None:
    """Copy ``file`` to where the study refers to it, so that the run folder repeats the study, or to ``otherwise``."""
    inside = not Path(name).is_absolute() and ".." not in Path(name).parts
    target = folder / name if inside else folder / otherwise / file.name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, target)


def provenance(
    versions: dict[str, str], nodes: list[dict[str, Any]], warnings: list[str], commit: str | None = None
) -> dict[str, Any]:
    """Where a result comes from: versions, host, nodes, the command that was given, the commit of the study's file."""
    return {
        "loadstone": loadstone.__version__,
        **({"commit": commit} if commit is not None else {}),
        "python": sys.version.split()[0],
        "command": ["loadstone", *sys.argv[1:]],
        "time": datetime.now().astimezone().isoformat(timespec="seconds"),
        "host": host_facts(),
        "software": versions,
        "nodes": nodes,
        "warnings": warnings,
    }


def listed(nodes: Sequence[Node], machines: Mapping[str, Mapping[str, str]]) -> list[dict[str, Any]]:
    """Nodes as a provenance lists them, each with the facts of its machine where these are known."""
    return [node.model_dump(mode="json") | {"machine": dict(machines.get(node.name, {}))} for node in nodes]


def add_software(folder: Path, versions: dict[str, str], images: dict[str, str]) -> None:
    """Add to a run's provenance what only a deployment reveals: versions of cluster software, images by content."""
    known = _provenance(folder)
    software, had = {**known.get("software", {}), **versions}, {**known.get("images", {}), **images}
    if (software, had) != (known.get("software", {}), known.get("images", {})):
        added = {"software": software, **({"images": had} if had else {})}
        write_json(folder / "provenance.json", {**known, **added})


def update_software(folder: Path, versions: dict[str, str]) -> list[str]:
    """Put today's versions into the provenance of a run that goes on.

    Returns those that differ as sentences, which are warnings there: trials before and after are of different software.
    """
    known = _provenance(folder)
    software = {"loadstone": known.get("loadstone"), **known.get("software", {})}
    found = [
        f"{name}: {software[name]} in earlier trials, {version} from now on"
        for name, version in {"loadstone": loadstone.__version__, **versions}.items()
        if software.get(name) not in (None, version)
    ]
    add_software(folder, versions, {})
    add_warnings(folder, found)
    return found


def add_warnings(folder: Path, warnings: Sequence[str]) -> None:
    """Add to the warnings of a run's provenance, each once."""
    if warnings:
        known = _provenance(folder)
        every = list(dict.fromkeys([*known.get("warnings", []), *warnings]))
        write_json(folder / "provenance.json", {**known, "warnings": every})


def add_made(folder: Path, nodes: Sequence[Node]) -> None:
    """Put machines into a run's provenance in place of those that were planned, and warn where they differ."""
    known = _provenance(folder)
    nodes_known = known.get("nodes", [])
    planned = {node["name"] for node in nodes_known if node.get("reach", {}).get("transport") == "planned"}
    made = [node for node in nodes if node.name in planned]
    if not made:
        return
    machines = hardware.of_hosts(made)
    by_name = {node["name"]: node for node in listed(made, machines)}
    now = [by_name.get(node["name"], node) for node in nodes_known]
    warnings = [f"{found.what}: {found.message}" for found in hardware.differences(made, machines)]
    write_json(folder / "provenance.json", {**known, "nodes": now, "warnings": [*known.get("warnings", []), *warnings]})


def add_tuning(folder: Path, treatment: str, changes: Mapping[str, Sequence[KnobChange]]) -> None:
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
    folders = sorted(_folders(results, study), key=lambda folder: folder.name)
    return folders[-1] if folders else None


def _folders(results: Path, study: str = "*") -> list[Path]:
    return [path.parent for file in ("plan.json", parts.FILE) for path in results.glob(f"{study}/*/{file}")]


def any_in(results: Path) -> bool:
    """Whether there is a run."""
    return bool(_folders(results))


def is_run(folder: Path) -> bool:
    """Whether a folder is that of a run, or of the runs of a study's parts."""
    return any((folder / file).exists() for file in ("plan.json", parts.FILE))


def locate(results: Path, given: str | None) -> Path:
    """The run folder that a user means: a folder, a study's name, or nothing for the newest of all.

    Raises InputError where there is none, and where a name is that of a study and of a folder beside ``results``.
    """
    study = Path(given).name if given else "*"  # nothing of the folders `.` and `/`
    found = sorted(_folders(results, study), key=lambda folder: folder.name) if study else []
    if given and is_run(Path(given)):
        if found and os.sep not in given:
            both = f"{given!r} is a run folder here and a study in {results}/"
            raise InputError(f"{both}; write {os.path.join('.', given)} or {found[-1]}")
        return Path(given)
    if not found:
        what = f"no run {given!r}" if given else "no run"
        raise InputError(f"{what} in {results}/; `loadstone run STUDY` starts one")
    return found[-1]


def locate_one(results: Path, given: str | None) -> Path:
    """The same for what reads one run: of a study with parts, one of them."""
    folder = locate(results, given)
    there = parts_of(folder)
    if len(there) != 1:
        names = ", ".join(map(str, there)) or "none was begun"
        raise InputError(f"{folder} has the runs of a study's parts; name one of them: {names}")
    return there[0]


def name_of(folder: Path) -> str:
    """The name of a run among those of its study: of a part's, that of the folder with all parts."""
    return folder.parent.name if (folder.parent / parts.FILE).exists() else folder.name


def ledger_of(folder: Path, study: Study) -> Ledger:
    """The ledger of a run folder that this study made."""
    return Ledger(folder, list(study.factors))


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
