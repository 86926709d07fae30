"""Opens a run folder again: to read its results, or to resume it from the study that it contains."""

from __future__ import annotations

from pathlib import Path

from loadstone.experiments import runs, stored_plan
from loadstone.experiments.ledger import Ledger
from loadstone.experiments.plan import Plan, one_plan
from loadstone.model.document import Document
from loadstone.model.errors import InputError


def look(folder: Path) -> tuple[Plan, Ledger]:
    """What a run was planned as and has done, of whatever release; raises InputError where the folder is damaged."""
    plan = stored_plan.read(folder)
    return plan, runs.ledger_of(folder, plan.study)


def reopen(folder: Path) -> tuple[Plan, Ledger]:
    """A run to resume. Raises InputError where the folder is damaged or its study no longer resolves to the same plan.

    A complete run is not compared with today's plan.
    """
    plan, ledger = look(folder)
    if runs.complete(plan, ledger):
        return plan, ledger
    data = stored_plan.data_of(folder)
    try:
        text = (folder / "study.yaml").read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{folder}/study.yaml cannot be read: {error}\n  to go on, start a new run") from None
    # Paths in the study are relative to where it was, not to the copy.
    document = Document(text, data["source"])
    return resumed(folder, one_plan(document, data["overrides"], data.get("part"), data.get("scale")))


def resumed(folder: Path, plan: Plan) -> tuple[Plan, Ledger]:
    """A run folder that goes on with a plan of today; raises InputError if another plan made it."""
    adopted = stored_plan.adopt(folder, plan)
    return adopted, runs.ledger_of(folder, adopted.study)
