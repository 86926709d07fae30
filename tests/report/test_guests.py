"""The page's part of virtual machines: what their host counted, beside what they counted themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.patches import Rectangle

from loadstone.analysis.metrics.guests import GuestRow
from loadstone.report import observability, page
from loadstone.report.content import gather
from loadstone.report.figures import style
from loadstone.report.figures.guests import both_sides
from tests import observed
from tests.report.reading import Page
from tests.synthetic import Synthetic


@pytest.mark.usefixtures("plain")
def test_the_page_lays_both_sides_beside_each_other(tmp_path: Path) -> None:
    folder = Synthetic(name="guests", rates=[200], duration_s=2).write(tmp_path)
    observed.observe(folder)
    assert "Host and guest" not in page.build(folder).read_text(encoding="utf-8")
    observed.in_guests(folder, {"worker-1": (3.0, 9e9)})
    text = " ".join(" ".join(Page(page.build(folder).read_text(encoding="utf-8")).texts).split())
    assert "Host and guest" in text and "Memory of its QEMU" in text


def test_a_guest_has_a_bar_of_each_side(tmp_path: Path) -> None:
    folder = Synthetic(name="guests", rates=[100, 200], duration_s=2).write(tmp_path)
    observed.observe(folder)
    observed.in_guests(folder, {"worker-1": (3.0, 9e9), "worker-2": (2.0, 8e9)})
    content = observability.gather(gather(folder)).content
    with style.styled():
        figure = both_sides(content)
    assert figure is not None
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes}
    assert list(panels) == ["CPU (cores)", "memory (GiB)", "context switches (1,000/s)"]
    rows = {row.node: row for row in content.rows(GuestRow) if row.load == 200}
    cores = [bar.get_width() for bar in panels["CPU (cores)"].patches if isinstance(bar, Rectangle)]
    expected = [end for row in rows.values() for end in (row.host_cores, row.guest_cores)]
    assert cores == pytest.approx(expected) and len(cores) == 4
    assert [text.get_text() for text in panels["CPU (cores)"].get_yticklabels()] == ["worker-1", "worker-2"]
    assert [text.get_text() for text in figure.legends[0].texts] == ["its host", "the guest"]
