"""Breaking points of all treatments in a grid: one factor across, all others down."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from loadstone.analysis.breaking_point import Estimate
from loadstone.analysis.summary import TreatmentSummary

_ACROSS = "orchestrator"
"""The factor whose levels are the columns, where it is varied; else the last one."""


@dataclass(frozen=True)
class Grid:
    """``cells[row][column]`` is a treatment's breaking point; None where there is no such treatment or no estimate."""

    factor: str
    columns: list[str]
    rows: list[str]
    """The levels of all other factors: ``scaling=vertical high_availability=on``."""
    cells: list[list[Estimate | None]]

    def table(self) -> pa.Table:
        """A row a row; a column's point and the ends of its 95 % interval, in requests/s."""
        data: dict[str, list[object]] = {"treatment": list(self.rows)}
        for index, name in enumerate(self.columns):
            estimates = [row[index] for row in self.cells]
            data[name] = [estimate.value if estimate else None for estimate in estimates]
            data[f"{name}_low"] = [estimate.low if estimate else None for estimate in estimates]
            data[f"{name}_high"] = [estimate.high if estimate else None for estimate in estimates]
        points = [pa.field(name, pa.float64(), metadata={"unit": "requests/s"}) for name in data if name != "treatment"]
        return pa.table(data, schema=pa.schema([pa.field("treatment", pa.string()), *points]))


def grid(found: list[TreatmentSummary]) -> Grid | None:
    """The grid of a run that searches under at least two factors; None for any other."""
    # One that has not run yet has no levels.
    searched = [treatment for treatment in found if treatment.searched is not None and treatment.levels]
    factors = list(dict.fromkeys(name for treatment in searched for name in treatment.levels))
    if len(factors) < 2:
        return None
    across = _ACROSS if _ACROSS in factors else factors[-1]
    points: dict[tuple[str, str], Estimate | None] = {}
    for treatment in searched:
        row = " ".join(f"{name}={level}" for name, level in treatment.levels.items() if name != across)
        result = treatment.searched.result if treatment.searched else None
        points[row, treatment.levels[across]] = result.breaking_point if result else None
    rows = list(dict.fromkeys(row for row, _ in points))
    columns = list(dict.fromkeys(column for _, column in points))
    return Grid(across, columns, rows, [[points.get((row, column)) for column in columns] for row in rows])
