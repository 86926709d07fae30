"""Traces: which services a request's time really goes to.

``read`` takes ``spans.parquet`` or JSON of Jaeger or OTLP, ``analyse`` finds every trace's critical path and makes the
tables::

    traces = analyse(read(trial / "spans.parquet", from_ns, to_ns))
    traces.services   # see tables.SERVICES; traces.operations, .paths, .clocks and .heat likewise
    folded(traces), "".join(jaeger(traces.spans, slowest(traces.spans, 5)))
    growth([(load, services), ...])

The arithmetic is compiled by Numba, which is imported with the first call of it.
"""

from loadstone.analysis.traces.analysing import TraceAnalysis, analyse
from loadstone.analysis.traces.exporting import folded, jaeger, slowest
from loadstone.analysis.traces.reading import read
from loadstone.analysis.traces.spans import SpanColumns
from loadstone.analysis.traces.trend import growth

__all__ = [
    "SpanColumns",
    "TraceAnalysis",
    "analyse",
    "folded",
    "growth",
    "jaeger",
    "read",
    "slowest",
]
