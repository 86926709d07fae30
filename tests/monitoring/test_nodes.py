"""Which machine records what, and what is reported of one that fails; machines/test_watch.py has real machines."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from loadstone.infrastructure.base import Access
from loadstone.infrastructure.machines import MachineLost
from loadstone.model.cluster import Node, Reach
from loadstone.model.deployment import Deployment
from loadstone.model.guest import Guest
from loadstone.model.observing import Metrics
from loadstone.model.records.node.replicas import Subject, WatchArgs, Watched
from loadstone.model.records.observed import MeasuredWindow, Observed, ObservedReplica
from loadstone.monitoring import nodes
from loadstone.monitoring.nodes import Nodes
from loadstone.monitoring.observation import Observation
from tests.experiments.fakes import FakeOrchestrator

NOTHING = Observed(nodes={}, replicas={})
WATCHED = Watched(rows=2, readings=2, skipped=1, absent={"power": "no powercap"}, stopped="")


def recorded(*values: float) -> bytes:
    sink, count = io.BytesIO(), len(values)
    columns = {"time_ns": list(range(count)), "subject": ["node"] * count, "metric": ["load1"] * count}
    pq.write_table(pa.table({**columns, "value": list(values)}), sink)
    return sink.getvalue()


class FakeWatch:
    def __init__(self, files: list[bytes], watched: Watched | None = WATCHED, problem: str = "") -> None:
        self.files, self.watched, self.problem = files, watched, problem
        self.ended = 0

    def end(self) -> None:
        self.ended += 1


class FakeMachine:
    """Begins the watch that it is given, or raises."""

    def __init__(self, watch: FakeWatch | MachineLost) -> None:
        self._watch = watch
        self.args: list[WatchArgs] = []

    def watch(self, args: WatchArgs) -> FakeWatch:
        self.args.append(args)
        if isinstance(self._watch, MachineLost):
            raise self._watch
        return self._watch


class Fleet(dict[str, FakeMachine]):
    """The machines by the names that they are connected to under."""

    def connect(self, name: str, reach: Reach) -> FakeMachine:
        del reach
        return self[name]


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> Fleet:
    made = Fleet({"this machine": FakeMachine(FakeWatch([recorded(0.5), recorded(0.6)]))})
    monkeypatch.setattr(nodes, "connect", made.connect)
    monkeypatch.setattr(nodes, "this_machine", lambda: made.connect("this machine", Reach()))
    return made


def on_hosts(deployment: Deployment) -> Deployment:
    """The same with workers over SSH."""

    def moved(node: Node) -> Node:
        reach = Reach(transport="ssh", options={"host": node.name})
        return node if node.role == "client" else node.model_copy(update={"reach": reach})

    return deployment.model_copy(update={"nodes": tuple(map(moved, deployment.nodes))})


class Orchestrator(FakeOrchestrator):
    def subjects(self) -> dict[str, tuple[str, Subject]]:
        return {
            replica.name: (replica.node, Subject(group=f"loadstone/x/{replica.name}"))
            for replica in self.deployment.replicas
        }


def collector(deployment: Deployment, period: float = 1.0) -> Nodes:
    return Nodes(Metrics(period=period), next(node for node in deployment.nodes if node.role == "client"))


def test_nodes_of_this_machine_are_read_once(fleet: Fleet, deployment: Deployment, tmp_path: Path) -> None:
    second = deployment.nodes[-1].model_copy(update={"name": "worker-2"})
    deployment = deployment.model_copy(update={"nodes": (*deployment.nodes, second)})
    made = collector(deployment, period=0.5)
    made.begin(Orchestrator(deployment, tmp_path), tmp_path)
    (args,) = fleet["this machine"].args
    assert args.period_ms == 500 and args.cores == deployment.nodes[0].cpus and args.networks == {}
    assert args.replicas["geo-1"] == Subject(group="loadstone/x/geo-1")
    observed = made.end(NOTHING, 8)
    node = observed.nodes["worker-1"]
    assert (node.absent, node.skipped, node.shared_by) == (WATCHED.absent, 1, ("client", "worker-1", "worker-2"))
    assert observed.problems == () and list(observed.nodes) == ["worker-1"]
    table = pq.read_table(tmp_path / "metrics.parquet")
    assert table.column_names == ["time_ns", "subject", "metric", "value", "node"]
    assert table["node"].to_pylist() == ["worker-1", "worker-1"] and table["value"].to_pylist() == [0.5, 0.6]


def test_the_host_of_virtual_machines_records_their_qemu(fleet: Fleet, deployment: Deployment, tmp_path: Path) -> None:
    def as_guest(node: Node) -> Node:
        guest = Guest(monitor="/x", group="loadstone/e/worker-1", accelerator="kvm", cpus=1, memory=1, host_cpus=(1,))
        return node if node.role == "client" else node.model_copy(update={"guest": guest})

    deployment = on_hosts(deployment)
    deployment = deployment.model_copy(update={"nodes": tuple(map(as_guest, deployment.nodes))})
    fleet["worker-1"] = FakeMachine(FakeWatch([recorded(0.7)]))
    made = collector(deployment)
    made.begin(Orchestrator(deployment, tmp_path), tmp_path)
    (args,) = fleet["this machine"].args
    assert args.replicas == {"guest/worker-1": Subject(group="loadstone/e/worker-1")}
    observed = made.end(NOTHING, 8)
    assert set(observed.nodes) == {"host", "worker-1"} and observed.nodes["host"].recorded
    assert set(pq.read_table(tmp_path / "metrics.parquet")["node"].to_pylist()) == {"host", "worker-1"}


def test_each_host_is_recorded_by_its_own_machine(fleet: Fleet, deployment: Deployment, tmp_path: Path) -> None:
    fleet["worker-1"] = FakeMachine(FakeWatch([recorded(0.7)]))
    made = collector(deployment)
    made.begin(Orchestrator(on_hosts(deployment), tmp_path), tmp_path)
    observed = made.end(NOTHING, 8)
    assert observed.problems == () and observed.nodes["worker-1"].shared_by == ()
    assert fleet["this machine"].args == []
    assert fleet["worker-1"].args[0].replicas.keys() == {replica.name for replica in deployment.replicas}
    assert fleet["worker-1"].args[0].cores == (), "of a host all cores are its replicas' own"


def test_the_switch_of_emulated_hosts_is_recorded_with_this_machine(
    fleet: Fleet, deployment: Deployment, tmp_path: Path
) -> None:
    made, group = collector(deployment), "loadstone/emulated-1/switch/daemons"
    for access in (Access("swarm", switch=group), Access("swarm")):
        made.begin(Orchestrator(deployment, tmp_path, access), tmp_path)
    networks = [args.networks for args in fleet["this machine"].args]
    assert networks == [{"switch": Subject(group=group)}, {}]


def test_an_interrupted_recording_is_ended(fleet: Fleet, deployment: Deployment, tmp_path: Path) -> None:
    watch = FakeWatch([])
    fleet["this machine"] = FakeMachine(watch)
    made = collector(deployment)
    made.begin(Orchestrator(deployment, tmp_path), tmp_path)
    made.stop()
    made.stop()
    assert watch.ended == 1


LOST = "worker-1: its node has ended (killed by signal 9)"


@pytest.mark.parametrize(
    ("watch", "problem", "rows"),
    [
        (FakeWatch([recorded(1)], WATCHED.model_copy(update={"stopped": "full"})), "stopped early: full", 1),
        (FakeWatch([recorded(1)], None, LOST), f"worker-1 was not recorded to the end: {LOST}", 1),
        (FakeWatch([], None, LOST), f"worker-1 was not recorded: {LOST}", 0),
        (MachineLost(LOST, "see to it"), f"worker-1 was not recorded: {LOST}", 0),
    ],
)
def test_of_a_machine_that_fails_there_is_what_arrived_and_a_sentence(
    fleet: Fleet, deployment: Deployment, tmp_path: Path, watch: FakeWatch, problem: str, rows: int
) -> None:
    fleet["this machine"] = FakeMachine(watch)
    observation = Observation([collector(deployment)])
    orchestrator = Orchestrator(deployment, tmp_path)
    observation.begin(orchestrator, tmp_path)
    observed = observation.end(orchestrator, MeasuredWindow(from_ns=1, to_ns=2), 8)
    observation.stop()
    (sentence,) = observed.problems
    assert sentence.endswith(problem)
    assert observed.nodes["worker-1"].recorded == bool(rows) and not observed.nodes["client"].recorded
    assert observed.replicas["geo-1"] == ObservedReplica(service="geo", tier="logic", node="worker-1")
    file = tmp_path / "metrics.parquet"
    assert (pq.read_table(file).num_rows if file.exists() else 0) == rows
