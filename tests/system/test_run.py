"""Studies of real applications: Hotel Reservation whole; the document store killed and broken on purpose."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from loadstone.experiments.predicting import nodes_of
from tests.support import groups
from tests.support.users import LOADSTONE, User, descendants, end, ours, wait

pytestmark = pytest.mark.system

SOON_GIVEN_UP = ("--set", "load.timeout=5s", "--set", "load.slo.p99=4s")
"""A trial with requests that are never answered lasts until the time of the last one is up."""
COUNTS = ("completed", "late", "errors", "timeouts", "unsent", "in_flight")
root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: control groups, mounts")


def rows(user: User) -> list[dict[str, object]]:
    tables = sorted(user.home.glob("results/*/*/trials.parquet"))
    result: list[dict[str, object]] = pq.read_table(tables[-1]).to_pylist()
    return result


def test_a_study_from_file_to_report(user: User) -> None:
    done = user.runs("run", "study.yaml", "--set", "application=hotel-reservation")
    page = Path(re.search(r"report: (\S+)", done.stdout).group(1))  # type: ignore[union-attr]
    assert "hotel-reservation" in page.read_text()
    assert [row["rate"] for row in rows(user)] == [40, 60, 80] or len(rows(user)) == 3
    for row in rows(user):
        assert row["verdict"] in ("held", "not held"), row["reasons"]
        assert row["offered"] == sum(int(str(row[count])) for count in COUNTS)
        folder = page.parents[1] / "trials" / str(row["trial_id"])
        audit = json.loads((folder / "audit.json").read_text())
        assert len({line["replica"] for line in audit}) == 22
        assert all(line["ok"] for line in audit)
        assert all(check["ok"] for check in json.loads((folder / "checks.json").read_text()))
        assert (folder / "latency.hlog").read_text().startswith("#")
    assert [node.role for node in nodes_of(page.parents[1])] == ["client", "worker"], "nothing can be predicted from it"
    status = json.loads(user.runs("status", "--json").stdout)
    assert status["run"]["complete"] and status["run"]["finished_trials"] == 3
    archive = json.loads(user.runs("export", "--json").stdout)["archive"]
    assert (user.home / archive).stat().st_size > 10_000


def test_killed_in_the_middle_of_a_trial_it_resumes_with_the_same_trials(user: User) -> None:
    process = user.starts("run", "study.yaml")
    user.waits_until_a_trial_is_loaded(process, finished=1)
    code, _ = end(process, signal.SIGKILL)
    assert code == -signal.SIGKILL
    before = {name for name, finished in user.trials().items() if finished}
    stamps = {path: path.stat().st_mtime_ns for path in user.home.glob("results/*/*/trials/*/trial.json")}
    user.runs("run", "--resume")
    assert all(user.trials().values()) and len(user.trials()) == 3
    assert before <= set(user.trials())
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items()), "a finished trial was repeated"
    assert sorted(float(str(row["rate"])) for row in rows(user)) == [40, 60, 80]


def test_down_removes_what_a_killed_run_left(user: User) -> None:
    process = user.starts("run", "study.yaml")
    user.waits_until_a_trial_is_loaded(process, finished=0)
    end(process, signal.SIGKILL)
    assert json.loads(user.runs("status", "--json").stdout)["deployments"]
    assert "removed" in user.runs("down").stdout
    assert json.loads(user.runs("status", "--json").stdout)["deployments"] == []


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_interrupted_it_cleans_up_and_says_how_to_go_on(user: User, number: signal.Signals) -> None:
    process = user.starts("run", "study.yaml")
    user.waits_until_a_trial_is_loaded(process, finished=0)
    code, output = end(process, number)
    assert code == 130
    assert "loadstone run --resume" in output
    assert json.loads(user.runs("status", "--json").stdout)["deployments"] == []


def test_ctrl_c_in_a_pipeline_removes_all_although_the_other_end_is_gone(user: User) -> None:
    command = ["sh", "-c", f"{LOADSTONE} run study.yaml 2>&1 | tee log"]
    process = subprocess.Popen(command, cwd=user.home, env=user.environment, start_new_session=True)
    wait(lambda: any(user.home.glob("results/*/*/trials/*/load.json")) or process.poll() is not None)
    assert json.loads(user.runs("status", "--json").stdout)["deployments"]
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the shell, to loadstone and to tee
    process.wait(120)
    wait(lambda: not any("run study.yaml" in line for line in ours(user.home)))
    assert json.loads(user.runs("status", "--json").stdout)["deployments"] == []


@pytest.mark.parametrize(
    ("marks", "named"),
    [
        pytest.param(["serve", "docstore/queue"], "queue-1", id="service"),
        pytest.param(["node", "--state"], "its node has ended (killed by signal 9)", id="node", marks=pytest.mark.long),
    ],
)
def test_a_program_killed_in_a_trial_makes_that_trial_invalid_and_the_study_goes_on(
    user: User, marks: list[str], named: str
) -> None:
    process = user.starts("run", "study.yaml", *SOON_GIVEN_UP)
    user.waits_until_a_trial_is_loaded(process, finished=1)
    [victim] = descendants(process.pid, *marks)
    victim.kill()
    output, complained = process.communicate(timeout=600)
    assert process.returncode == 4, output + complained
    assert [row["verdict"] == "invalid" for row in rows(user)] == [False, True, False]
    assert named in " ".join(rows(user)[1]["reasons"])  # type: ignore[arg-type]


@root
@pytest.mark.root
def test_a_limit_taken_away_in_a_trial_makes_it_invalid_with_wanted_and_effective(user: User) -> None:
    process = user.starts("run", "study.yaml", "--set", "load.rates=[40]")
    user.waits_until_a_trial_is_loaded(process, finished=0)
    assert unlimit("queue-1") > 0
    output, complained = process.communicate(timeout=600)
    assert process.returncode == 4, output + complained
    reasons = " ".join(rows(user)[0]["reasons"])  # type: ignore[arg-type]
    assert "queue-1" in reasons and "requested 1" in reasons and "unlimited" in reasons


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes: room for the run and its report."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@root
@pytest.mark.long
@pytest.mark.root
def test_a_full_disk_is_a_clear_error_and_finished_trials_are_intact(user: User, small_disk: Path) -> None:
    process = user.starts("run", "study.yaml", "--results", str(small_disk))
    wait(lambda: any(small_disk.glob("*/*/trials/*/trial.json")) or process.poll() is not None)
    with contextlib.suppress(OSError):  # the run writes too: the disk is full, with that much or a little less
        (small_disk / "ballast").write_bytes(b"x" * free(small_disk))
    output, complained = process.communicate(timeout=600)
    assert process.returncode == 1, output + complained
    assert re.search("No space left on device|no room for another trial", complained), complained
    assert "finished trials are intact" in complained
    assert "Traceback" not in complained
    kept = len(list(small_disk.glob("*/*/trials/*/trial.json")))
    assert kept >= 1
    (small_disk / "ballast").unlink()
    user.runs("run", "--resume", "--results", str(small_disk))
    assert len(list(small_disk.glob("*/*/trials/*/trial.json"))) == 3


def test_up_serves_and_down_removes(user: User) -> None:
    import urllib.request

    up = json.loads(user.runs("up", "hotel-reservation", "--json").stdout)
    assert up["replicas"] == 22
    with urllib.request.urlopen(up["url"] + "/recommendations?lat=37.78&lon=-122.41&require=rate") as answer:
        hotels = json.load(answer)
    assert {feature["id"] for feature in hotels["features"]} == {"9", "24", "39", "54", "69"}
    assert "is up already" in user.runs("up", "hotel-reservation", expect=2).stderr
    user.runs("down", up["name"])


def free(folder: Path) -> int:
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def unlimit(replica: str) -> int:
    """Take the CPU quota from a replica's control group, as a careless administrator would."""
    changed = 0
    for base in groups.matching(f"loadstone/system-test*/{replica}"):
        for name, text in (("cpu.cfs_quota_us", "-1"), ("cpu.max", "max")):
            if (base / name).exists():
                (base / name).write_text(text)
                changed += 1
    return changed
