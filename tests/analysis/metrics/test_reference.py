"""The reference of the tables names every column, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

from loadstone.analysis.metrics.gather import KINDS
from loadstone.analysis.metrics.minutes import SystemRow
from loadstone.analysis.schema import schema_of

SCHEMAS = {kind.NAME: schema_of(kind) for kind in (*KINDS, SystemRow)}
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"
COMMON = ("trial_id", "treatment", "phase", "rate", "clients", "load", "verdict")


def test_every_column_is_described_once() -> None:
    text = PAGE.read_text(encoding="utf-8").split("## Tables")[1]
    intro, *sections = re.split(r"^### ", text, flags=re.MULTILINE)
    assert all(f"`{name}`" in intro for name in COMMON)
    described: dict[str, list[str]] = {}
    for section in sections:
        head, _, body = section.partition("\n")
        columns = re.findall(r"^\| `(\w+)` \|", body, re.MULTILINE)
        assert len(columns) == len(set(columns))
        described |= dict.fromkeys(head.split(" and "), columns)
    assert set(described) == set(SCHEMAS)
    for table, schema in SCHEMAS.items():
        own = set(schema.names) - set(COMMON)
        assert own <= set(described[table]), table
    both = set(described["metrics_replicas"])
    assert both == {*SCHEMAS["metrics_replicas"].names, *SCHEMAS["metrics_services"].names} - set(COMMON)
    for table in set(SCHEMAS) - {"metrics_replicas", "metrics_services"}:
        assert set(described[table]) == set(SCHEMAS[table].names) - set(COMMON), table
