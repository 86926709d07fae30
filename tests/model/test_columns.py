"""The columns of trials.parquet and their reference page."""

from __future__ import annotations

from loadstone.model.columns import columns, markdown


def test_names_are_unique_and_factors_have_their_own():
    names = [column.name for column in columns(["scaling", "orchestrator"])]
    assert len(names) == len(set(names))
    assert names[3:5] == ["factor_scaling", "factor_orchestrator"]
    assert "factor_scaling" not in [column.name for column in columns()]


def test_what_was_measured_may_be_null_and_what_identifies_may_not():
    optional = {column.name: column.optional for column in columns(["scaling"])}
    assert optional["p99_ms"] and optional["offered"] and optional["aborted_at_s"]
    assert not any(optional[name] for name in ("trial_id", "factor_scaling", "rate", "verdict", "reasons"))


def test_the_page_has_a_row_for_every_column_with_its_unit():
    lines = markdown().splitlines()
    for column in columns():
        (line,) = [line for line in lines if line.startswith(f"| `{column.name}` |")]
        assert f"| {column.unit or '-'} |" in line
        assert line.endswith(f"| {column.meaning} |")
        assert (", or null" in line) == column.optional
        assert line.count("|") == 5
