"""What a report has for each figure and table of the published studies: all of it is really there."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import loadstone.analysis
import loadstone.report
from loadstone.analysis.schema import TableRow
from loadstone.model import parts
from loadstone.model.document import Document
from loadstone.report.figures.kinds import Kind

ROOT = Path(__file__).parents[2]
ROWS: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    (ROOT / "docs" / "reference" / "paper-figures.yaml").read_text(encoding="utf-8")
)
STUDIES = {file.stem: file for file in (ROOT / "studies" / "papers").glob("*.yaml")}


def figures() -> Iterator[str]:
    """The names of all figures that a report may have."""
    for package in (loadstone.report, loadstone.analysis):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for value in vars(importlib.import_module(module.name)).values():
                some = value if isinstance(value, tuple) else (value,)
                yield from (kind.name for kind in some if isinstance(kind, Kind))


def tables(kind: type[TableRow] = TableRow) -> Iterator[str]:
    for below in kind.__subclasses__():
        yield from (below.NAME, *tables(below))


def test_the_studies_are_those_that_there_are_files_of() -> None:
    assert set(ROWS) == set(STUDIES)


@pytest.mark.parametrize("name", ROWS)
def test_every_figure_and_table_is_there_or_has_a_reason(name: str) -> None:
    drawn, known = set(figures()), {*tables(), "grid"}
    of_study = parts.named(Document.read(STUDIES[name]))
    for row in ROWS[name]:
        assert row.keys() <= {"of", "part", "figures", "tables", "also", "why"}
        assert set(row.get("figures", ())) <= drawn, row
        assert set(row.get("tables", ())) <= known, row
        assert row.get("part") in (*of_study, None), row
        assert any(row.get(key) for key in ("figures", "tables", "also", "why")), row
        assert row.get("part") or row.get("why"), f"{row}: without a part it is in no report: why?"
