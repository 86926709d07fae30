"""The capacity model: CPU-seconds per request by service, and the load that another layout would sustain.

``fit`` makes a model of a measured treatment, ``predict`` applies it to a layout that was not measured. See
docs/explanation/capacity-model.md.
"""

from loadstone.analysis.capacity.fitting import CannotFit, CapacityModel, fit
from loadstone.analysis.capacity.layout import Layout, Placed
from loadstone.analysis.capacity.objective import Objective, of_study
from loadstone.analysis.capacity.predicting import Prediction, predict
from loadstone.analysis.capacity.registered import (
    VERSION,
    LeftOut,
    Registered,
    Score,
    beaten,
    error,
    left_out,
    registered,
    scale,
    scale_of,
    scores,
)

__all__ = [
    "VERSION",
    "CannotFit",
    "CapacityModel",
    "Layout",
    "LeftOut",
    "Objective",
    "Placed",
    "Prediction",
    "Registered",
    "Score",
    "beaten",
    "error",
    "fit",
    "left_out",
    "of_study",
    "predict",
    "registered",
    "scale",
    "scale_of",
    "scores",
]
