"""What crosses a seam of the house, typed once: what a trial leaves in its files, what is read of replicas and nodes.

Each record is written and read by these models alone; what Go writes is checked against the same JSON Schema in a test
of its own. Records of earlier releases can be read: a field that they lack has its default.
"""

from loadstone.model.records.audit import AuditRow, Check, ContentCheck, GrowthCheck
from loadstone.model.records.base import Record
from loadstone.model.records.interference import Disturbance, NeighbourLoad, NeighbourReading
from loadstone.model.records.iteration import Iteration
from loadstone.model.records.observed import MeasuredWindow, Observed, ObservedNode, ObservedReplica, SpanCounts
from loadstone.model.records.reading import Reading
from loadstone.model.records.summary import (
    Aborted,
    Batch,
    ByGenerator,
    Connections,
    Counts,
    Failure,
    Generator,
    Iterations,
    Latencies,
    Latency,
    LessOwn,
    LoadPlan,
    LoadWorker,
    OperationSummary,
    Series,
    Totals,
    TrialSummary,
)
from loadstone.model.records.trial_row import TrialRow, TrialVerdict

__all__ = [
    "Aborted",
    "AuditRow",
    "Batch",
    "ByGenerator",
    "Check",
    "Connections",
    "ContentCheck",
    "Counts",
    "Disturbance",
    "Failure",
    "Generator",
    "GrowthCheck",
    "Iteration",
    "Iterations",
    "Latencies",
    "Latency",
    "LessOwn",
    "LoadPlan",
    "LoadWorker",
    "MeasuredWindow",
    "NeighbourLoad",
    "NeighbourReading",
    "Observed",
    "ObservedNode",
    "ObservedReplica",
    "OperationSummary",
    "Reading",
    "Record",
    "Series",
    "SpanCounts",
    "Totals",
    "TrialRow",
    "TrialSummary",
    "TrialVerdict",
]
