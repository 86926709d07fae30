from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.model.tuning import Tuning

WHOLE = Tuning.model_validate(
    {
        "governor": "performance",
        "frequency": "2.2GHz",
        "turbo": "off",
        "smt": "off",
        "cstates": ["POLL", "C1"],
        "uncore": "2GHz",
        "swap": "off",
        "thp": "never",
        "numa_balancing": "off",
        "irqs": [0],
    }
)
"""Of the third study, and all else."""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for the journal that is not this machine's."""
    monkeypatch.setenv("LOADSTONE_HOST_STATE", str(tmp_path / "state"))
    return tmp_path / "state"
