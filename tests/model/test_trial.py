"""Ids of treatments and trials: the same for the same, another for anything else."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.model.application import Resources
from loadstone.model.guest import Vm
from loadstone.model.interference import Stressor
from loadstone.model.observing import Traces
from loadstone.model.placement import Placement
from loadstone.model.proxy import Proxy
from loadstone.model.study import Settings
from loadstone.model.tasks import Tasks
from loadstone.model.trial import Treatment, Trial
from loadstone.model.tuning import Tuning

TREATMENT = Treatment(
    application="hotel-reservation",
    application_digest="0" * 12,
    settings=Settings(workload="mixed", environment="bare"),
    levels={"scaling": "baseline"},
)
TRIAL = Trial(
    treatment=TREATMENT,
    phase="fixed",
    rate=500,
    repetition=1,
    warmup_s=5,
    duration_s=30,
    load_digest="1" * 12,
    seed=1,
)
OTHER_SETTINGS: dict[str, Any] = {
    "orchestrator": "swarm",
    "scaling": "vertical",
    "profile": "paper",
    "documents": "mongodb",
    "environment": "vm",
    "vm": Vm(cpus=2),
    "high_availability": "on",
    "workload": "other",
    "dataset": "large",
    "proxy": Proxy(workers=4),
    "delays": {"geo": 0.005},
    "tasks": {"payment": Tasks(linpack=5)},
    "traces": Traces(sample=0.5),
    "metrics": None,
    "tuning": Tuning(thp="never"),
    "interference": Stressor(stressor="cpu"),
    "placement": Placement(tiers={"storage": ["worker-2"]}),
}
OTHER_TREATMENT: dict[str, Any] = {
    "application": "social-network",
    "application_digest": "2" * 12,
    "settings": Settings(workload="mixed", scaling="horizontal"),
    "resources": {"geo": Resources(cpu=1)},
    "replicas": {"geo": 2},
    "varied": {"load.connections": 8},
    "script_digest": "5" * 12,
    "dataset_digest": "6" * 12,
    "neighbour_digest": "8" * 12,
    "known_as": "7" * 12,
}
OTHER_TRIAL: dict[str, Any] = {
    "treatment": TREATMENT.model_copy(update={"application_digest": "3" * 12}),
    "phase": "confirm",
    "rate": 500.5,
    "clients": 20,
    "repetition": 2,
    "number": 2,
    "warmup_s": 4.0,
    "duration_s": 31.0,
    "requests": 100,
    "warmup_requests": 10,
    "load_digest": "4" * 12,
    "seed": 2,
}


def test_ids_are_those_of_earlier_versions() -> None:
    """A change here orphans the trials of runs that were begun before it: they would be measured again."""
    assert TREATMENT.id == "9e3731449007"
    assert TRIAL.id == "6689fa445863"


@pytest.mark.parametrize("field", Settings.model_fields)
def test_another_level_is_another_treatment(field: str) -> None:
    changed = TREATMENT.settings.model_copy(update={field: OTHER_SETTINGS[field]})
    assert TREATMENT.model_copy(update={"settings": changed}).id != TREATMENT.id


@pytest.mark.parametrize("field", sorted(set(Treatment.model_fields) - {"levels"}))
def test_anything_else_that_is_deployed_is_another_treatment(field: str) -> None:
    assert TREATMENT.model_copy(update={field: OTHER_TREATMENT[field]}).id != TREATMENT.id


def test_the_same_deployment_has_one_id_whatever_the_study_varies() -> None:
    assert TREATMENT.model_copy(update={"levels": {}}).id == TREATMENT.id


@pytest.mark.parametrize("field", Trial.model_fields)
def test_anything_that_differs_is_another_trial(field: str) -> None:
    assert TRIAL.model_copy(update={field: OTHER_TRIAL[field]}).id != TRIAL.id


def test_ids_of_many_trials_are_all_different() -> None:
    ids = [
        TRIAL.model_copy(update={"rate": float(rate), "repetition": repetition, "seed": seed}).id
        for rate, repetition, seed in itertools.product(range(1, 51), range(1, 11), range(4))
    ]
    assert len(set(ids)) == len(ids)


@given(
    rate=st.floats(0.1, 1e7),
    duration=st.floats(0.1, 3600),
    cpu=st.none() | st.floats(0.01, 64),
    memory=st.none() | st.integers(2**20, 2**40),
)
def test_a_trial_read_back_from_its_file_has_the_same_id(
    rate: float, duration: float, cpu: float | None, memory: int | None
) -> None:
    treatment = TREATMENT.model_copy(update={"resources": {"geo": Resources(cpu=cpu, memory=memory)}})
    trial = TRIAL.model_copy(update={"treatment": treatment, "rate": rate, "duration_s": duration})
    again = Trial.model_validate(json.loads(json.dumps(trial.model_dump(mode="json"))))
    assert again.id == trial.id


def test_labels_say_what_is_varied() -> None:
    assert TREATMENT.label == "scaling=baseline"
    two = TREATMENT.model_copy(update={"levels": {"scaling": "baseline", "load.connections": "8"}})
    assert two.label == "scaling=baseline load.connections=8"
    assert TREATMENT.model_copy(update={"levels": {}}).label == "hotel-reservation"


def test_a_deployment_serves_treatments_that_differ_in_load_and_trials_alone() -> None:
    ids = {
        TREATMENT.model_copy(update={"varied": varied}).deployment
        for varied in (None, {"load.connections": 8}, {"load.rates": [400.0], "trial.duration": 60.0})
    }
    assert ids == {TREATMENT.deployment}
    larger = TREATMENT.model_copy(update={"varied": {"cluster.workers": 19, "load.connections": 8}})
    assert larger.deployment != TREATMENT.deployment
