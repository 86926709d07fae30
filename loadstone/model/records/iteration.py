"""``iterations.parquet``: what each client of a closed loop took for each number of requests, as ``stone load`` writes
it."""

from __future__ import annotations

from typing import Annotated

from loadstone.model.records.base import Record, Whole
from loadstone.model.records.trial_row import Meaning


class Iteration(Record):
    """A number of requests that one client sent one after the other."""

    client: Annotated[Whole, Meaning("which client, from 1; of all load workers together")]
    iteration: Annotated[Whole, Meaning("which of its iterations, from 1")]
    start_s: Annotated[float, Meaning("when its first request was due, from the start of the window", "s")]
    duration_s: Annotated[
        float, Meaning("from then to the outcome of its last request; the client's pauses are a part of it", "s")
    ]
    requests: Annotated[Whole, Meaning("how many it sent", "requests")]
    errors: Annotated[Whole, Meaning("of them without a good answer", "requests")]
    mean_ms: Annotated[float | None, Meaning("mean latency of its good answers; null where there was none", "ms")] = (
        None
    )
