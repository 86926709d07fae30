"""How fast the generating hosts were beside a trial: one number for all of them, or none."""

from __future__ import annotations

import pytest

from loadstone.experiments.trial_runner import _reference
from loadstone.model.records.summary import TrialSummary
from tests.support.summaries import changed


@pytest.mark.parametrize(
    ("hosts", "times"),
    [
        ([(2.0, 3.0), (6.0, 7.0)], (4.0, 5.0)),
        ([(2.0, 3.0), (6.0, None)], None),  # with the faster host alone the machine would pass for a faster one
        ([], None),
    ],
)
def test_it_is_the_mean_over_all_hosts(
    hosts: list[tuple[float, float | None]], times: tuple[float, float] | None
) -> None:
    workers = [
        {"number": number, "reference_before_ms": before, "reference_after_ms": after}
        for number, (before, after) in enumerate(hosts)
    ]
    given = changed(generator={"workers": workers})
    assert _reference(TrialSummary.model_validate(given)) == times
