"""Values of which all must be known."""

from __future__ import annotations

from loadstone.analysis.known import all_known, mean_of_all, total


def test_what_is_made_of_some_values_does_not_pass_for_all() -> None:
    assert all_known([1.0, None, 3.0]) == []
    assert (mean_of_all([1.0, None, 3.0]), total([1, None])) == (None, None)
    assert (mean_of_all([]), total([])) == (None, None)


def test_zero_is_a_value() -> None:
    assert all_known([0.0, 4.0]) == [0.0, 4.0]
    assert (mean_of_all([0.0, 4.0]), total([0, 0])) == (2.0, 0)
