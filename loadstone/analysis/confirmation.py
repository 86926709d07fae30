"""Do fresh trials agree with an estimate? A sequential test of what a posterior predicts of them.

Three claims compete: the estimate is right, or the system sustains less, or more, by three times the required precision
of the search: 15 % at 5 % (every load of the curve scaled, the spread between trials as estimated). Under each the
probability of the fresh outcomes follows from the posterior, all that is uncertain in it included. Their ratios decide
(Wald, "Sequential tests of statistical hypotheses", Annals of Mathematical Statistics 16, 1945): contradicted once the
two others are on average 20 times as likely as the estimate, which happens to at most 1 in 20 right ones, however many
trials are run (Ville's inequality); confirmed once neither is a tenth as likely.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from loadstone.analysis import breaking_point as bp
from loadstone.analysis.posterior import Posterior, Trials, posterior
from loadstone.analysis.trial_outcome import TrialOutcome
from loadstone.model.trial import Phase

PRECISIONS_OFF = 3.0
"""How many times its precision an estimate must be off for the confirmation to find it out."""
FALSE_ALARM = 0.05
"""The largest share of right estimates that are contradicted."""
MISS = 0.1
"""The largest share of estimates that are off by that much and confirmed."""
MOST = 24
"""The most fresh trials; where equal trials differ by 20 %, these cannot detect 15 %: the verdict is ``undecided``."""

FULL: tuple[Phase, ...] = ("fine", "confirm")
"""The phases of a search whose trials are of full duration."""

Verdict = Literal["confirmed", "contradicted", "undecided"]


@dataclass(frozen=True)
class Confirmation:
    """The verdict of fresh trials on an estimate."""

    verdict: Verdict | None
    """None while another trial is needed."""
    load: float
    """The most informative load of the next fresh trial, in requests/s."""
    too_high: float
    """How many times as likely the outcomes are if the system sustains ``off`` less than estimated."""
    too_low: float
    """The same, if it sustains ``off`` more."""
    off: float
    """The error that is tested for, relative: 0.15 is 15 %."""


@dataclass(frozen=True)
class Round:
    """Fresh trials in a row, and all earlier trials of the search, which they judge the estimate of."""

    full: list[TrialOutcome]
    """Earlier trials of full duration, those of earlier rounds among them."""
    short: list[TrialOutcome]
    fresh: list[TrialOutcome] = field(default_factory=list)

    def judge(self, precision: float) -> Confirmation:
        """The verdict of the fresh trials. Raises ValueError where no trial came before them."""
        return confirmation(posterior(self.full, self.short), self.fresh, precision)


def rounds(trials: Iterable[tuple[str, TrialOutcome]]) -> list[Round]:
    """The rounds of a search's valid trials, in the order they were run; what is not of the search has no part."""
    found: list[Round] = []
    full: list[TrialOutcome] = []
    short: list[TrialOutcome] = []
    confirming = False
    for phase, outcome in trials:
        if phase == "confirm" and not confirming:
            found.append(Round(list(full), list(short)))
        confirming = phase == "confirm"
        if confirming:
            found[-1].fresh.append(outcome)
        if phase == "bracket":
            short.append(outcome)
        elif phase in FULL:
            full.append(outcome)
    return found


def confirmation(belief: Posterior, fresh: Trials, precision: float) -> Confirmation:
    """The verdict on ``belief``, which ``fresh`` trials have no part in, of a search with this relative ``precision``.

    The next trial tests the claim that is still the likelier one: whether the estimate is too high at the capacity,
    whether it is too low at the load that 5 % of trials hold, neither farther from the breaking point than midway to
    the claim, where the outcome is most informative.
    """
    off = detectable(precision)
    right, less, more = (belief.log_evidence(fresh, factor) for factor in (1.0, 1 / (1 + off), 1 + off))
    too_high, too_low = float(np.exp(less - right)), float(np.exp(more - right))
    below, above = confirming_loads(belief, off)
    load = below if too_high >= too_low else above
    return Confirmation(_verdict(too_high, too_low, len(fresh)), load, too_high, too_low, off)


def _verdict(too_high: float, too_low: float, trials: int) -> Verdict | None:
    if (too_high + too_low) / 2 >= 1 / FALSE_ALARM:
        return "contradicted"
    if max(too_high, too_low) <= MISS:
        return "confirmed"
    return "undecided" if trials >= MOST else None


def detectable(precision: float) -> float:
    """The relative error that the confirmation of a search with this relative ``precision`` finds out."""
    return PRECISIONS_OFF * precision


def confirming_loads(belief: Posterior, off: float) -> tuple[float, float]:
    """The loads below and above the breaking point at which fresh trials are run, in requests/s."""
    point, capacity = bp.breaking_point(belief).value, bp.capacity(belief).value
    reach = min(point / capacity, float(np.sqrt(1 + off)))
    return point / reach, point * reach


def together(verdicts: Sequence[Verdict | None]) -> Verdict | None:
    """The verdict on several searches of one treatment: the worst; None while one is open, or there is none."""
    if not verdicts or None in verdicts:
        return None
    order: tuple[Verdict, ...] = ("contradicted", "undecided")
    return next((worst for worst in order if worst in verdicts), "confirmed")


def in_words(judged: Confirmation, fresh: Trials) -> str:
    """Why the estimate is not confirmed, as a sentence; empty where it is."""
    if judged.verdict == "confirmed":
        return ""
    if judged.verdict == "contradicted":
        odds, other = max((judged.too_high, "less"), (judged.too_low, "more"))
        return (
            f"contradicted by {_seen(fresh)}: these are {odds:.0f} times as likely if the system sustains "
            f"{judged.off:.0%} {other} than estimated before them; they count in the estimate, which was not confirmed"
        )
    return f"{_seen(fresh)} neither confirm the estimate nor rule out that it is {judged.off:.0%} off"


def revised(found: Sequence[Round]) -> str:
    """That fresh trials contradicted earlier estimates, as a sentence; empty where there is no earlier round."""
    if len(found) < 2:
        return ""
    many = "an earlier estimate was" if len(found) == 2 else f"{len(found) - 1} earlier estimates were"
    last = "" if len(found) == 2 else ", the last"
    return f"{many} contradicted{last} by {_seen(found[-2].fresh)}; these count in the estimate"


def _seen(fresh: Trials) -> str:
    loads = ", ".join(_at(load, fresh) for load in sorted({trial.load for trial in fresh}))
    return f"{len(fresh)} fresh {'trial' if len(fresh) == 1 else 'trials'} ({loads})"


def _at(load: float, fresh: Trials) -> str:
    held = [trial.held for trial in fresh if trial.load == load]
    return f"{sum(held)} of {len(held)} held at {load:.4g}/s"
