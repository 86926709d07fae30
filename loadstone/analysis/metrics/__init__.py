"""What nodes and replicas did in the measured window of each trial, from the counters that were recorded.

``windows`` aligns readings to the window, ``nodes``, ``replicas``, ``cstates`` and ``power`` make one table each of a
trial, ``gather`` joins those of all trials. Columns and formulas: docs/reference/metrics.md.
"""

from loadstone.analysis.metrics.gather import MetricTables, gather

__all__ = ["MetricTables", "gather"]
