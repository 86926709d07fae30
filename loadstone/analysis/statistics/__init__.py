"""Is B slower than A, by how much, and how sure? Pure functions of one number per run (docs/explanation/comparison.md).

- ``compare(endpoints, margin)``: ratio, interval, p and verdict for each endpoint, paired or not (``comparing``)
- ``floors``, ``adjacent``: the noise floor from A against A (``noise``)
- ``needed_pairs``, ``detectable``: how many pairs a difference takes, and what some pairs can see (``planning``)
- ``mean``: the geometric mean over runs of one treatment with its interval (``mean``)
- ``precision``: how well a treatment is known, which ends its repetitions (``stopping``)
- ``shape``: where two distributions differ, from samples or histograms (``shape``); ``distances`` of many pairs
  (``merging``), whose compiled code is imported on use only
"""

from loadstone.analysis.statistics.comparing import compare
from loadstone.analysis.statistics.effect import Effect, Endpoint, EndpointComparison
from loadstone.analysis.statistics.mean import mean
from loadstone.analysis.statistics.noise import Floor, adjacent, floors
from loadstone.analysis.statistics.planning import detectable, needed_pairs, power
from loadstone.analysis.statistics.stopping import precision

__all__ = [
    "Effect",
    "Endpoint",
    "EndpointComparison",
    "Floor",
    "adjacent",
    "compare",
    "detectable",
    "floors",
    "mean",
    "needed_pairs",
    "power",
    "precision",
]
