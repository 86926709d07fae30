"""Whether blocks of trials are repeated on: a pure function of the study's rule and of what has finished."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.experiments.ledger import FinishedTrial
from loadstone.model.base import plural
from loadstone.model.comparison import Repeating
from loadstone.model.units import format_share


def ends(repetitions: int | Repeating, blocks: int, trials: int, records: Sequence[FinishedTrial]) -> bool:
    """Whether so many blocks, of so many ``trials`` together, were enough; also while some of these have not finished:
    more is unknown yet."""
    if not isinstance(repetitions, Repeating) or blocks not in repetitions.looks:
        return False
    finished = [record for record in records if record.repetition <= blocks]
    return len(finished) < trials or not list(_imprecise(repetitions, finished))


def unreached(repetitions: int | Repeating, records: Sequence[FinishedTrial]) -> list[str]:
    """What is not known as exactly as the rule requires after all repetitions, as sentences."""
    if not isinstance(repetitions, Repeating):
        return []
    return [
        f"{treatment}: after {runs} valid runs at {load} the interval of the {name.upper()} is +-{reached:.1%}, "
        f"not {format_share(wanted)}"
        for treatment, load, name, runs, reached, wanted in _imprecise(repetitions, records)
    ]


def _imprecise(rule: Repeating, records: Sequence[FinishedTrial]) -> Iterator[tuple[str, str, str, int, float, float]]:
    """Treatment, load, percentile, valid runs, precision and the precision that is required, of all that misses it.

    A treatment without any valid run is left out: more of them would not help.
    """
    # It brings SciPy along: only studies with such a rule wait for it.
    from loadstone.analysis.statistics.stopping import precision

    groups: dict[tuple[str, float, int | None], list[FinishedTrial]] = {}
    for record in records:
        row = record.row
        if record.outcome.verdict != "invalid" and not row.stopped:
            groups.setdefault((row.treatment, row.rate, row.clients), []).append(record)
    for (treatment, rate, clients), runs in groups.items():
        load = f"{rate:g} req/s" if clients is None else plural(clients, "client")
        for name, wanted in rule.until.wanted.items():
            values = [value for record in runs if (value := getattr(record.row, f"{name}_ms"))]
            reached = precision(values)
            if reached > wanted:
                yield treatment, load, name, len(values), reached, wanted
