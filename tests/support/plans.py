"""The plans of study files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loadstone.experiments.plan import Plan, one_plan
from loadstone.model.document import Document


def read_plan(
    file: Path | str, overrides: Sequence[str] = (), part: str | None = None, scale: str | None = None
) -> tuple[Document, Plan]:
    """A study file, or the one part of it, with ``--set`` overrides, resolved."""
    document = Document.read(file)
    return document, one_plan(document, overrides, part, scale)
