"""Opens a run folder again from the study that lies in it."""

from __future__ import annotations

import json
from pathlib import Path

from loadstone.experiments import runs
from loadstone.experiments.ledger import Ledger
from loadstone.experiments.plan import Plan, make_plan
from loadstone.model.document import Document
from loadstone.model.errors import InputError


def reopen(folder: Path) -> tuple[Plan, Ledger]:
    """The plan that a run folder was made by, and its ledger; raises InputError where the folder is damaged."""
    try:
        stored = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        text = (folder / "study.yaml").read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} is not a whole run folder: {error}") from None
    # Paths in the study are relative to where it was, not to the copy.
    document = Document(text, stored["source"])
    for assignment in stored["overrides"]:
        document.override(assignment)
    plan = make_plan(document)
    return plan, runs.open_ledger(folder, plan)
