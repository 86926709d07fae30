"""Synthetic runs with their reports, built once for all tests that only read them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadstone.report import figure_jobs, page
from tests.report.chromium import PROGRAM, Chromium
from tests.synthetic import Synthetic


@contextmanager
def no_figures() -> Iterator[None]:
    """Pages are made without their figures, which take most of the time and which others test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figure_jobs.Job, "draw", lambda self: None)
        yield


@pytest.fixture
def plain() -> Iterator[None]:
    """``no_figures`` for a whole test."""
    with no_figures():
        yield


@pytest.fixture(scope="session")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished search for two treatments, one trial invalid."""
    synthetic = Synthetic(name="searched", capacities={"baseline": 700.0, "vertical": 1250.0}, invalid=(3,))
    folder = synthetic.write(tmp_path_factory.mktemp("results"))
    page.build(folder)
    return folder


@pytest.fixture(scope="session")
def crossed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Searches under two factors."""
    capacities = {
        "nomad/baseline": 600.0,
        "nomad/horizontal": 900.0,
        "swarm/baseline": 700.0,
        "swarm/horizontal": 1100.0,
    }
    synthetic = Synthetic(name="crossed", factor="orchestrator/scaling", capacities=capacities)
    folder = synthetic.write(tmp_path_factory.mktemp("results"))
    with no_figures():
        page.build(folder)
    return folder


@pytest.fixture(scope="session")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fixed rates, two repetitions."""
    folder = Synthetic(name="rated", rates=[200, 500, 2000], repetitions=2).write(tmp_path_factory.mktemp("results"))
    page.build(folder)
    return folder


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A browser, one for all tests."""
    if PROGRAM is None:
        pytest.skip("chromium is not installed")
    browser = Chromium(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()
