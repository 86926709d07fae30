"""Results in Python: ``run = loadstone.load("results/first-light")``, then tables for pandas, polars or Arrow.

The tables come from the same functions as the report's. docs/how-to/analyse-in-python.md shows how to use them,
docs/reference/python-api.md lists all.
"""

from loadstone.api.plots import Plot, Plots
from loadstone.api.run import Comparison, Run, load
from loadstone.api.table import Table
from loadstone.api.trial import Trial

__all__ = ["Comparison", "Plot", "Plots", "Run", "Table", "Trial", "load"]
