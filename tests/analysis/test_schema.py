"""Tables whose rows are dataclasses."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pyarrow as pa
import pytest

from loadstone.analysis import schema
from loadstone.analysis.metrics.nodes import MetricRow
from loadstone.analysis.schema import TableRow
from tests.trial_rows import trial_row


class Part(TableRow):
    """Something in a trial."""

    service: str
    cores: float | None = None
    changes_s: tuple[float, ...] | None = None


class PartOfTrial(Part, MetricRow, name="parts"):
    """The same with its trial."""


def test_a_table_has_the_columns_of_its_rows_and_gives_them_back() -> None:
    trial = trial_row(trial_id="t1", rate=200.0)
    parts = [Part(service="geo", cores=1.5, changes_s=(1.0, 2.0)), Part(service="rate")]
    rows = schema.of_trial(PartOfTrial, trial, parts)
    made = schema.table(PartOfTrial, rows)
    own = ["trial_id", "treatment", "phase", "rate", "clients", "load", "verdict"]
    assert made.column_names == [*own, "service", "cores", "changes_s"]
    assert [row.service for row in schema.rows(PartOfTrial, made)] == ["geo", "rate"]
    assert schema.rows(PartOfTrial, made)[1] == rows[1] and rows[0].load == 200.0
    assert made["changes_s"].to_pylist() == [[1.0, 2.0], None]


def test_a_table_without_rows_has_its_columns_with_their_types() -> None:
    empty = schema.tables((PartOfTrial, []))["parts"]
    assert empty.num_rows == 0 and empty.schema.field("clients").type == pa.int64()
    assert empty.schema.field("changes_s").type == pa.list_(pa.float64())


def test_a_row_cannot_be_changed_and_a_part_of_one_has_no_table() -> None:
    row = Part(service="geo")
    with pytest.raises(FrozenInstanceError):
        row.service = "rate"  # type: ignore[misc]
    assert (Part.NAME, PartOfTrial.NAME) == ("", "parts")
