"""The capacity model: CPU-seconds per request by service, and the load that another layout would bear.

``fit`` makes a model of one treatment that was measured, ``predict`` asks it about a layout that was not. See
docs/explanation/capacity-model.md.
"""

from loadstone.analysis.capacity.demands import Demand
from loadstone.analysis.capacity.fitting import CannotTell, Model, fit
from loadstone.analysis.capacity.layout import Layout, Placed
from loadstone.analysis.capacity.objective import Objective, of_study
from loadstone.analysis.capacity.predicting import Prediction, predict
from loadstone.analysis.capacity.registered import (
    VERSION,
    LeftOut,
    Registered,
    beaten,
    left_out,
    registered,
    scale,
    scale_of,
    scores,
)

__all__ = [
    "VERSION",
    "CannotTell",
    "Demand",
    "Layout",
    "LeftOut",
    "Model",
    "Objective",
    "Placed",
    "Prediction",
    "Registered",
    "beaten",
    "fit",
    "left_out",
    "of_study",
    "predict",
    "registered",
    "scale",
    "scale_of",
    "scores",
]
