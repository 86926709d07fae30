"""Breaking points by two factors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from loadstone.analysis import summary
from loadstone.analysis.grid import grid
from loadstone.analysis.run import open_run
from loadstone.analysis.summary import TreatmentSummary
from tests.synthetic import Synthetic


def with_levels(searched: Path, *levels: dict[str, str]) -> list[TreatmentSummary]:
    """The two searched treatments under other levels, as many as are given; the first breaks earlier."""
    first, second = summary.treatments(open_run(searched))
    return [replace(item, levels=given) for item, given in zip([first, second] * 3, levels, strict=False)]


def test_one_factor_needs_no_grid(searched: Path) -> None:
    assert grid(summary.treatments(open_run(searched))) is None
    assert grid([]) is None


def test_the_orchestrator_is_across_wherever_it_stands(searched: Path) -> None:
    found = with_levels(
        searched,
        {"orchestrator": "swarm", "scaling": "baseline"},
        {"orchestrator": "swarm", "scaling": "vertical"},
        {"orchestrator": "nomad", "scaling": "baseline"},
    )
    made = grid(found)
    assert made is not None
    assert (made.factor, made.columns, made.rows) == ("orchestrator", ["swarm", "nomad"], BOTH)
    first, second = (
        item.searched.result.breaking_point for item in found[:2] if item.searched and item.searched.result
    )
    assert made.cells == [[first, first], [second, None]]  # no nomad, vertical in this study
    assert made.table().to_pylist() == [
        {
            "treatment": "scaling=baseline",
            **{"swarm": first.value, "swarm_low": first.low, "swarm_high": first.high},
            **{"nomad": first.value, "nomad_low": first.low, "nomad_high": first.high},
        },
        {
            "treatment": "scaling=vertical",
            **{"swarm": second.value, "swarm_low": second.low, "swarm_high": second.high},
            **{"nomad": None, "nomad_low": None, "nomad_high": None},
        },
    ]


BOTH = ["scaling=baseline", "scaling=vertical"]


def test_without_an_orchestrator_the_last_factor_is_across(searched: Path) -> None:
    made = grid(with_levels(searched, {"scaling": "baseline", "documents": "postgres"}))
    assert made is not None
    assert (made.factor, made.columns, made.rows) == ("documents", ["postgres"], ["scaling=baseline"])


def test_a_search_without_an_estimate_leaves_its_cell_empty(searched: Path) -> None:
    (item,) = with_levels(searched, {"orchestrator": "swarm", "scaling": "baseline"})
    assert item.searched is not None
    made = grid([replace(item, searched=replace(item.searched, result=None))])
    assert made is not None
    assert made.cells == [[None]]


def test_treatments_that_have_not_run_yet_are_left_out(tmp_path: Path) -> None:
    levels = ("swarm/baseline", "swarm/vertical", "nomad/baseline", "nomad/vertical")
    interrupted = Synthetic(
        factor="orchestrator/scaling", capacities=dict.fromkeys(levels, 700.0), stop_before=(levels[2], "bracket")
    )
    made = grid(summary.treatments(open_run(interrupted.write(tmp_path))))
    assert made is not None
    assert (made.columns, made.rows) == (["swarm"], BOTH)
    assert all(cell is not None for row in made.cells for cell in row)
