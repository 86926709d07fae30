"""One trial from the inside."""

from __future__ import annotations

import json
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from loadstone.analysis import steady_state_table
from loadstone.analysis.run import RunFolder as Results
from loadstone.analysis.schema import table
from loadstone.analysis.steady_state_table import LatencyPart
from loadstone.api.table import Table
from loadstone.model.base import plural
from loadstone.model.errors import InputError
from loadstone.model.records.trial_row import TrialRow

if TYPE_CHECKING:
    from loadstone.analysis.traces import TraceAnalysis


class Trial:
    """One measured run of a treatment at one load; ``run.trial(trial_id)``."""

    def __init__(self, run: Results, row: TrialRow) -> None:
        self._run = run
        self._row = row
        self.row = row.columns()
        """Its row of ``run.trials``."""
        self.path = run.folder / "trials" / row.trial_id
        """Its folder, with all that it left."""

    @property
    def id(self) -> str:
        """Its name: the hash of its treatment, load and repetition."""
        return self._row.trial_id

    @cached_property
    def summary(self) -> dict[str, Any]:
        """All of ``summary.json`` (docs/reference/summary.md). Raises InputError where it is missing or damaged."""
        file = self.path / "summary.json"
        try:
            found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{file}: cannot be read: {error}") from None
        return found

    @cached_property
    def over_time(self) -> Table:
        """Latency in ms over the window: ``mean``, ``p50`` or ``p99`` (``what``) from ``from_s`` to ``to_s``."""
        return Table(table(LatencyPart, steady_state_table.over_time(self._run, [self._row])[0]))

    @property
    def metrics(self) -> Table:
        """The raw readings of nodes and replicas: ``time_ns``, ``node``, ``subject``, ``metric``, ``value``."""
        return Table(self._parquet("metrics.parquet"))

    @property
    def spans(self) -> Table:
        """All its spans (docs/reference/spans.md), sorted by trace."""
        return Table(self._parquet("spans.parquet"))

    @cached_property
    def traces(self) -> TraceAnalysis:
        """Its traces within the measured window with their critical paths: ``traces.services``, ``.paths`` ...

        Raises InputError where it has no spans.
        """
        from loadstone.analysis import traces  # it brings a compiler along, which takes a second to load

        spans = traces.read(self.path / "spans.parquet", *self._run.window_ns(self.id))
        return traces.analyse(spans)

    def _parquet(self, name: str) -> pa.Table:
        file = self.path / name
        if not file.exists():
            return pa.table({})
        try:
            return pq.read_table(file)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{file}: cannot be read: {str(error).splitlines()[0]}") from None

    def _repr_html_(self) -> str:
        """Its row, without what is not known of it."""
        known = {name: [value] for name, value in self.row.items() if value is not None}
        return f"<p><b>{escape(repr(self)[1:-1])}</b></p>{Table(pa.table(known))._repr_html_()}"

    def __repr__(self) -> str:
        row = self._row
        load = f"{row.rate:g} req/s" if row.clients is None else plural(row.clients, "client")
        return f"<Trial {self.id}: {row.treatment} at {load}, {row.verdict}>"
