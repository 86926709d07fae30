"""Any setting is a factor: what its levels do to the study, the load and the deployment of each treatment."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadstone.experiments import durations, runs, schedule, stored_plan
from loadstone.experiments.plan import Plan
from loadstone.experiments.provisioning import demands
from loadstone.experiments.reference_treatments import reference_of
from loadstone.model.errors import InputError
from loadstone.orchestration.process import Process
from tests.experiments.studies import document, plan
from tests.support.plans import read_plan

SERIES = [
    {"name": "40x6", "load.rates": [40], "trial.duration": "6s"},
    {"name": "20x12", "load.rates": [20], "trial.duration": "12s"},
]


def labels(found: Plan) -> list[str]:
    return [treatment.label for treatment in found.treatments]


def test_a_path_varies_what_lies_deeper() -> None:
    found = plan({"load.connections": [8, 64], "resources.frontend.cpu": [1, 2]})
    assert labels(found) == [
        f"load.connections={connections} resources.frontend.cpu={cpu}" for connections in (8, 64) for cpu in (1, 2)
    ]
    assert [found.of(treatment).study.load.connections for treatment in found.treatments] == [8, 8, 64, 64]
    assert [treatment.resources["frontend"].cpu for treatment in found.treatments] == [1, 2, 1, 2]
    assert len({treatment.id for treatment in found.treatments}) == 4
    assert len({treatment.deployment for treatment in found.treatments}) == 2


def test_a_named_level_sets_several_settings() -> None:
    found = plan({"series": SERIES}, load={"slo": {"p99": "200ms"}})
    assert labels(found) == ["series=40x6", "series=20x12"]
    trials = [(trial.treatment.label, trial.rate, trial.duration_s) for trial in schedule.fixed_trials(found)]
    assert sorted(trials) == [("series=20x12", 20.0, 12.0), ("series=40x6", 40.0, 6.0)]
    assert durations.trial_seconds(found) == 9 + durations.OVERHEAD_S + Process.deploying_s / 2


def test_a_placement_may_come_with_its_orchestrator() -> None:
    alone = {"name": "FLCD", "orchestrator": "compose", "cluster.workers": 1}
    found = plan({"placement": [alone, {"tiers": {"storage": ["worker-2"]}}]}, orchestrator="swarm", cluster=NODES)
    assert [treatment.settings.orchestrator for treatment in found.treatments] == ["compose", "swarm"]
    assert [(cluster.workers, wanted.software) for cluster, wanted in demands(found)] == [(1, "docker"), (2, "swarm")]
    assert [treatment.varied for treatment in found.treatments] == [{"cluster.workers": 1}, {"cluster.workers": 2}]


NODES = {"infrastructure": "namespaces", "workers": 2}


def test_applications_are_levels_and_each_treatment_has_its_own() -> None:
    found = plan({"application": ["hotel-reservation", "social-network"]}, application=None)
    assert [found.of(treatment).application.name for treatment in found.treatments] == [
        "hotel-reservation",
        "social-network",
    ]
    assert found.treatments[1].settings.workload == found.own[1].application.default_workload
    assert [reference_of(found.treatments, treatment).label for treatment in found.treatments] == labels(found)


def test_numbers_of_replicas_are_those_of_the_treatment() -> None:
    found = plan({"replicas.search": [1, 3]})
    assert [found.deployable(each).application.services["search"].replicas for each in found.treatments] == [1, 3]
    assert [reference_of(found.treatments, each).label for each in found.treatments] == ["replicas.search=1"] * 2


def test_clients_and_rates_are_written_one_a_level() -> None:
    found = plan({"load.closed.clients": [1, 5]}, load={})
    assert [trial.clients for trial in schedule.fixed_trials(found)] in ([1, 5], [5, 1])


def test_equal_deployments_follow_each_other_within_a_block() -> None:
    found = plan({"scaling": ["baseline", "horizontal"], "load.connections": [1, 2, 4, 8]}, trial={"repetitions": 3})
    order = [trial.treatment.settings.scaling for trial in schedule.fixed_trials(found)]
    assert sum(before != after for before, after in itertools.pairwise(order)) <= 5


def test_a_run_folder_gives_the_same_plan_back(tmp_path: Path) -> None:
    given = document({"series": SERIES, "cluster.workers": [2, 3]}, load={"slo": {"p99": "1s"}}, cluster=EMULATED)
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(given.data, sort_keys=False))
    read, found = read_plan(tmp_path / "study.yaml")
    folder = runs.create(tmp_path / "results", read, found, [], {})
    again = stored_plan.adopt(folder, found)
    assert [(t.id, t.levels, t.deployment) for t in again.treatments] == [
        (t.id, t.levels, t.deployment) for t in found.treatments
    ]
    stored = stored_plan.read(folder)
    assert [own.study.cluster.workers for own in stored.own] == [2, 3, 2, 3]
    assert [own.study.load.rates for own in stored.own] == [[40.0], [40.0], [20.0], [20.0]]


EMULATED = {"infrastructure": "namespaces"}


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ({"load.conections": [8]}, "factors.load.conections.0: unknown key 'conections'; did you mean 'connections'?"),
        ({"laod.rates": [8]}, "factors.laod.rates: 'laod' is no setting; did you mean 'load'?"),
        ({"load.rates": [[8]]}, "load.rates: 'load.rates' is a setting and a factor at once; keep one"),
        ({"load.threads": [1, 99]}, "factors.load.threads.1: 99 is too large; it must be at most 64"),
        ({"load.threads": [1, 1]}, "factors.load.threads.1: level '1' is given twice"),
        ({"resources.fronted.cpu": [1]}, "factors.resources.fronted.cpu.0: hotel-reservation has no service 'fronted'"),
        ({"load.slo.p99": ["1s"]}, "factors.load.slo.p99.0: 'load.slo.p99' cannot be varied: one objective judges all"),
        ({"trial.repetitions": [1, 2]}, "factors.trial.repetitions.0: 'trial.repetitions' cannot be varied"),
        (
            {"series": SERIES, "trial.duration": ["1s"]},
            "'trial.duration' is a setting and a factor at once",
        ),
        (
            {"series": [SERIES[0]], "other": [{"name": "b", "load.rates": [3]}]},
            "load.rates is also set by the factor 'series'; vary it by one of them",
        ),
        (
            {
                "x": [
                    {"name": "a", "load.connections": 8},
                    {"name": "b", "load.closed.clients": [1], "load.rates": None},
                ]
            },
            "'closed' and 'rates' in one study; make two parts, or two studies",
        ),
        (
            {"trial": [{"repetitions": 1}, {"repetitions": 2}]},
            "factors.trial.1.repetitions: 'trial.repetitions' cannot be varied",
        ),
        (
            {"load": [{"rates": [8], "slo": {"p99": limit}} for limit in ("1s", "2s")]},
            "factors.load.1.slo: 'load.slo' cannot be varied: one objective judges all",
        ),
        ({"delays": [{"geo": "5ms"}, {"geo": "5000us"}]}, "factors.delays.1: level 'geo:5ms' is given twice, in other"),
        ({"environment": ["bare", None]}, "factors.environment.1: level 'bare' is given twice, in other words"),
        (
            {"load.timeout": ["5s", "5000ms"]},
            "factors.load.timeout.1: level '5000ms' makes the same treatment as level '5s'; remove one",
        ),
        (
            {"traces": [{"sample": "1%", "forward": f"127.0.0.1:{port}"} for port in (1, 2)]},
            "factors.traces.1: two levels that differ are called 'sample:1%'; give each a name of its own",
        ),
    ],
)
def test_what_cannot_be_varied_is_refused_at_its_level(factors: dict[str, Any], message: str) -> None:
    sections = {name: None for name in ("load", "trial") if name in factors}
    with pytest.raises(InputError) as caught:
        plan(factors, **sections)
    assert message in str(caught.value)
    assert str(caught.value).startswith("study.yaml:")
