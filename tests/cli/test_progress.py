"""Plans and progress of studies whose names, numbers and steps are unusual."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from loadstone.cli import app
from loadstone.cli.progress import Display
from loadstone.experiments.durations import Outlook
from loadstone.experiments.ledger import FinishedTrial
from loadstone.experiments.next_trial import Outcome
from loadstone.experiments.schedule import fixed_trials
from tests.cli.conftest import RunCommand
from tests.experiments.fakes import SEARCH, STUDY, write_study
from tests.support.plans import read_plan
from tests.trial_rows import row_of

BRACKETS = STUDY.replace(
    "{scaling: [baseline, unlimited]}",
    '{"[/b]": [{name: "[/old]", load.timeout: 1s}, {name: "[red]", load.timeout: 2s}]}',
)


def test_names_with_brackets_are_shown_as_they_are(say: RunCommand, tmp_path: Path) -> None:
    study = write_study(tmp_path, BRACKETS)
    code, text, complaint = say("plan", str(study))
    assert code == 0, complaint
    assert "[/b]" in text and "[/old]" in text and "[red]" in text
    for trial in fixed_trials(read_plan(study)[1]):
        outcome = Outcome(trial.rate, trial.phase, "not held")
        reasons = ["broke at 0.4 s: too slow", "failed: 3 x [/broken]"]
        row = row_of(trial, "not held", aborted_at_s=0.4, reasons=reasons)
        file = io.StringIO()
        with Display(Console(file=file, width=200, force_terminal=True)) as display:
            display.trial_started(trial, Outlook(2, 10.0, 20.0))
            display.step("tuning [/here]")
            display.trial_finished(FinishedTrial(trial.id, trial.treatment.id, 1, outcome, row))
        assert trial.treatment.label in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", file.getvalue())


@pytest.mark.parametrize(
    ("given", "shown"),
    [("precision: 2.5%", "to +-2.5%: about"), ("precision: 10%", "to +-10%: about"), ("start: 0.5", "to +-5%: about")],
)
def test_a_search_is_planned_as_it_is_given(say: RunCommand, tmp_path: Path, given: str, shown: str) -> None:
    code, text, complaint = say("plan", str(write_study(tmp_path, SEARCH.replace("start: 100", given))))
    assert code == 0, complaint
    assert shown in text


@pytest.mark.parametrize("terminal", [False, True])
def test_what_takes_a_while_is_stated_and_leaves_nothing_in_a_terminal(
    terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.StringIO()
    monkeypatch.setattr(app, "err", Console(file=written, force_terminal=terminal, width=80))
    with app.working("writing the report"):
        pass  # a terminal shows it at the spinner's next turn, at the latest at the end
    assert "writing the report" in written.getvalue()
    line = written.getvalue()
    assert line.endswith("\x1b[2K" if terminal else "writing the report\n"), line
