"""Progress for a person: a live line in a terminal, plain lines elsewhere; always on standard error."""

from __future__ import annotations

import time
from typing import Any, Self

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from loadstone.cli.app import err
from loadstone.experiments.durations import Outlook
from loadstone.experiments.ledger import FinishedTrial
from loadstone.experiments.listener import Listener
from loadstone.model.records.trial_row import TrialRow
from loadstone.model.trial import Trial
from loadstone.report import format

_STYLES = {"held": "green", "not held": "red", "measured": "green", "invalid": "yellow"}


class Display(Listener):
    """Use as a context manager; prints a line for each finished trial and shows the current step."""

    def __init__(self, console: Console = err) -> None:
        self._console = console
        self._status = Status("", console=console, spinner="dots") if console.is_terminal else None
        self._began = self._trial_began = time.monotonic()
        self._outlook = Outlook(0.0, 0.0, 0.0)
        self._elapsed = self._planned = 0.0
        """Lengths of the finished trials: in seconds as they were, and as they were expected."""
        self._trial: Trial | None = None
        self._step = ""
        self._noted: set[str] = set()

    def __enter__(self) -> Self:
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def note(self, text: str) -> None:
        self._console.print(f"{self._clock()} ", end="")
        self._console.print(text, markup=False)

    def trial_started(self, trial: Trial, outlook: Outlook) -> None:
        self._trial = trial
        self._outlook = outlook
        self._trial_began = time.monotonic()

    def step(self, text: str) -> None:
        self._step = text
        if self._status:
            self._show()
        elif text not in self._noted and text not in ("loading", "collecting", "resetting state"):
            self._noted.add(text)  # deployments of later trials go through the same steps
            self.note(text)

    def progress(self, event: dict[str, Any]) -> None:
        if self._status:
            self._show(
                f" [dim]{event['t']:.0f}/{round(event['of']) or '?'} s[/]"
                + (f"  sent {event['sent']:,}" if "sent" in event else "")
                + (f"  P99 {format.milliseconds(event['p99_ms'])}" if "p99_ms" in event else "")
                + (
                    f"  late sends {format.milliseconds(event['lateness_p99_ms'])}"
                    if event.get("lateness_p99_ms")
                    else ""
                )
                + (f"  errors {event['errors']:,}" if "errors" in event else "")
            )

    def trial_finished(self, record: FinishedTrial) -> None:
        self._elapsed += time.monotonic() - self._trial_began
        self._planned += self._outlook.length
        row = record.row
        style = _STYLES[record.outcome.verdict]
        treatment = f"{row.treatment}  " if self._trial and self._trial.treatment.levels else ""
        what = f"{escape(treatment)}{record.outcome.phase:<7} {format.load_of(row.rate, row.clients):>14}"
        verdict = f"[{style}]{record.outcome.verdict:<8}[/]"
        self._console.print(
            f"{self._clock()} trial {row.order:>3}  {what}  {verdict}  {escape(_numbers(row))}{self._time_left()}"
        )
        if record.outcome.verdict == "invalid":
            for reason in row.reasons:
                self._console.print(f"          {reason}", markup=False)

    def _show(self, detail: str = "") -> None:
        if self._status is None:
            return
        load = f"{self._trial.phase} {format.load_of(self._trial.rate, self._trial.clients)}: " if self._trial else ""
        left = self._about_left() if self._trial else ""
        self._status.update(f"{load}{escape(self._step)}{detail}{left}")

    def _clock(self) -> str:
        return f"[dim]{format.clock(time.monotonic() - self._began):>7}[/]"

    def _time_left(self) -> str:
        """After a trial; nothing where it was the last."""
        return self._about(self._outlook.left - self._outlook.length) if self._outlook.trials >= 1.5 else ""

    def _about_left(self) -> str:
        """During a trial."""
        return self._about(self._outlook.left)

    def _about(self, left: float) -> str:
        """Empty until a first trial has shown how long one takes, where nothing else does."""
        if not self._planned and not self._outlook.in_seconds:
            return ""
        pace = self._elapsed / self._planned if self._planned else 1.0
        return f"  [dim]about {format.clock(pace * left)} left[/]"


def _numbers(row: TrialRow) -> str:
    if broke := format.broke(row):  # with what failed, if requests did not only take too long
        return "; ".join([broke, *row.reasons[1:]] if row.valid else [broke])
    if row.completed is None:
        return ""
    share = f"{100 * row.completed / row.offered:5.1f} %" if row.offered else f"{row.completed:,}"
    loop = " (closed loop)" if row.clients is not None else ""
    return f"P99 {format.latency(row.p99_ms, row.latency_bound_ms):>10}{loop}  completed {share}"
