"""The command line by what it prints and by its exit codes."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from loadstone.cli import main
from loadstone.cli.main import VERBS
from loadstone.cli.progress import Display
from loadstone.experiments import runs
from loadstone.experiments.durations import Outlook
from loadstone.experiments.ledger import FinishedTrial
from loadstone.experiments.next_trial import Outcome
from loadstone.experiments.schedule import next_trial
from loadstone.model.base import plural
from loadstone.model.errors import Interrupted, PreflightError
from loadstone.report.format import clock, load_of
from tests.cli.conftest import RunCommand
from tests.experiments.fakes import SEARCH, write_study
from tests.experiments.fakes import STUDY as STUDY_OF_ONE_REQUEST
from tests.support.plans import read_plan
from tests.trial_rows import trial_row

STUDY = str(Path(__file__).parents[2] / "studies" / "first-light.yaml")


def test_help_lists_every_verb_and_each_has_an_example(say: RunCommand) -> None:
    code, overview, _ = say("--help")
    assert code == 0
    for name in VERBS:
        assert re.search(rf"\b{name}\b", overview)
        code, text, _ = say(name, "--help")
        assert code == 0 and f"loadstone {name}" in text and "Example" in text
        assert not re.search(r"<\w+>", text), "what a value is stands in its name, not in Python's type"


def test_a_wrong_verb_or_option_is_bad_input(say: RunCommand) -> None:
    assert say("frobnicate")[0] == 2
    code, _, complaint = say("validate", STUDY, "--sett", "a=b")
    assert code == 2 and "--sett" in complaint


def test_validate_says_what_the_study_is(say: RunCommand) -> None:
    code, text, _ = say("validate", STUDY)
    assert code == 0
    assert "is valid: hotel-reservation, 22 services, 1 treatment; searches the capacity under " in text
    assert json.loads(say("validate", STUDY, "--json")[1]) == {"valid": True, "study": "first-light", "treatments": 1}


def test_an_override_that_is_wrong_names_itself(say: RunCommand) -> None:
    code, _, complaint = say("validate", STUDY, "--set", "trial.duration=-3s")
    assert code == 2
    assert "trial.duration" in complaint and "-3s" in complaint and "Traceback" not in complaint


def test_plan_counts_trials_and_time(say: RunCommand) -> None:
    code, text, _ = say("plan", STUDY, "--set", "load.capacity.precision=10%")
    assert code == 0 and re.search(r"about \d+ trials in \d+:\d\d", text)
    data = json.loads(say("plan", STUDY, "--json")[1])
    assert data["expected_trials"] > 5 and data["treatments"][0]["settings"]["orchestrator"] == "process"


def test_render_writes_the_same_files_each_time(say: RunCommand, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        code, _, complaint = say("render", "hotel-reservation", "--scaling", "horizontal", "-o", folder)
        assert code == 0, complaint
    item, two = (
        {str(file.relative_to(tmp_path / name)): file.read_text() for file in (tmp_path / name).rglob("*.*")}
        for name in ("one", "two")
    )
    assert item == two and "configs/documents-geo-1/pg_hba.conf" in item
    assert "frontend-2" in item["processes.yaml"] and "documents-geo-2" not in item["processes.yaml"]


def test_render_takes_settings_by_options_and_by_their_keys(say: RunCommand) -> None:
    emulated = ("render", "social-network", "--orchestrator", "nomad", "--infrastructure", "namespaces")
    code, text, complaint = say(*emulated, "--set", "resources.frontend.cpu=0.25")
    assert code == 0, complaint
    assert re.search(r"cpu += 250\b", text)
    code, _, complaint = say("render", "social-network", "--dataset", "huge")
    assert code == 2 and "no dataset 'huge'" in complaint
    code, _, complaint = say("render", "hotel-reservation", "--set", "scaling=tall")
    assert code == 2 and "--set scaling=tall: scaling: 'tall' is not known here" in complaint


def test_files_for_the_machines_of_all_treatments_are_rendered(say: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(
        "version: 1\nname: scaling\napplication: hotel-reservation\n"
        "cluster: {infrastructure: namespaces}\nload: {rates: [10], slo: {p99: 1s}}\n"
        'factors: {orchestrator: [process, swarm], high_availability: ["on", "off"], cluster.workers: [2, 3]}\n'
        "except: [{orchestrator: process, high_availability: on}]\n"
    )
    code, _, complaint = say("render", "study.yaml", "--infrastructure", "ansible", "-o", "machines")
    assert code == 0, complaint
    groups = yaml.safe_load((tmp_path / "machines/inventory.yaml").read_text())["all"]["children"]
    assert {name: len(group["hosts"]) for name, group in groups.items()} == {"managers": 3, "workers": 3, "clients": 1}


def test_an_unknown_orchestrator_is_named_without_a_line_and_with_what_is_meant(say: RunCommand) -> None:
    for verb in ("render", "up"):
        code, _, complaint = say(verb, "hotel-reservation", "--orchestrator", "k8s")
        assert code == 2
        assert complaint == "error: the command line: orchestrator: no orchestrator 'k8s'; did you mean 'kubernetes'?\n"


def test_several_workers_on_one_machine_are_refused(say: RunCommand) -> None:
    code, _, complaint = say("validate", STUDY, "--set", "cluster.workers=3")
    assert code == 2 and "cluster.workers: infrastructure 'local' has 1 worker, not 3" in complaint


def test_a_name_that_is_a_study_and_a_folder_is_ambiguous(say: RunCommand, tmp_path: Path) -> None:
    kept = tmp_path / "results" / "shop" / "20260102-030405"
    for folder in (kept, tmp_path / "shop"):
        folder.mkdir(parents=True)
        (folder / "plan.json").write_text("{}")
    code, _, complaint = say("status", "shop")
    assert code == 2 and "write ./shop or results/shop/20260102-030405" in complaint
    assert runs.locate(Path("results"), "./shop") == Path("shop")
    assert runs.locate(Path("results"), str(kept)) == kept


def test_without_runs_status_and_report_say_what_to_do(say: RunCommand) -> None:
    code, text, _ = say("status")
    assert code == 0 and "deployments: none" in text and "loadstone run STUDY" in text
    code, _, complaint = say("report", "nothing")
    assert code == 2 and "no run 'nothing'" in complaint
    assert say("down")[:2] == (0, "nothing is running\n")
    assert say("down", "nothing")[0] == 2


def test_run_without_a_study_and_resume_without_a_run(say: RunCommand) -> None:
    code, _, complaint = say("run")
    assert code == 2 and "no study given" in complaint
    assert say("run", "--resume")[0] == 2
    code, _, complaint = say("run", "no-such-file.yaml")
    assert code == 2 and "no-such-file.yaml" in complaint


@pytest.mark.parametrize(
    ("error", "code", "expected"),
    [
        (PreflightError("memcached is missing", "install it"), 3, "memcached is missing"),
        (Interrupted("stopped", "go on with --resume"), 130, "--resume"),
        (Interrupted("stopped", "go on with --resume results/a[/b]"), 130, "results/a[/b]"),
        (ZeroDivisionError("oh"), 1, "unexpected error: ZeroDivisionError: oh"),
    ],
)
def test_every_error_has_its_code_and_no_traceback(
    say: RunCommand, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int, expected: str
) -> None:
    def fail(*given: Any, **named: Any) -> None:
        raise error

    monkeypatch.setattr(main.typer.main, "get_command", lambda app: type("Broken", (), {"main": fail})())
    got, text, complaint = say("status")
    assert got == code
    assert expected in complaint and "Traceback" not in complaint + text
    if code == 1:
        details = re.search(r"details are in (\S+)", complaint)
        assert details is not None and "ZeroDivisionError" in Path(details.group(1)).read_text()
        Path(details.group(1)).unlink()


def test_progress_without_a_terminal_is_plain_lines(tmp_path: Path) -> None:
    _, plan = read_plan(write_study(tmp_path, SEARCH))
    trial = next_trial(plan, [])
    assert trial is not None
    out = io.StringIO()
    with Display(Console(file=out, width=200)) as display:
        display.trial_started(trial, Outlook(3, 10.0, 30.0))
        display.step("starting stores")
        display.step("loading")
        display.step("starting stores")
        display.progress({"t": 1.0, "of": 2.0, "sent": 10, "p99_ms": 1.0, "lateness_p99_ms": 0.1, "errors": 0})
        about: dict[str, Any] = {"treatment": "scaling=baseline", "rate": 100.0}
        row = trial_row(order=1, offered=100, completed=99, p99_ms=12.3, **about)
        display.trial_finished(FinishedTrial(trial.id, trial.treatment.id, 1, Outcome(100.0, "bracket", "held"), row))
        stopped = trial_row(order=2, verdict="not held", aborted_at_s=0.31, **about)
        display.trial_finished(
            FinishedTrial(trial.id, trial.treatment.id, 1, Outcome(378.0, "fine", "not held"), stopped)
        )
        reasons = ["broke at 0.4 s: violations 101 of 9000 planned exceed 1 %", "failed: 99 x status 403"]
        failed = trial_row(order=4, verdict="not held", aborted_at_s=0.4, reasons=reasons, **about)
        display.trial_finished(
            FinishedTrial(trial.id, trial.treatment.id, 1, Outcome(378.0, "fine", "not held"), failed)
        )
        reasons = ["audit: geo-1 on worker has cpu unlimited, requested 1"]  # no load, so nothing measured
        unloaded = trial_row(order=3, verdict="invalid", reasons=reasons, **about)
        display.trial_finished(
            FinishedTrial(trial.id, trial.treatment.id, 1, Outcome(100.0, "fine", "invalid"), unloaded)
        )
    text = out.getvalue()
    assert "\x1b" not in text
    assert text.count("starting stores") == 1, "each step is shown when it is first taken"
    assert "trial   1  scaling=baseline  bracket      100 req/s  held" in text
    assert "P99    12.3 ms  completed  99.0 %" in text and "left" in text
    (stopped_line,) = [line for line in text.splitlines() if "trial   2" in line]
    assert stopped_line.partition("about")[0].endswith("not held  broke at 0.3 s  ") and "P99" not in stopped_line
    assert "not held  broke at 0.4 s; failed: 99 x status 403" in text
    assert "invalid" in text and "audit: geo-1 on worker has cpu unlimited, requested 1" in text


def test_a_driver_that_is_not_installed_is_found_before_anything_starts(
    say: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = STUDY_OF_ONE_REQUEST.replace("rates:", "driver: k6, arrival: constant, rates:")
    study = str(write_study(tmp_path, text))
    assert say("validate", study)[0] == 0
    monkeypatch.setattr("loadstone.workloads.external.shutil.which", lambda name: None)
    code, result, _ = say("doctor", study)
    assert code == 3 and "k6: is not installed, or not on the PATH" in result and "go install go.k6.io/k6" in result
    code, _, complaint = say("run", study)
    assert code == 3 and "k6: is not installed" in complaint
    assert not (tmp_path / "results").exists()


def test_words() -> None:
    assert [load_of(*load) for load in ((1000.0, None), (0.0, 1), (0.0, 20), (0.0, None))] == [
        "1,000 req/s",
        "1 client",
        "20 clients",
        "a trace",
    ]
    assert [clock(s) for s in (0, 59.6, 61, 3723)] == ["0:00", "1:00", "1:01", "1:02:03"]
    assert [plural(n, "trial") for n in (0, 1, 1200)] == ["0 trials", "1 trial", "1,200 trials"]


def test_nothing_is_deployed_at_an_address(say: RunCommand) -> None:
    code, _, complaint = say("up", "http://127.0.0.1:8080/")
    assert code == 2
    assert "nothing is deployed at an address; `loadstone init URL` writes a study of what runs there" in complaint
