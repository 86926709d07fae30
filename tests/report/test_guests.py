"""The page's part of virtual machines: what their host counted, beside what they counted themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.report import page
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
