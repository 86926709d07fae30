"""The desk is killed at random moments and at every step: no finished trial is lost or repeated, nothing stays."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from loadstone.infrastructure import machines
from loadstone.infrastructure.qemu import guests, image
from tests.campaign import studies
from tests.orchestration import docker_clusters
from tests.support import applications
from tests.support.clusters import ON_CLUSTERS
from tests.support.users import User, end

pytestmark = [pytest.mark.long, pytest.mark.timeout(7200)]

KILLS = int(os.environ.get("CAMPAIGN_KILLS", "200"))
RATES = [20, 30, 40]
WITHIN_S, WITHIN_CLUSTERS_S = 120.0, 900.0
"""For a run as processes, and for one that makes a cluster and removes it."""
LATER_S = 3.0


def layers(user: User) -> set[str]:
    """The layers of which something is deployed, by the journal."""

    def found() -> Iterator[str]:
        for file in user.home.glob("state/*.json"):
            with contextlib.suppress(OSError):  # it has just gone
                yield json.loads(file.read_text())["layer"]

    return set(found())


def step(user: User) -> str:
    """What a run is doing, by what it has written."""
    runs = sorted(user.home.glob("results/*/*/"))
    there = layers(user)
    if not runs:
        return "plan"
    trials = list(runs[-1].glob("trials/*/"))
    started = [trial for trial in trials if not (trial / "trial.json").exists()]
    for trial in started:
        if (trial / "summary.json").exists():
            return "collect"
        if (trial / "load.json").exists():
            return "trial"
    if len(trials) == len(RATES) and not started:
        return "remove" if there else "report"
    if len(trials) > len(started):
        return "reset and seed"
    if "orchestrators" in there:
        return "deploy"
    return "make the cluster" if there else "provide"


STEPS = ("plan", "provide", "deploy", "reset and seed", "trial", "collect", "remove", "report")
ON_A_CLUSTER = (*STEPS[:2], "make the cluster", *STEPS[2:])
OF_NEW_RUNS = ("plan", "provide", "make the cluster", "deploy")


class Killer:
    """Starts or resumes runs, kills them, and counts what became of their trials."""

    def __init__(self, user: User, within_s: float, *options: str) -> None:
        began = time.monotonic()
        self._options = options
        user.runs("run", "study.yaml", *options)
        self.lasted = time.monotonic() - began
        self.user = user
        self.steps: Counter[str] = Counter()
        self.completed = 0
        self._within_s = within_s
        self._expected = trials(user)
        self._chance = random.Random(19)
        self._open = False

    def kill(self, when: Callable[[], bool]) -> None:
        """Kill a run, or the continuation of the last one, as soon as ``when`` holds; it may end before."""
        if not self._open:
            hide(self.user)
        before = studies.finished(self.user)
        arguments = ["run", "--resume"] if self._open else ["run", "study.yaml"]
        process = self.user.starts(*arguments, *self._options)
        deadline = time.monotonic() + self._within_s
        while process.poll() is None and not when():
            assert time.monotonic() < deadline, "it hangs"
            time.sleep(0.005)
        at = step(self.user)
        code, printed = end(process, signal.SIGKILL)
        assert code in (-signal.SIGKILL, 0), printed
        after = studies.finished(self.user)
        assert before.items() <= after.items(), "a finished trial was lost or repeated"
        self._open = bool(after) and code != 0
        if code == 0:
            self._check()
        else:
            self.steps[at] += 1
        if self._chance.random() < 0.5:
            self.user.runs("down")
            assert studies.left(self.user) == []

    def kill_at(self, steps: Sequence[str], after_s: Callable[[], float] = lambda: 0.0) -> None:
        """Kill a run at each of these steps, a while after it has begun."""
        for name in steps:
            if name in OF_NEW_RUNS:
                self.finish()
            if name in (*OF_NEW_RUNS, "report"):  # known by what the journal has
                self.user.runs("down")
            self.kill(self._during(name, after_s()))

    def _during(self, name: str, after_s: float) -> Callable[[], bool]:
        began: list[float] = []

        def now() -> bool:
            if not began and step(self.user) == name:
                began.append(time.monotonic())
            return bool(began) and time.monotonic() - began[0] >= after_s

        return now

    def finish(self) -> None:
        """Let the last run go on to its end; it has the same trials as one that was never disturbed."""
        if self._open:
            before = studies.finished(self.user)
            self.user.runs("run", "--resume", *self._options)
            assert before.items() <= studies.finished(self.user).items(), "a finished trial was lost or repeated"
            self._check()
            self._open = False

    def _check(self) -> None:
        assert trials(self.user) == self._expected
        self.completed += 1
        for page in self.user.home.glob("results/*/*/report/index.html"):
            assert "</html>" in page.read_text()[-200:]


def trials(user: User) -> set[str]:
    """The trials of the newest run that are finished."""
    return {name for name, finished in user.trials().items() if finished}


def check(killer: Killer, steps: Sequence[str], what: str) -> None:
    """Let the last run end, remove everything, and print the counts."""
    killer.finish()
    killer.user.runs("down")
    assert studies.left(killer.user) == []
    counted = ", ".join(f"{name} {killer.steps[name]}" for name in steps)
    times = f"desk of {what} killed: {killer.steps.total()} times ({counted})"
    print(f"{times}; {killer.completed} runs completed, none lost a trial")
    assert all(killer.steps[name] for name in steps), counted


@pytest.mark.system
def test_a_desk_that_is_killed_loses_and_repeats_nothing(user: User) -> None:
    studies.write(user, RATES)
    killer = Killer(user, WITHIN_S)
    killer.kill_at(STEPS * 2)
    chance = random.Random(7)
    while killer.steps.total() < KILLS:
        moment = time.monotonic() + chance.uniform(0, killer.lasted)
        killer.kill(lambda moment=moment: time.monotonic() >= moment)  # type: ignore[misc]
    check(killer, STEPS, "processes")


@pytest.mark.root
@pytest.mark.parametrize("orchestrator", ON_CLUSTERS)
def test_on_a_cluster(orchestrator: str, cluster_user: User) -> None:
    """Each step when it begins, then a while later."""
    workers = 2 if orchestrator == "nomad" else 1  # Nomad reserves what it limits, more than a worker of one CPU has
    cluster = {"infrastructure": "namespaces", "workers": workers}
    study = studies.write(cluster_user, RATES, orchestrator=orchestrator, cluster=cluster)
    docker_clusters.require(docker_clusters.plan_of(study))
    machines.close_all()  # the node of this process, which must not be taken for one that a desk left
    killer = Killer(cluster_user, WITHIN_CLUSTERS_S)
    killer.kill_at(ON_A_CLUSTER)
    chance = random.Random(11)
    killer.kill_at(ON_A_CLUSTER, lambda: chance.uniform(0, LATER_S))
    check(killer, ON_A_CLUSTER, orchestrator)


@pytest.mark.root
def test_with_virtual_machines(cluster_user: User) -> None:
    if lacking := [*guests.missing(), *image.missing()]:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    docstore = applications.patient("docstore")
    application = cluster_user.home / "docstore.yaml"
    application.write_text(yaml.safe_dump(docstore))
    more: dict[str, Any] = {
        "application": str(application),
        "resources": {},
        "environment": "vm",
        "vm": {"memory": "512MiB"},
    }
    studies.write(cluster_user, RATES, cluster={"infrastructure": "qemu"}, **more)
    machines.close_all()
    killer = Killer(cluster_user, WITHIN_CLUSTERS_S, "--emulated-ok")
    killer.kill_at(ON_A_CLUSTER)
    check(killer, ON_A_CLUSTER, "virtual machines")


def hide(user: User) -> None:
    """Begin with a results folder that has no run."""
    folder = user.home / "results"
    if folder.exists():
        folder.rename(user.home / f"results-{len(list(user.home.glob('results-*')))}")


def test_steps_differ_in_what_is_there(tmp_path: Path) -> None:
    user, run = User(tmp_path), tmp_path / "results" / "campaign" / "20260101-000000"
    assert step(user) == "plan"
    (run / "trials").mkdir(parents=True)
    assert step(user) == "provide"
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "cluster.json").write_text('{"layer": "infrastructure"}')
    assert step(user) == "make the cluster"
    (tmp_path / "state" / "deployment.json").write_text('{"layer": "orchestrators"}')
    assert step(user) == "deploy"
    for rate in RATES:
        trial = run / "trials" / str(rate)
        trial.mkdir()
        assert step(user) == ("deploy" if rate == RATES[0] else "reset and seed")
        (trial / "load.json").write_text("{}")
        assert step(user) == "trial"
        (trial / "summary.json").write_text("{}")
        assert step(user) == "collect"
        (trial / "trial.json").write_text("{}")
        assert step(user) == ("remove" if rate == RATES[-1] else "reset and seed")
    (tmp_path / "state" / "deployment.json").unlink()
    assert step(user) == "remove"
    (tmp_path / "state" / "cluster.json").unlink()
    assert step(user) == "report"
