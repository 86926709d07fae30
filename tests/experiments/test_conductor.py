"""A trial's life and a run's death, with fake layers."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import re
import signal
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from loadstone import plugins
from loadstone.analysis.schema import schema
from loadstone.applications.seeding import Seeder
from loadstone.experiments import runs
from loadstone.experiments.conductor import Conductor
from loadstone.experiments.durable import is_running, write_json
from loadstone.experiments.interruption import interruptible
from loadstone.experiments.ledger import Ledger
from loadstone.experiments.resume import reopen, resumed
from loadstone.infrastructure import locks
from loadstone.model.errors import DeploymentError, InputError, Interrupted, TrialsInvalid
from loadstone.model.records.audit import AuditRow
from loadstone.report import page
from loadstone.workloads import stone
from loadstone.workloads.base import DriverError
from tests.experiments import fakes
from tests.experiments.fakes import (
    SEARCH,
    STUDY,
    Begin,
    FakeDriver,
    FakeInfrastructure,
    FakeOrchestrator,
    Recorder,
    conduct,
    write_study,
)
from tests.support.plans import read_plan

pytestmark = pytest.mark.usefixtures("fake_layers")


def verdicts(ledger: Ledger) -> list[tuple[float, str]]:
    return sorted({(record.outcome.load, record.outcome.verdict) for record in ledger.records})


def test_a_fixed_study_leaves_a_row_a_trial_and_nothing_running(begin: Begin) -> None:
    plan, ledger = begin()
    conduct(plan, ledger)
    assert verdicts(ledger) == [(100, "held"), (200, "held"), (300, "not held")]
    table = pq.read_table(ledger.folder / "trials.parquet")
    assert table.schema.equals(schema(["scaling"]))
    assert table.num_rows == 12
    assert set(table["factor_scaling"].to_pylist()) == {"baseline", "unlimited"}
    assert table["order"].to_pylist() == list(range(1, 13))
    assert FakeOrchestrator.running == set()
    assert FakeInfrastructure.released == 1
    for row in table.to_pylist():
        folder = ledger.folder / "trials" / row["trial_id"]
        assert {path.name for path in folder.iterdir()} >= {"trial.json", "audit.json", "checks.json", "usage.json"}


def test_a_trial_whose_stores_do_not_agree_with_each_other_is_invalid(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {"what": "users", "want": 3, "have": 3, "ok": True, "examples": []},
        {"what": "posts in timelines", "want": 1200, "have": 1198, "ok": False, "examples": ["p7", "p9"]},
    ]
    monkeypatch.setattr(Seeder, "check", lambda self: rows)
    plan, ledger = begin()
    conduct(plan, ledger)
    assert {verdict for _, verdict in verdicts(ledger)} == {"invalid"}
    record = ledger.records[0]
    assert record.row.reasons == ("posts in timelines: 1,198, wanted 1,200; for example p7, p9",)
    checks = json.loads((ledger.folder / "trials" / record.trial_id / "checks.json").read_text())
    assert [(row["what"], row["have"], row["ok"]) for row in checks] == [
        ("users", 3, True),
        ("posts in timelines", 1198, False),
    ]
    assert "posts in timelines: 1,198, wanted 1,200" in page.build(ledger.folder).read_text()


def test_a_treatment_is_deployed_once_while_its_trials_follow_each_other(begin: Begin) -> None:
    plan, ledger = begin()
    conduct(plan, ledger)
    treatments = [record.treatment_id for record in ledger.records]
    switches = 1 + sum(a != b for a, b in itertools.pairwise(treatments))
    assert len(FakeOrchestrator.applied) == switches


@pytest.mark.parametrize("cut", [1, 3, 7])
def test_an_interrupted_run_resumes_with_the_trials_of_an_undisturbed_one(
    begin: Begin, cut: int, tmp_path: Path
) -> None:
    plan, whole = begin(SEARCH)
    conduct(plan, whole)
    plan, ledger = begin(SEARCH)
    driver = FakeDriver()
    driver.raises[cut] = Interrupted("by a test")
    with pytest.raises(Interrupted):
        conduct(plan, ledger, driver)
    assert len(ledger.records) == cut - 1
    assert FakeOrchestrator.running == set()
    plan, ledger = reopen(ledger.folder)
    again = conduct(plan, ledger)
    assert [r.trial_id for r in ledger.records] == [r.trial_id for r in whole.records]
    assert [r.outcome for r in ledger.records] == [r.outcome for r in whole.records]
    assert len(again.ran) == len(whole.records) - (cut - 1)


def test_a_signal_ends_a_run_in_order(begin: Begin) -> None:
    plan, ledger = begin()
    before = signal.getsignal(signal.SIGINT)

    class Killer(FakeDriver):
        def run(self, *given: Any) -> dict[str, Any]:
            signal.raise_signal(signal.SIGTERM)
            return super().run(*given)

    with pytest.raises(Interrupted, match="SIGTERM"), interruptible():
        conduct(plan, ledger, Killer())
    assert FakeOrchestrator.running == set()
    assert signal.getsignal(signal.SIGINT) is before


def test_a_limit_that_is_not_applied_makes_the_trial_invalid_and_is_not_loaded(begin: Begin) -> None:
    plan, ledger = begin()
    FakeOrchestrator.wrong.append(
        AuditRow(replica="web-1", node="worker", what="cpu", wanted="1", effective="unlimited")
    )
    driver = conduct(plan, ledger)
    assert driver.ran == []
    assert {record.outcome.verdict for record in ledger.records} == {"invalid"}
    assert runs.conclude(plan, ledger) == []  # fixed rates have no search that could fail
    assert ledger.records[0].row.reasons == ("audit: web-1 on worker has cpu unlimited, requested 1",)
    assert ledger.records[0].row.p99_ms is None


def test_a_replica_that_dies_makes_its_trial_invalid_and_the_study_goes_on_with_a_new_deployment(begin: Begin) -> None:
    plan, ledger = begin()

    class Murderer(FakeDriver):
        def run(self, *given: Any) -> dict[str, Any]:
            result = super().run(*given)
            if len(self.ran) == 2:
                FakeOrchestrator.died.append("web-1 died: killed by signal 9")
            return result

    conduct(plan, ledger, Murderer())
    assert [record.outcome.verdict == "invalid" for record in ledger.records] == [False, True] + [False] * 10
    assert ledger.records[1].row.reasons == ("web-1 died: killed by signal 9",)
    assert ledger.records[1].row.p99_ms is not None


def test_on_invalid_stop_ends_the_study_with_the_trials_so_far(begin: Begin) -> None:
    from tests.experiments.fakes import STUDY

    plan, ledger = begin(STUDY.replace("repetitions: 2", "repetitions: 2, on_invalid: stop"))
    driver = FakeDriver()
    driver.raises[3] = DriverError("stone load exited with 1: out of files")
    with pytest.raises(TrialsInvalid, match="out of files"):
        conduct(plan, ledger, driver)
    assert [record.outcome.verdict for record in ledger.records][-1] == "invalid"
    assert len(ledger.records) == 3
    assert "out of files" in page.build(ledger.folder).read_text()  # a trial without measurements is in the report


def test_a_first_deployment_that_fails_is_reported_at_once_and_a_later_one_is_an_invalid_trial(begin: Begin) -> None:
    plan, ledger = begin()
    FakeOrchestrator.fails = 1
    with pytest.raises(DeploymentError, match="it refused"):
        conduct(plan, ledger)
    assert ledger.records == [] and FakeOrchestrator.running == set()

    class Spoiler(FakeDriver):
        def run(self, *given: Any) -> dict[str, Any]:
            result = super().run(*given)
            if len(self.ran) == 1:
                FakeOrchestrator.died.append("web-1 died")
                FakeOrchestrator.fails = 1
            return result

    conduct(plan, ledger, Spoiler())
    assert [record.outcome.verdict for record in ledger.records][:3] == ["invalid", "invalid", "held"] or [
        record.outcome.verdict for record in ledger.records
    ][:2] == ["invalid", "invalid"]
    assert "it refused" in ledger.records[1].row.reasons[0]


def test_a_half_written_trial_was_never_run(begin: Begin) -> None:
    plan, ledger = begin()
    conduct(plan, ledger)
    victim = ledger.folder / "trials" / ledger.records[5].trial_id
    (victim / "trial.json").rename(victim / ".trial.json.tmp")
    _, reopened = reopen(ledger.folder)
    assert len(reopened.records) == 11


def test_a_damaged_trial_is_named(begin: Begin) -> None:
    plan, ledger = begin()
    conduct(plan, ledger)
    file = ledger.folder / "trials" / ledger.records[0].trial_id / "trial.json"
    file.write_text(file.read_text()[:100])
    with pytest.raises(InputError, match=f"{ledger.records[0].trial_id}.*damaged"):
        reopen(ledger.folder)


def test_a_changed_study_does_not_resume_into_an_old_run(begin: Begin, tmp_path: Path) -> None:
    _, ledger = begin()
    _, changed = read_plan(write_study(tmp_path), ["trial.duration=2s"])
    with pytest.raises(InputError, match="started with a different plan"):
        resumed(ledger.folder, changed)


def test_two_processes_do_not_run_one_folder(begin: Begin) -> None:
    _, ledger = begin()
    with ledger.locked(), pytest.raises(InputError, match="being run by another process"), ledger.locked():
        pass


def test_a_program_that_reads_whether_a_run_is_under_way_keeps_none_from_beginning(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, ledger = begin()
    with (ledger.folder / ".lock").open("w") as reader:
        fcntl.flock(reader, fcntl.LOCK_SH)
        monkeypatch.setattr(locks.time, "sleep", lambda _: reader.close())
        with ledger.locked():
            assert reader.closed and is_running(ledger.folder)
    assert not is_running(ledger.folder)


def test_what_another_process_finished_before_is_read_under_the_lock(begin: Begin) -> None:
    plan, ledger = begin()
    early = runs.ledger_of(ledger.folder, plan.study)
    conduct(plan, ledger)
    with early.locked():
        assert [record.trial_id for record in early.records] == [record.trial_id for record in ledger.records]


def test_the_lock_of_a_run_follows_no_link_waits_for_no_one_and_names_who_has_it(begin: Begin, tmp_path: Path) -> None:
    _, ledger = begin()
    assert ledger.folder.stat().st_mode & 0o777 == 0o700
    lock, precious = ledger.folder / ".lock", tmp_path / "precious"
    precious.write_text("1")
    lock.symlink_to(precious)
    with pytest.raises(OSError, match="symbolic links"), ledger.locked():
        pass
    assert precious.read_text() == "1"
    lock.unlink()
    os.mkfifo(lock)
    with pytest.raises(InputError, match="is not a file of user"), ledger.locked():
        pass
    lock.unlink()
    with (
        ledger.locked(),
        pytest.raises(InputError, match=rf"is being run by another process.*process {os.getpid()} \("),
        ledger.locked(),
    ):
        pass
    assert lock.stat().st_mode & 0o777 == 0o600


def test_run_folders_are_named_in_utc(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")  # 14 hours ahead, without daylight saving
    time.tzset()
    try:
        earliest = datetime.now(UTC).replace(microsecond=0)
        _, ledger = begin()
    finally:
        monkeypatch.undo()
        time.tzset()
    named = datetime.strptime(ledger.folder.name, "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    assert earliest <= named <= datetime.now(UTC)


def test_a_generator_that_does_not_end_makes_its_trials_invalid_in_time(
    begin: Begin, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "stone").write_text("#!/bin/sh\n[ $1 != load ] || sleep 1000\n")
    monkeypatch.setattr(stone, "deadline_s", lambda offer: 0.3)
    plan, ledger = begin()
    Conductor(plan, ledger, FakeInfrastructure(plan.study.cluster, "fake"), stone.Stone(), Recorder()).run()
    assert len(ledger.records) == 12
    for record in ledger.records:
        assert record.outcome.verdict == "invalid"
        assert re.search(r"generator failed: .*load.* did not end within 0.3 s", record.row.reasons[0])


def test_json_is_whole_or_absent(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    file = tmp_path / "folder" / "value.json"
    write_json(file, {"a": 1})
    with pytest.raises(TypeError):
        write_json(file, {"a": object()})
    assert json.loads(file.read_text()) == {"a": 1}
    assert list(file.parent.iterdir()) == [file]


def test_why_a_search_failed_is_in_the_report(begin: Begin) -> None:
    plan, ledger = begin(SEARCH)
    FakeOrchestrator.wrong.append(AuditRow(replica="web-1", node="worker", what="cpu", wanted="1", effective="2"))
    conduct(plan, ledger)
    failures = runs.conclude(plan, ledger)
    assert len(failures) == 2 and "5 trials in a row were invalid" in failures[0]
    assert "5 trials in a row were invalid" in page.build(ledger.folder).read_text()


IMAGES = """\
name: tiny
entry: {service: web, port: http}
services:
  web: {tier: frontend, runs: {image: "x/web:1"}, ports: {http: 5000}}
  db: {tier: storage, runs: {image: "mysql:8"}, volumes: [/var/lib/mysql]}
workloads:
  get: {operations: {get: {path: /}}}
default_workload: get
"""


class Images(FakeOrchestrator):
    environments = ("container",)


@pytest.mark.parametrize(
    ("data", "reset", "deployments"),
    [("", "per-trial", 12), ("data: {reset: 'true'}\n", "per-trial", 2), ("", "per-treatment", 2)],
    ids=["images", "with-a-command", "per-treatment"],
)
def test_volumes_of_images_are_emptied_between_trials_by_a_new_deployment(
    data: str, reset: str, deployments: int, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = plugins.find
    monkeypatch.setattr(plugins, "find", lambda layer, name: Images if layer == "orchestrators" else found(layer, name))
    monkeypatch.setattr(fakes, "APPLICATION", IMAGES + data)
    plan, ledger = begin(STUDY.replace("duration: 1s", f"order: sequential, reset: {reset}, duration: 1s"))
    conduct(plan, ledger)
    assert len(FakeOrchestrator.applied) >= deployments
    assert (len(FakeOrchestrator.applied) == 12) == (deployments == 12)
    assert {record.outcome.verdict for record in ledger.records} == {"held", "not held"}


def test_every_run_of_a_comparison_has_a_deployment_of_its_own(begin: Begin) -> None:
    text = STUDY.replace("repetitions: 2", "repetitions: 7") + "comparison: {}\n"
    plan, ledger = begin(text)
    conduct(plan, ledger)
    assert len(ledger.records) == 7 * 3 * 3
    assert len(FakeOrchestrator.applied) == 7 * 3, "the loads of a run share it, also where the next run is of the same"
    rows = [record.row for record in ledger.records]
    assert sum(row.number == 2 for row in rows) == 7 * 3
    assert {row.treatment for row in rows if row.number == 2} == {"scaling=baseline"}
