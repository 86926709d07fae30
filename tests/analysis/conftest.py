"""Synthetic runs, written once for all tests that only read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.synthetic import Synthetic


@pytest.fixture(scope="session")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished search for two treatments; the third trial is invalid."""
    synthetic = Synthetic(name="searched", capacities={"baseline": 700.0, "vertical": 1250.0}, invalid=(3,))
    return synthetic.write(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="session")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fixed rates, three repetitions; the last rate is far beyond the breaking point."""
    synthetic = Synthetic(name="rated", rates=[200, 500, 2000], repetitions=3, invalid=(2,))
    return synthetic.write(tmp_path_factory.mktemp("results"))
