"""The comparison itself: every endpoint tested, the family accounted for, a verdict for each."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, expm1, log1p

import numpy as np

from loadstone.analysis.statistics import planning
from loadstone.analysis.statistics.differences import TestedDifference, holm, paired, unpaired
from loadstone.analysis.statistics.effect import (
    ALPHA,
    FEWEST_PAIRS,
    FEWEST_RUNS,
    Effect,
    Endpoint,
    EndpointComparison,
    Verdict,
)


def compare(endpoints: Sequence[Endpoint], margin: float, alpha: float = ALPHA) -> list[EndpointComparison]:
    """Compare B with A on every endpoint; the results stand in the order of ``endpoints``.

    All ``endpoints`` are one family: the chance that any of them is called slower or faster where nothing differs is
    at most ``alpha``, and likewise that any is called equal that differs by ``margin`` (0.02: by 2 %) or more. An
    endpoint with too few runs takes no part. Raises ValueError for a margin or an alpha that makes no sense.
    """
    if not 0 < margin < np.inf:
        raise ValueError(f"margin {margin!r} is not a positive number; 0.02 calls equal what differs by less than 2 %")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha {alpha!r} is not between 0 and 1; 0.05 is usual")
    found = [difference(endpoint, alpha) for endpoint in endpoints]
    tested = [index for index, test in enumerate(found) if enough(test)]
    differs = dict(zip(tested, holm([found[i].p for i in tested]), strict=True))
    equals = dict(zip(tested, holm([found[i].p_equal(log1p(margin)) for i in tested]), strict=True))
    # With more runs, an endpoint that has too few joins the family.
    shares = {index: alpha / len(tested if index in tested else found) for index in range(len(found))}
    return [
        EndpointComparison(endpoint, _effect(test, differs.get(index), equals.get(index), margin, alpha, shares[index]))
        for index, (endpoint, test) in enumerate(zip(endpoints, found, strict=True))
    ]


def difference(endpoint: Endpoint, alpha: float = ALPHA) -> TestedDifference:
    """The difference of the logarithms of one endpoint, tested by itself; its interval is at 1 - ``alpha``."""
    test = paired if endpoint.paired else unpaired
    return test(np.log(np.asarray(endpoint.a, np.float64)), np.log(np.asarray(endpoint.b, np.float64)), alpha)


def enough(difference: TestedDifference) -> bool:
    """Whether there are runs enough for any p to be small."""
    return difference.runs >= (FEWEST_PAIRS if difference.method == "paired" else FEWEST_RUNS)


def _effect(
    difference: TestedDifference, differs: float | None, equals: float | None, margin: float, alpha: float, share: float
) -> Effect:
    verdict = _verdict(difference.value, differs, equals, alpha)
    low, high = float(np.exp(difference.low)), float(np.exp(difference.high))
    more = _more(difference, margin, share) if verdict == "cannot tell" else None
    return Effect(
        exp(difference.value),
        low,
        high,
        difference.p,
        difference.p_t,
        differs,
        equals,
        difference.method,
        difference.runs,
        difference.sd,
        margin,
        verdict,
        more,
    )


def _verdict(value: float, differs: float | None, equals: float | None, alpha: float) -> Verdict:
    """Equal first: a difference that is certain, and certainly smaller than what matters, does not matter."""
    if equals is not None and equals <= alpha:
        return "equal"
    if differs is not None and differs <= alpha:
        return "slower" if value > 0 else "faster"
    return "cannot tell"


def _more(difference: TestedDifference, margin: float, share: float) -> int | None:
    """Pairs missing until the nearer verdict, different or equal; ``share`` is the alpha of one test of all."""
    if not difference.sd >= 0:
        return None
    effect = expm1(abs(difference.value))
    ways = [planning.needed_pairs(difference.sd, effect, share, method=difference.method)]
    if effect < margin:
        ways.append(planning.needed_for_equality(difference.sd, effect, margin, share, method=difference.method))
    known = [pairs for pairs in ways if pairs is not None]
    return max(1, min(known) - difference.runs) if known else None
