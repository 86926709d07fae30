"""The desk is killed at random moments and at every step: no finished trial is lost or repeated, nothing stays."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.campaign import studies
from tests.support.users import User, end

pytestmark = [pytest.mark.system, pytest.mark.long, pytest.mark.timeout(7200)]

KILLS = int(os.environ.get("CAMPAIGN_KILLS", "200"))
RATES = [20, 30, 40]
WITHIN_S = 120.0


def step(user: User) -> str:
    """What a run is doing, by what it has written."""
    runs = sorted(user.home.glob("results/*/*/"))
    deployed = any(user.home.glob("state/*.json"))
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
        return "remove" if deployed else "report"
    if len(trials) > len(started):
        return "reset and seed"
    return "deploy" if deployed else "provide"


STEPS = ("plan", "provide", "deploy", "reset and seed", "trial", "collect", "remove", "report")


class Killer:
    """Starts or resumes runs, kills them, and counts what became of their trials."""

    def __init__(self, user: User, expected: set[str]) -> None:
        self.user = user
        self.steps: Counter[str] = Counter()
        self.completed = 0
        self._expected = expected
        self._chance = random.Random(19)
        self._open = False

    def kill(self, when: Callable[[], bool]) -> None:
        """Kill a run, or the continuation of the last one, as soon as ``when`` holds; it may end before."""
        if not self._open:
            hide(self.user)
        before = studies.finished(self.user)
        arguments = ["run", "--resume"] if self._open else ["run", "study.yaml"]
        process = self.user.starts(*arguments)
        deadline = time.monotonic() + WITHIN_S
        while process.poll() is None and not when():
            assert time.monotonic() < deadline, "it hangs"
            time.sleep(0.001)
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

    def finish(self) -> None:
        """Let the last run go on to its end; it has the same trials as one that was never disturbed."""
        if self._open:
            before = studies.finished(self.user)
            self.user.runs("run", "--resume")
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


def test_a_desk_that_is_killed_loses_and_repeats_nothing(user: User) -> None:
    studies.write(user, RATES)
    began = time.monotonic()
    user.runs("run", "study.yaml")
    lasted = time.monotonic() - began
    killer = Killer(user, trials(user))
    for name in STEPS * 2:
        if name in STEPS[:3]:  # of a new run alone
            killer.finish()
        killer.kill(lambda name=name: step(user) == name)  # type: ignore[misc]
    chance = random.Random(7)
    while killer.steps.total() < KILLS:
        moment = time.monotonic() + chance.uniform(0, lasted)
        killer.kill(lambda moment=moment: time.monotonic() >= moment)  # type: ignore[misc]
    killer.finish()
    user.runs("down")
    assert studies.left(user) == []
    counted = ", ".join(f"{name} {killer.steps[name]}" for name in STEPS)
    print(
        f"desk killed: {killer.steps.total()} times ({counted}); {killer.completed} runs completed, none lost a trial"
    )
    assert all(killer.steps[name] for name in STEPS), counted


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
    (tmp_path / "state" / "x.json").write_text("{}")
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
    (tmp_path / "state" / "x.json").unlink()
    assert step(user) == "report"
