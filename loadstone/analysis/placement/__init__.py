"""Placements compared: latency, throughput, C-states, power and bytes between nodes of each, and which is best.

``tables`` has a row for each placement and load, ``extremes`` names the best and the worst with how sure that is.
"""

from loadstone.analysis.placement.extremes import Extremes, Fastest, extremes
from loadstone.analysis.placement.tables import FACTOR, Tables, tables

__all__ = ["FACTOR", "Extremes", "Fastest", "Tables", "extremes", "tables"]
