"""Whole distributions out of an interval log: every count, under its tag, at the value that percentiles show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.analysis.run import hlog
from loadstone.model.errors import InputError
from tests.distributions import write_hlog


@settings(max_examples=25)
@given(st.lists(st.integers(1, 7_000_000_000), min_size=2, max_size=50))
def test_every_latency_comes_back_as_its_bin(tmp_path_factory: pytest.TempPathFactory, values: list[int]) -> None:
    file = tmp_path_factory.mktemp("log") / "latency.hlog"
    write_hlog(file, {"intended": values})
    found = hlog.distributions(file)["intended"]
    reference = HdrHistogram(1000, 7200 * 10**9, 3)
    highest = sorted(reference.get_highest_equivalent_value(value * 1000) / 1000 for value in values)
    assert np.repeat(found.values, found.counts).tolist() == pytest.approx(highest, abs=1e-9)


def test_tags_are_kept_apart(tmp_path: Path) -> None:
    file = tmp_path / "latency.hlog"
    write_hlog(file, {"intended": range(1, 21), "service": [5], "intended:hotels": [7] * 3, "intended:user": []})
    assert {name: distribution.size for name, distribution in hlog.distributions(file).items()} == {
        "intended": 20,
        "intended:hotels": 3,
    }
    assert {name: distribution.size for name, distribution in hlog.distributions(file, "service").items()} == {
        "service": 1
    }


def test_logs_of_release_0_1_have_a_tag_on_all_requests_too(tmp_path: Path) -> None:
    file = tmp_path / "latency.hlog"
    write_hlog(file, {"intended": range(1, 21), "intended:hotels": [7] * 3})
    new, over_time = hlog.distributions(file), hlog.intervals(file)
    lines = file.read_text().splitlines()
    file.write_text("\n".join(f"Tag=intended,{line}" if line[0].isdigit() else line for line in lines))
    old = hlog.distributions(file)
    assert {name: item.counts.tolist() for name, item in old.items()} == {
        name: item.counts.tolist() for name, item in new.items()
    }
    assert hlog.intervals(file) == over_time
    assert [item.count for item in over_time[0]] == [10, 10]


@pytest.mark.parametrize("text", ["Tag=intended,1,1,1,!!!\n", "Tag=intended\n", "Tag=intended,1,1,1,HISTFAAAACZ42p\n"])
def test_a_damaged_log_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "latency.hlog"
    file.write_text(text)
    with pytest.raises(InputError, match=r"latency\.hlog: cannot be read as an HdrHistogram log: "):
        hlog.distributions(file)
    with pytest.raises(InputError, match=r"none\.hlog: is missing"):
        hlog.distributions(tmp_path / "none.hlog")
