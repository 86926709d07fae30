"""Ticks of axes: an axis with a single number on it cannot be read."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from loadstone.report.figures import style


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
