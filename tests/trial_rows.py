"""Rows of tables for tests that need few of their columns."""

from __future__ import annotations

from typing import Any

from loadstone.analysis.comparison.tables import EffectRow
from loadstone.model.records.trial_row import TrialRow
from loadstone.model.trial import Trial


def trial_row(**columns: Any) -> TrialRow:
    """A trial at a fixed rate that held, with these columns."""
    return TrialRow.model_validate(
        {
            "trial_id": "t",
            "treatment_id": "a",
            "treatment": "a",
            "phase": "fixed",
            "repetition": 1,
            "number": 1,
            "order": 1,
            "rate": 100.0,
            "verdict": "held",
            "reasons": [],
            "warnings": [],
            "started": "2026-01-02T03:04:05.000+00:00",
            "emulated": False,
            "documents": "postgres",
            **columns,
        }
    )


def row_of(trial: Trial, verdict: str, **columns: Any) -> TrialRow:
    """The row of a planned trial with that verdict."""
    planned = trial.model_dump(include={"phase", "rate", "clients", "repetition", "number"})
    identity = {"trial_id": trial.id, "treatment_id": trial.treatment.id, "treatment": trial.treatment.label}
    return trial_row(**planned, **identity, verdict=verdict, **columns)


def effect_row(**columns: Any) -> EffectRow:
    """A comparison of eight pairs at the median of all requests, with these columns."""
    at: dict[str, Any] = {"baseline": "a", "treatment": "b", "load": 1.0, "clients": None, "margin": 0.02}
    at |= {"scope": "requests", "name": "all requests", "statistic": "p50", "method": "paired", "runs": 8}
    numbers = ("a_ms", "b_ms", "ratio", "low", "high", "p", "p_t", "p_adjusted", "p_equal", "sd")
    return EffectRow(**{**at, **dict.fromkeys(numbers, 1.0), **columns})
