"""The driver against the real generator: plans that it accepts, words of its failures, no process left."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from loadstone.applications import catalogue
from loadstone.experiments import schedule
from loadstone.experiments.plan import Plan
from loadstone.model import dataset
from loadstone.model.cluster import Node
from loadstone.model.errors import Interrupted
from loadstone.model.load import Capacity, Closed, Load, Script, Tls
from loadstone.model.slo import Slo
from loadstone.model.trial import Trial
from loadstone.workloads.base import Offer, TargetUnreachable
from loadstone.workloads.members import LoadWorkerCommand, members
from loadstone.workloads.stone import Stone, load_plan
from tests.experiments.fakes import STUDY, write_study
from tests.support.plans import read_plan


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    text = STUDY.replace("rates: [100, 200, 300]", "connections: 4, rates: [20]")
    return read_plan(write_study(tmp_path, text))[1]


def drive(plan: Plan, trial: Trial, targets: list[str], folder: Path, progress: Any = lambda text: None) -> Any:
    folder.mkdir(exist_ok=True)
    return Stone().run(offer(plan, trial, targets, folder), progress)


def offer(plan: Plan, trial: Trial, targets: list[str], folder: Path, **changes: Any) -> Offer:
    """What a conductor would ask of the driver for a trial."""
    return replace(
        Offer(
            targets=tuple(targets),
            workload=plan.workload(trial.treatment),
            load=plan.study.load,
            rate=trial.rate,
            clients=trial.clients,
            warmup_s=trial.warmup_s,
            duration_s=trial.duration_s,
            seed=trial.seed,
            may_stop=False,
            cpus=(),
            folder=folder,
        ),
        **changes,
    )


def test_a_trial_is_driven_and_every_request_accounted_for(plan: Plan, server: str, tmp_path: Path) -> None:
    trial = next(schedule.fixed_trials(plan))
    text: list[dict[str, Any]] = []
    summary = drive(plan, trial, [server, server], tmp_path / "out", text.append)
    counts, (operation, *_) = summary.counts, summary.operations
    assert counts.offered == summary.planned and counts.sent
    assert counts.offered == counts.completed + counts.lost
    assert operation.all is not None and (operation.all.sent or 0) >= counts.sent
    assert summary.series is not None and len(summary.series.mean_ms) == 100
    assert text and text[-1]["of"] > 0
    assert json.loads((tmp_path / "out" / "load.json").read_text())["replicas"] == [server]


def test_an_unreachable_target_is_a_driver_error_with_the_address(plan: Plan, tmp_path: Path) -> None:
    trial = next(schedule.fixed_trials(plan))
    with pytest.raises(TargetUnreachable, match=r"127\.0\.0\.1:9.*is the application running"):
        drive(plan, trial, ["127.0.0.1:9"], tmp_path / "out")


def test_an_interruption_ends_the_generator(plan: Plan, server: str, tmp_path: Path) -> None:
    def interrupt(text: dict[str, Any]) -> None:
        raise Interrupted("by a test")

    trial = next(schedule.fixed_trials(plan)).model_copy(update={"duration_s": 30.0})
    with pytest.raises(Interrupted):
        drive(plan, trial, [server], tmp_path / "out", interrupt)
    running = [p.info["cmdline"] for p in psutil.process_iter(["cmdline"])]
    assert [line for line in running if str(tmp_path) in " ".join(line or [])] == []
    assert not (tmp_path / "out" / "summary.json").exists()


def test_every_built_in_workload_is_one_that_the_generator_accepts(plan: Plan, server: str, tmp_path: Path) -> None:
    trial = next(schedule.fixed_trials(plan)).model_copy(update={"duration_s": 0.1, "warmup_s": 0.0})
    for name in catalogue.names():
        application = catalogue.load(name).application
        keys = application.datasets[application.default_dataset].keys if application.default_dataset else {}
        http = {of: workload for of, workload in application.workloads.items() if workload.protocol is None}
        for workload_name, workload in http.items():
            folder = tmp_path / name / workload_name
            folder.mkdir(parents=True)
            drawn = dataset.resolved(workload, keys)
            summary = Stone().run(offer(plan, trial, [server], folder, workload=drawn), lambda text: None)
            assert {op.name for op in summary.operations} == set(workload.request_names())


def test_a_plan_has_what_the_load_says_and_no_defaults(plan: Plan, tmp_path: Path) -> None:
    trial = next(schedule.fixed_trials(plan))
    plain = load_plan(offer(plan, trial, ["a:1", "b:2"], Path()))
    assert (plain["target"], plain["replicas"]) == ("http://a:1", ["b:2"])
    assert plain["arrival"] == {"process": "poisson", "rate": 20}
    assert set(plain).isdisjoint({"protocol", "tls", "policy", "pipelining", "streams", "closed", "script", "metrics"})
    given = {"protocol": "http/2", "tls": {"insecure": True}, "streams": 7, "lateness": 0.002}
    load = plan.study.load.model_copy(update={**given, "tls": Tls(insecure=True), "record_requests": True})
    full = load_plan(offer(plan, trial, ["a:1"], Path(), load=load, cpus=(1,), metrics="127.0.0.1:9100"))
    assert (full["target"], full["protocol"], full["streams"]) == ("https://a:1", "http/2", 7)
    assert (full["tls"], full["lateness_ms"], full["metrics"]) == ({"insecure": True}, 2.0, "127.0.0.1:9100")
    assert full["record_requests"] is True and full["cpus"] == [1]
    read = catalogue.load("docstore").application.workloads["read"]
    messages = load_plan(offer(plan, trial, ["a:1"], Path(), workload=read))
    assert (messages["target"], messages["protocol"]) == ("tcp://a:1", "zmq")
    assert set(messages["operations"][0]) == {"name", "weight", "body", "fields", "expect"}
    several = (LoadWorkerCommand("a", ("x", "y")), LoadWorkerCommand("b", ("z",)))
    shared = load_plan(offer(plan, trial, ["a:1"], Path(), cpus=(1,), metrics="127.0.0.1:9100", members=several))
    assert shared["members"] == [{"name": "a", "command": ["x", "y"]}, {"name": "b", "command": ["z"]}]
    assert set(shared).isdisjoint({"cpus", "metrics"}), "they say nothing of other machines"


def test_load_workers_here_share_the_cores_and_the_load(plan: Plan, server: str, tmp_path: Path) -> None:
    trial = next(schedule.fixed_trials(plan))
    here = Node(name="client", role="client", address="127.0.0.1", cpus=(0, 1, 2), memory=1)
    assert members(Load(rates=[1.0], slo=Slo.model_validate({"p99": "1s"})), [here]) == ()
    two = plan.study.load.model_copy(update={"workers": 2})
    commands = [item.command for item in members(two, [here])]
    assert [command[1:3] for command in commands] == [("-c", "0,2"), ("-c", "1")]
    edges: list[str] = []
    (tmp_path / "out").mkdir()
    requested = offer(
        plan, trial, [server], tmp_path / "out", load=two, members=members(two, [here.model_copy(update={"cpus": ()})]),
        window_begins=lambda: edges.append("begin"), window_ends=lambda: edges.append("end"),
    )  # fmt: skip
    summary = Stone().run(requested, lambda line: None)
    hosts = summary.generator.workers
    assert [host.name for host in hosts] == ["client/1", "client/2"]
    assert sum(host.sent for host in hosts) == (summary.counts.sent or 0) > 0
    assert all((host.reference_before_ms or 0) > 0 and (host.reference_after_ms or 0) > 0 for host in hosts)
    assert edges[:1] == ["begin"] and len(edges) <= 2


def test_clients_and_scripts_in_a_plan(plan: Plan, tmp_path: Path) -> None:
    trial = next(schedule.fixed_trials(plan))
    load = Load(closed=Closed(clients=[5], think=0.1), script=Script(arguments=["a"], environment={"K": "v"}))
    script = tmp_path / "x.lua"
    requested = offer(plan, trial, ["a:1"], Path(), load=load, clients=5, rate=0.0, workload=script, script_path="/api")
    made = load_plan(requested)
    assert made["closed"] == {"clients": 5, "think_s": 0.1} and made["connections"] == 5
    assert made["script"] == {"path": str(script), "args": ["a"], "env": {"K": "v"}, "url_path": "/api"}
    assert set(made).isdisjoint({"arrival", "operations", "slo", "abort"})


def test_a_search_waits_precisely_unless_it_has_to_poll(plan: Plan) -> None:
    trial = next(schedule.fixed_trials(plan))
    search = plan.study.load.model_copy(
        update={"rates": None, "slo": None, "capacity": Capacity(slo=Slo.model_validate({"p99": "50ms"}))}
    )
    for wait, lateness, wanted in (
        ("auto", None, "precise"),
        ("auto", 50e-6, "auto"),  # which polls then, whatever the rate
        ("tick", None, "tick"),
    ):
        load = search.model_copy(update={"wait": wait, "lateness": lateness})
        assert load_plan(offer(plan, trial, ["a:1"], Path(), load=load))["wait"] == wanted


def test_what_waited_too_long_is_abandoned_unless_the_study_says_otherwise(plan: Plan) -> None:
    trial = next(schedule.fixed_trials(plan))
    assert load_plan(offer(plan, trial, ["a:1"], Path()))["abandon"] is True
    load = plan.study.load.model_copy(update={"abandon": False, "source_addresses": ["127.0.0.2"]})
    made = load_plan(offer(plan, trial, ["a:1"], Path(), load=load))
    assert made["abandon"] is False and made["source_addresses"] == ["127.0.0.2"]


def test_only_a_search_cuts_a_lost_trial_short(plan: Plan) -> None:
    trial = next(schedule.fixed_trials(plan))
    requested = offer(plan, trial, ["a:1"], Path())
    assert load_plan(requested)["abort"] is False
    assert load_plan(replace(requested, may_stop=True))["abort"] is True
