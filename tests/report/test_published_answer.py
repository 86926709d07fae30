"""How far a run is from what was published: bounds that are open on one side are no distances."""

from __future__ import annotations

from dataclasses import fields

import pytest

from loadstone.analysis.published import PublishedRow
from loadstone.report.published import within


def row(low: float | None, high: float | None) -> PublishedRow:
    known = {"source": "", "quantity": f"{low} {high}", "setting": "", "unit": "", "why": "", "trials": 3}
    absent = {field.name: None for field in fields(PublishedRow)}
    return PublishedRow(**{**absent, **known, "ratio_low": low, "ratio_high": high})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([row(0.5, 2.0), row(0.9, 0.9)], ", at **0.500** to **2** times them"),
        ([row(0.9, 0.9), row(3.0, None), row(None, 0.1)], ", at **0.900** times them; of 2 only a bound is known"),
        ([row(3.0, None)], "; of it only a bound is known"),
        ([row(None, None)], ""),
    ],
)
def test_open_bounds_are_counted_and_are_no_distances(rows: list[PublishedRow], text: str) -> None:
    assert within(rows) == text
