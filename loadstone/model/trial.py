"""Treatments and trials, the elements of a plan, with ids that are hashes of their content."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

from pydantic import Field

from loadstone.model.application import Resources
from loadstone.model.base import Model
from loadstone.model.study import Settings

Phase = Literal["fixed", "closed", "bracket", "fine", "confirm", "model"]


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def _given(fields: dict[str, object]) -> dict[str, object]:
    """Without what is not there, so that a field which is new changes no id that it has no part in."""
    return {name: value for name, value in fields.items() if value is not None}


_NAMES: Any = {"levels": True, "settings": {"placement": {"name"}}}
"""What a treatment is called, not what it is."""


class Treatment(Model):
    """One combination of levels, fully resolved."""

    application: str
    application_digest: str
    settings: Settings
    levels: dict[str, str] = {}
    """What the level of each factor is called."""
    resources: dict[str, Resources] = {}
    replicas: dict[str, int] | None = None
    """Numbers of replicas that are not the application's own, by service."""
    varied: dict[str, Any] | None = None
    """What factors set of the load, the trials and the cluster, by dotted path."""
    script_digest: str | None = None
    """Digest of a Lua workload, or of one that the study brings: with another content it is another treatment."""
    dataset_digest: str | None = None
    """Digest of a file that is the dataset: with another content it is another treatment."""
    neighbour_digest: str | None = None
    """Digest of the application that disturbs it: with another content it is another treatment."""
    known_as: str | None = Field(default=None, exclude=True)
    """The id that an earlier release gave it, in a run of that release."""

    @property
    def id(self) -> str:
        """A hash of everything that is deployed, whatever a placement is called."""
        return self.known_as or _digest(self.model_dump(mode="json", exclude=_NAMES, exclude_none=True))

    @property
    def deployment(self) -> str:
        """A hash of what is deployed; treatments that differ only in their load or their trials have the same."""
        varied = {
            path: value for path, value in (self.varied or {}).items() if not path.startswith(("load.", "trial."))
        }
        return self.model_copy(update={"varied": varied or None, "known_as": None}).id

    @property
    def label(self) -> str:
        """``orchestrator=process scaling=vertical``; the application's name where nothing is varied."""
        return " ".join(f"{name}={level}" for name, level in self.levels.items()) or self.application


class Trial(Model):
    """One measured run of a treatment at one load."""

    treatment: Treatment
    phase: Phase
    rate: float
    """Requests per second; 0 in a closed loop, which offers none, and of a trace at its own pace."""
    clients: int | None = None
    """Clients of a closed loop; None at a rate."""
    repetition: int
    """Which of equal trials at a fixed rate, or which search of a capacity study."""
    number: int = 1
    """The ordinal of a probe within its search; at a fixed load 2 for the baseline's second run in a block (A/A)."""
    warmup_s: float
    duration_s: float
    """The measured window; the longest that it may be where a number of requests ends it."""
    requests: int | None = None
    """Requests of all clients of a closed loop together that end it; None where their iterations or the time does."""
    warmup_requests: int | None = None
    """Requests of the warm-up, where it is given by them."""
    load_digest: str
    """A digest of all other load settings, so that a changed SLO or timeout is another trial."""
    seed: int

    @property
    def id(self) -> str:
        """A hash of the resolved treatment, load and repetition."""
        fields = self.model_dump(mode="json", exclude={"treatment"})
        return _digest({"treatment": self.treatment.id, **_given(fields)})
