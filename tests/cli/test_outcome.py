"""The result of a load in terminals of several widths."""

from __future__ import annotations

import io

import pytest

from loadstone.cli.console import SafeConsole
from loadstone.cli.outcome import render
from loadstone.experiments.verdict import judge
from loadstone.model.records.summary import TrialSummary
from tests.support.summaries import changed

ERROR = {"kind": "expected status 200, got 500", "operation": "/a", "count": 4321, "example": ""}


def shown(width: int) -> list[str]:
    """The lines of the result, with one space between words."""
    measured = TrialSummary.model_validate(changed(errors=[ERROR], latency_ms__intended__answered=9992))
    console = SafeConsole(file=io.StringIO(), width=width, soft_wrap=True)
    console.print(render(measured.observed(), judge(measured, None), "title"))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "…" not in text
    return [" ".join(line.split()) for line in text.splitlines()]


@pytest.mark.parametrize("width", [10, 20, 40])
def test_a_narrow_terminal_cuts_no_number(width: int) -> None:
    lines = shown(width)
    start = lines.index("completed")
    assert lines[start : start + 4] == ["completed", "requests 9,990", "per second 999", "99.9 %"]
    start = lines.index("latency")
    assert lines[start + 1 : start + 7] == ["mean 20", "P50 15", "P90 40", "P99 110", "P99.9 180", "max > 260"]


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (20, ["what failed", "expected status 200, got 500", "requests 4,321"]),
        (30, ["what failed requests", "expected status 4,321", "200, got 500"]),
        (80, ["what failed requests", "expected status 200, got 500 4,321"]),
    ],
)
def test_what_failed_is_wrapped_and_its_number_is_not(width: int, expected: list[str]) -> None:
    lines = shown(width)
    start = lines.index(expected[0])
    assert lines[start : start + len(expected)] == expected


def test_a_wide_terminal_has_tables() -> None:
    assert {"completed 9,990 999 99.9 %", "latency 20 15 40 110 180 > 260"} <= set(shown(80))
