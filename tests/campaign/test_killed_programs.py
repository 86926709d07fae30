"""Programs are killed in a trial, again and again: that trial is invalid and names the reason, the next is whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from loadstone.infrastructure import journal
from loadstone.infrastructure.namespaces.emulated import EmulatedHosts
from tests.campaign import studies
from tests.orchestration import docker_clusters
from tests.support.users import User, wait

pytestmark = [pytest.mark.long, pytest.mark.root, pytest.mark.timeout(3600)]

TIMES = int(os.environ.get("CAMPAIGN_TIMES", "5"))
RATES = list(range(20, 20 + 2 * TIMES + 1))
"""One whole trial between any two with a fault, and one before and after all."""
CLUSTERS = [
    pytest.param("swarm", "dockerd", marks=pytest.mark.docker),
    pytest.param("nomad", "nomad", marks=pytest.mark.nomad),
    pytest.param("kubernetes", "kubelet", marks=pytest.mark.kubernetes),
]


def in_every_second_trial(user: User, kill: Callable[[], None]) -> str:
    """Run the study to its end, with a fault in the second, fourth ... trial; returns what it printed."""
    process, log = studies.start(user), user.home / "log"
    try:
        for fault in range(TIMES):
            wait(lambda before=2 * fault + 1: loaded(user) > before or process.poll() is not None, 900)  # type: ignore[misc]
            assert process.poll() is None, log.read_text()
            time.sleep(1)
            kill()
        assert process.wait(900) == 4, log.read_text()
    finally:
        process.kill()
    return log.read_text()


def loaded(user: User) -> int:
    """How many trials have begun."""
    return len(list(user.home.glob("results/*/*/trials/*/load.json")))


def check(user: User, what: str, printed: str, named: str) -> None:
    """Every second trial, and no other, is invalid for a reason that names something."""
    verdicts = studies.verdicts(user)
    lost = [reasons for verdict, reasons in verdicts if verdict == "invalid"]
    invalid = [verdict == "invalid" for verdict, _ in verdicts]
    print(f"killed: {what}: {sum(invalid)} of {len(verdicts)} trials invalid; {lost[0] if lost else ''}")
    assert invalid == [number % 2 == 1 for number in range(len(RATES))], (verdicts, printed)
    assert all(named in " ".join(reasons) for reasons in lost), lost
    assert "Traceback" not in printed


def victim(marks: list[str], user: User) -> psutil.Process:
    """The process of this run with these marks in its command line."""
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        with contextlib.suppress(psutil.Error):  # another's has just ended
            if all(word in line for word in marks) and str(user.home) in line + str(process.open_files()):
                return process
    raise AssertionError(f"no process {marks}")


@pytest.mark.system
@pytest.mark.parametrize(
    ("what", "marks", "named"),
    [
        ("a store", ["postgres", "-D", "postgres-user-1"], "postgres-user-1"),
        ("the front end", ["serve", "shop/order"], "order-1"),
        ("stone node", ["stone", "node", "--state"], "its node has ended (killed by signal 9)"),
    ],
    ids=["store", "front-end", "node"],
)
def test_processes(what: str, marks: list[str], named: str, user: User) -> None:
    studies.write(user, RATES, trial={"duration": "4s"})
    printed = in_every_second_trial(user, lambda: victim(marks, user).kill())
    check(user, what, printed, named)
    assert studies.left(user) == []


@pytest.fixture
def on_cluster(cluster_user: User) -> Iterator[User]:
    """A user of clusters of their own, of which nothing may be left."""
    yield cluster_user
    cluster_user.runs("down")
    assert journal.entries() == []


@pytest.mark.parametrize(("orchestrator", "program"), CLUSTERS)
def test_programs_of_a_cluster(orchestrator: str, program: str, on_cluster: User) -> None:
    cluster = {"infrastructure": "namespaces", "workers": 2}
    trial = {"duration": "8s"}
    study = studies.write(on_cluster, RATES, trial=trial, orchestrator=orchestrator, cluster=cluster)
    docker_clusters.require(docker_clusters.plan_of(study))
    printed = in_every_second_trial(on_cluster, lambda: kill_on("worker-2", program))
    check(on_cluster, f"{program} of {orchestrator}", printed, "worker-2")


def kill_on(name: str, program: str) -> None:
    """SIGKILL to a program of an emulated host of the cluster that is there now."""
    (entry,) = (entry for entry in journal.entries() if entry.layer == "infrastructure")
    cluster = EmulatedHosts.of(entry.facts).cluster
    listed = subprocess.run(["ip", "netns", "pids", f"{cluster}-{name}"], capture_output=True, text=True, check=True)
    pids = [int(pid) for pid in listed.stdout.split() if program in names(pid)]
    assert pids, f"no {program} on {name}"
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def names(pid: str) -> list[str]:
    """What a process may be called: its program, and the first argument of a program that is several."""
    try:
        return [Path(part).name for part in Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:2]]
    except OSError:  # it has just ended
        return []
