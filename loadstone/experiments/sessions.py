"""What a command is to run: a study, or each of its parts, anew or where a run of it was left."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.analysis.run import read_parts
from loadstone.experiments import resume, runs
from loadstone.experiments.ledger import Ledger
from loadstone.experiments.plan import Plan, read_plans
from loadstone.experiments.scales import scale_of
from loadstone.model import parts
from loadstone.model.document import Document
from loadstone.model.errors import InputError


@dataclass(frozen=True)
class Session:
    """A run to conduct."""

    part: str
    """Which of its study; empty where that has none."""
    plan: Plan
    ledger: Ledger | None
    """The ledger of a run that goes on; None for a new run."""
    create: Callable[[dict[str, Any]], Path]
    """Makes the folder of a new run, with its provenance."""
    study: Path = Path()
    """The study's file."""


def of_study(
    results: Path, study: str | None, overrides: Sequence[str], only: Sequence[str], scale: str | None
) -> list[Session]:
    """New runs of a study file; raises InputError where it is wrong."""
    if study is None:
        raise InputError("no study given; for example: loadstone run studies/first-light.yaml")
    document = Document.read(study)
    plans = read_plans(document, overrides, only, scale)
    chosen = scale_of(document, scale)
    if "" in plans:
        plan = plans[""]
        return [
            Session(
                "",
                plan,
                None,
                lambda facts: runs.create(results, document, plan, overrides, facts, chosen),
                Path(study),
            )
        ]
    folder = functools.cache(lambda: runs.create_parts(results, document, overrides, list(plans), chosen))
    return [_new(folder, runs.RunSource(document, overrides, part, chosen), plan) for part, plan in plans.items()]


def of_run(
    results: Path, given: str | None, overrides: Sequence[str], only: Sequence[str], scale: str | None
) -> list[Session]:
    """Runs to go on with: of a run folder, or the newest of a study; of a study with parts also those not begun."""
    if given is None or runs.is_run(Path(given)):
        if overrides or scale:
            raise InputError(
                "--set and --scale cannot be combined with resuming a run folder: the run keeps the study that it was"
                " started with"
            )
        folder = runs.locate(results, given)
        if not (folder / parts.FILE).exists():
            return [_old(*resume.reopen(folder))]
        begun = read_parts(folder)
        document = Document((folder / "study.yaml").read_text(encoding="utf-8"), begun.source)
        overrides, scale, only = begun.overrides, begun.scale, only or begun.chosen
    else:
        document = Document.read(given)
        for assignment in overrides:  # also now: it may be the name
            document.override(assignment)
        name = str(document.data.get("name"))
        found = runs.newest(results, name)
        if found is None:
            raise InputError(f"no run of {name} in {results}/ to resume; leave --resume out to start one")
        folder = found
    plans = read_plans(document, overrides, only, scale)
    if "" in plans:
        return [_old(*resume.resumed(folder, plans[""]))]
    if not (folder / parts.FILE).exists():
        raise InputError(f"{folder} was started when the study had no parts; start a new run without --resume")
    chosen, sessions = scale_of(document, scale), []
    for part, plan in plans.items():
        if runs.is_run(folder / part):
            sessions.append(_old(*resume.resumed(folder / part, plan), part))
        else:
            sessions.append(_new(lambda: folder, runs.RunSource(document, overrides, part, chosen), plan))
    return sessions


def _new(folder: Callable[[], Path], source: runs.RunSource, plan: Plan) -> Session:
    def create(facts: dict[str, Any]) -> Path:
        return runs.fill(folder() / source.part, source, plan, facts)

    return Session(source.part, plan, None, create, Path(source.document.file))


def _old(plan: Plan, ledger: Ledger, part: str = "") -> Session:
    return Session(part, plan, ledger, lambda _: ledger.folder)
