"""What a conductor reports of its progress."""

from __future__ import annotations

from typing import Any

from loadstone.experiments.durations import Outlook
from loadstone.experiments.ledger import FinishedTrial
from loadstone.model.trial import Trial


class Listener:
    """Hears of everything and does nothing; the command line's display overrides what it shows."""

    def note(self, text: str) -> None:
        """Something that a person should know."""

    def trial_started(self, trial: Trial, outlook: Outlook) -> None:
        """A trial begins; ``outlook`` is what is to come, this trial included."""

    def step(self, text: str) -> None:
        """The trial entered a step of its life: deploying, resetting, loading ..."""

    def progress(self, report: dict[str, Any]) -> None:
        """What the driver says, about once a second."""

    def trial_finished(self, record: FinishedTrial) -> None:
        """A trial is in the ledger."""
