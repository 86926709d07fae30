"""Placements compared: latency, throughput, C-states, power and bytes between nodes of each, and which is best.

``tables`` has a row for each placement and load, ``extremes`` names the best and the worst with how sure that is,
``tier_traffic`` has the bytes between each pair of tiers.
"""

from loadstone.analysis.placement.extremes import Extremes, Fastest, extremes
from loadstone.analysis.placement.tables import FACTOR, tables
from loadstone.analysis.placement.tier_traffic import TierTraffic, tier_traffic

__all__ = ["FACTOR", "Extremes", "Fastest", "TierTraffic", "extremes", "tables", "tier_traffic"]
