"""``loadstone restore``, and what the next run, up and doctor make of a host that is tuned."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from loadstone.cli.main import run_command
from loadstone.infrastructure.tuning import Host, apply, journal
from loadstone.model.tuning import Tuning
from tests.infrastructure.tuning import trees
from tests.infrastructure.tuning.kernel import Kernel

STUDY = str(Path(__file__).parents[2] / "studies" / "first-light.yaml")


class Said:
    """Exit code and words of a command."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        code = run_command(list(arguments))
        said = self._capsys.readouterr()
        return code, said.out, said.err


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Said:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOADSTONE_STATE", str(tmp_path / "deployments"))
    monkeypatch.setenv("LOADSTONE_HOST_STATE", str(tmp_path / "state"))
    kernel = Kernel.of(trees.intel(tmp_path / "tree"))
    for command in ("restore", "doctor"):
        monkeypatch.setattr(f"loadstone.cli.{command}.Host", lambda: kernel)
    return Said(capsys)


def left_by(owner: journal.Owner, tree: Path) -> Host:
    """A host that another process has tuned."""
    kernel = Kernel.of(tree)
    apply(Tuning(thp="never", governor="performance"), kernel, lambda text: None)
    entry = journal.load()
    assert entry is not None
    journal.save(entry.model_copy(update={"owner": owner}))
    return kernel


GONE = journal.Owner(pid=4_000_000, started=1, command="loadstone run a.yaml")


def test_restore_says_what_it_set_back(say: Said, tmp_path: Path) -> None:
    before = trees.contents(trees.intel(tmp_path / "tree"))
    left_by(GONE, tmp_path / "tree")
    code, text, _ = say("restore")
    assert code == 0
    assert f"{tmp_path}/tree/{trees.THP}: always (was never)" in text
    assert f"{trees.CPU}/cpufreq/policy3/scaling_governor: powersave (was performance)" in text
    assert "process 4000000 (loadstone run a.yaml) left this host tuned: 9 values set back, all verified" in text
    assert trees.contents(tmp_path / "tree") == before
    assert say("restore")[:2] == (0, "nothing is to be restored: no study has tuned this host\n")


def test_restore_as_json(say: Said, tmp_path: Path) -> None:
    assert json.loads(say("restore", "--json")[1]) == {"restored": {}}
    left_by(GONE, tmp_path / "tree")
    told = json.loads(say("restore", "--json")[1])["restored"]
    assert told[f"{tmp_path}/tree/{trees.THP}"] == {"found": "never", "set": "always"}
    assert len(told) == 9


def test_the_next_run_sets_back_what_a_killed_one_left(say: Said, tmp_path: Path) -> None:
    before = trees.contents(trees.intel(tmp_path / "tree"))
    for verb in ("run", "up"):
        left_by(GONE, tmp_path / "tree")
        code, _, complaint = say(verb, "nothing.yaml")
        assert code == 2 and "nothing.yaml" in complaint
        assert "left this host tuned: 9 values set back, all verified" in complaint
        assert trees.contents(tmp_path / "tree") == before


@pytest.mark.parametrize("verb", [("run", STUDY), ("up", "hotel-reservation"), ("restore",)])
def test_a_host_that_a_living_run_tunes_is_refused(say: Said, tmp_path: Path, verb: tuple[str, ...]) -> None:
    living = journal.Owner(pid=os.getppid(), started=journal._started(os.getppid()), command="loadstone run a.yaml")
    left_by(living, tmp_path / "tree")
    code, _, complaint = say(*verb)
    assert code == 3
    assert f"this host is tuned by process {os.getppid()} (loadstone run a.yaml), which still runs" in complaint
    assert journal.load() is not None


def test_doctor_warns_of_what_disturbs_and_says_what_can_be_set(
    say: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loadstone.cli.doctor.inspect", lambda plan: [])
    code, text, _ = say("doctor", STUDY)
    assert code == 0
    assert "warning governor: the governor is powersave: cores slow down between requests" in text
    assert "        a study can set it, and undoes it: tuning: {governor: performance}" in text
    assert "ok      tuning: smt (on, off); turbo (on, off); governor (performance, powersave)" in text
    study = tmp_path / "study.yaml"
    study.write_text(Path(STUDY).read_text() + "tuning: {governor: performance, turbo: off}\n")
    found = json.loads(say("doctor", str(study), "--json")[1])
    names = [finding["what"] for finding in found if finding["level"] == "warning"]
    assert names == ["hardware threads", "huge pages", "swap", "irqbalance"]
