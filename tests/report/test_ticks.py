"""Ticks of axes: an axis with a single number on it cannot be read."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from loadstone.report.figures import names, style


@pytest.mark.parametrize("low", [0.7, 1.0, 3.0, 5.2, 9.9])
@pytest.mark.parametrize("span", [1.2, 2.0, 3.0, 4.5, 12.0, 80.0, 3000.0])
def test_a_logarithmic_axis_has_two_ticks_at_least(low: float, span: float) -> None:
    figure, axes = plt.subplots(figsize=(4, 3))
    try:
        axes.plot([0, 1], [low, low * span])
        style.plain_scale(axes, "y", [low, low * span], log=True)
        figure.draw_without_rendering()
        bottom, top = axes.get_ylim()
        seen = [tick for tick in axes.get_yticks() if bottom <= tick <= top]
        assert 2 <= len(seen) <= 12
        labels = [label.get_text() for label in axes.get_yticklabels()]
        assert len(set(labels)) == len(labels)
    finally:
        plt.close(figure)


def test_names_on_an_axis_are_turned_and_never_left_out() -> None:
    with style.styled():
        figure, axes = plt.subplots(figsize=(2, 2), layout="constrained")
        try:
            given = ["series 10x100", "series 100x10", "series 200x5", "series 1000x1"]
            axes.bar(range(4), [1, 2, 3, 4])
            axes.set_xticks(range(4), given)
            style.settle(figure)
            assert [label.get_text() for label in axes.get_xticklabels()] == given
            assert axes.get_xticklabels()[0].get_rotation() > 0
        finally:
            plt.close(figure)


def test_a_factor_is_named_before_a_number_with_its_unit_only() -> None:
    assert [names.level("trial.duration", value) for value in ("30s", "4", "200x5", "10x100")] == [
        "duration 30s",
        "duration 4",
        "200x5",
        "10x100",
    ]
