"""What a capacity is the capacity of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loadstone.analysis import bounds
from loadstone.report import sentences
from loadstone.report.content import gather
from tests.synthetic import Synthetic


def limited(folder: Path, cores: float | None) -> Path:
    """A search in which every replica has this CPU limit and the front end uses 0.0994 cores where it used most."""
    run = Synthetic(duration_s=1.0).write(folder)
    files = list(run.glob("trials/*/usage.json"))
    most = max(load["cpu_s"] / load["window_s"] for file in files for load in json.loads(file.read_text()))
    for file in files:
        rows = json.loads(file.read_text())
        for row in rows:
            row |= {"cpu_s": row["cpu_s"] * 0.0994 / most, "cpu_limit": cores}
        file.write_text(json.dumps(rows))
    return run


@pytest.mark.parametrize(
    ("cores", "message"),
    [
        (0.1, "of the 0.1 core of its limit: the capacity is that of the study's limits on this machine, not of"),
        (2.0, "no service was at its CPU limit (the fullest, frontend used 0.0"),
        (None, None),
    ],
)
def test_the_page_says_what_was_measured(tmp_path: Path, cores: float | None, message: str | None) -> None:
    content = gather(limited(tmp_path, cores))
    (treatment,) = content.treatments
    text = sentences.bounded(content, treatment)
    assert sentences.bounds_of_one(content) == ([text] if message else [])
    assert (message in text) if message else text == ""
    full = bounds.fullest(content.run, treatment)
    assert (full is None) == (cores is None)
    if full is not None and cores is not None:
        assert full.service == "frontend" and full.limit == cores and full.at_limit == (cores == 0.1)


def test_several_treatments_each_say_it_beside_their_finding(tmp_path: Path) -> None:
    content = gather(Synthetic(capacities={"baseline": 700.0, "vertical": 1250.0}, duration_s=1.0).write(tmp_path))
    assert sentences.bounds_of_one(content) == []
    for _, text in sentences.each_treatment(content):
        assert " the capacity is that of the study's limits on this" in text or " no service was at its CPU" in text
