"""``loadstone restore``, and what the next run, up and doctor make of a host that is tuned."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from loadstone.cli import restore
from loadstone.experiments import preflight, tuning
from loadstone.infrastructure.base import Finding
from loadstone.model.errors import PreflightError
from loadstone.model.records.node.tuning import TuningOwner
from tests.cli.conftest import RunCommand
from tests.infrastructure.tuning.fake import AT_FIRST, FakeMachine

STUDY = str(Path(__file__).parents[2] / "studies" / "first-light.yaml")


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    machine = FakeMachine("this machine")
    for module in (restore, tuning):
        monkeypatch.setattr(module, "this_machine", lambda: machine)
    return machine


def leave(machine: FakeMachine) -> None:
    """As a run leaves it whose node was killed."""
    machine.left = TuningOwner(pid=4_000_000, started=1, command="loadstone run a.yaml on desk")
    machine.now |= {"thp": "never", "governor": "performance"}


DONE = "process 4000000 (loadstone run a.yaml on desk) left this machine tuned: 2 values restored and verified"


@pytest.mark.parametrize("study", [(), (STUDY,)])
def test_restore_says_what_it_set_back(say: RunCommand, host: FakeMachine, study: tuple[str, ...]) -> None:
    leave(host)
    code, text, _ = say("restore", *study)
    assert code == 0
    assert "this machine:/sys/thp: always (was never)" in text
    assert "this machine:/sys/governor: powersave (was performance)" in text
    assert DONE in text
    assert host.now == AT_FIRST
    code, text, _ = say("restore", *study)
    assert code == 0 and text.startswith("nothing to restore: no study has tuned th")


def test_restore_as_json(say: RunCommand, host: FakeMachine) -> None:
    assert json.loads(say("restore", "--json")[1]) == {"restored": {}}
    leave(host)
    assert json.loads(say("restore", "--json")[1])["restored"] == {
        "this machine:/sys/thp": {"found": "never", "set": "always"},
        "this machine:/sys/governor": {"found": "performance", "set": "powersave"},
    }


@pytest.mark.parametrize("verb", [("run", STUDY), ("up", "hotel-reservation")])
def test_the_next_run_sets_back_what_a_killed_one_left(
    say: RunCommand, host: FakeMachine, monkeypatch: pytest.MonkeyPatch, verb: tuple[str, ...]
) -> None:
    def stop(*given: object, **named: object) -> None:
        raise PreflightError("not today")

    monkeypatch.setattr("loadstone.experiments.preflight.require", stop)
    monkeypatch.setattr("loadstone.cli.up.require", stop)
    leave(host)
    code, _, complaint = say(*verb)
    assert code == 3 and "not today" in complaint
    assert DONE in complaint
    assert host.now == AT_FIRST


@pytest.mark.parametrize("verb", [("run", STUDY), ("up", "hotel-reservation"), ("restore",)])
def test_a_host_that_a_living_run_tunes_is_refused(say: RunCommand, host: FakeMachine, verb: tuple[str, ...]) -> None:
    leave(host)
    host.stuck = "this host is tuned by process 12 (loadstone run a.yaml), which still runs"
    code, _, complaint = say(*verb)
    assert code == 3
    assert f"this machine: {host.stuck}" in complaint
    assert host.left is not None


def test_doctor_warns_of_what_disturbs_and_says_what_can_be_set(
    say: RunCommand, host: FakeMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loadstone.cli.doctor.inspect", lambda plan: preflight.Inspection([], ()))
    code, text, _ = say("doctor", STUDY)
    assert code == 0
    assert "warning governor: the governor is powersave: cores slow down between requests" in text
    assert "        a study can set it, and undoes it: tuning: {governor: performance}" in text
    assert "ok      tuning: smt (on, off); governor (on, off)" in text
    study = tmp_path / "study.yaml"
    study.write_text(Path(STUDY).read_text() + "tuning: {governor: performance, turbo: off}\n")
    found = json.loads(say("doctor", str(study), "--json")[1])
    names = [finding["what"] for finding in found if finding["level"] == "warning"]
    assert names == ["hardware threads", "huge pages", "swap", "irqbalance"]


def test_doctor_shows_names_as_they_are(say: RunCommand, host: FakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Finding("rack[red]", "ok", "8 cores"), Finding("node[/a]", "warning", "swap is [on]")]
    monkeypatch.setattr("loadstone.cli.doctor.inspect", lambda plan: preflight.Inspection(found, ()))
    code, text, _ = say("doctor", STUDY)
    assert code == 0 and "ok      rack[red]: 8 cores\nwarning node[/a]: swap is [on]\n" in text


class Host(FakeMachine):
    """One that answers nothing at all where it is lost."""

    def facts(self) -> SimpleNamespace:
        self._answer()
        return SimpleNamespace(cpus=(0, 1), memory_available=2**33)

    @property
    def boot(self) -> str:
        self._answer()
        return self.name

    @boot.setter
    def boot(self, given: str) -> None:
        """It is always its name."""


@pytest.fixture
def hosts(host: FakeMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, dict[str, Host]]:
    """A study of three hosts, of which the second cannot be reached, and the hosts."""
    names = ["node-1", "node-2", "node-3"]
    machines = {name: Host(name) for name in names}
    machines["node-2"].lost = True
    monkeypatch.setattr(tuning, "connect", lambda name, reach: machines[name])
    monkeypatch.setattr("loadstone.infrastructure.hosts.connect", lambda name, reach: machines[name])
    study = tmp_path / "study.yaml"
    inventory = tmp_path / "hosts.yaml"
    inventory.write_text(
        f"version: 1\nhosts: {json.dumps({name: {'address': f'10.0.0.{name[-1]}'} for name in names})}\n"
    )
    here, there = "{infrastructure: local}", f"{{infrastructure: hosts, inventory: {inventory}}}"
    study.write_text(Path(STUDY).read_text().replace(here, there))
    return str(study), machines


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_host_that_is_down_keeps_no_other_from_being_restored(
    say: RunCommand, hosts: tuple[str, dict[str, Host]], options: tuple[str, ...]
) -> None:
    study, machines = hosts
    for name in machines:
        leave(machines[name])
    code, text, complaint = say("restore", study, *options)
    assert code == 3, complaint
    assert [machine.left is None for machine in machines.values()] == [True, False, True]
    assert complaint.count("node-2: its node has ended") == 1
    assert "node-1:/sys/thp" in text and "node-3:/sys/thp" in text and "node-2" not in text
    code, text, complaint = say("restore", study)
    assert code == 3 and "node-2: its node has ended" in complaint
    assert "nothing to restore" not in text, "what node-2 has is not known"
