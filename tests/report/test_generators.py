"""What each generating host did, and what it left unsent, in the report."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from loadstone.analysis.generators import MEASURES, HostRow, medians
from loadstone.report import generators
from loadstone.report.content import gather
from loadstone.report.page import build
from tests.synthetic import Synthetic

HOST = {
    "number": 0, "name": "client-1", "sent": 900, "completed": 890, "own_lateness_p99_ms": 0.25, "connects": 32,
    "cpu_s": 1.5, "cpu_share": 0.2, "clock_offset_us": -40.0, "clock_error_us": 8.0,
    "reference_before_ms": 4.0, "reference_after_ms": 4.5,
}  # fmt: skip
OLD = {"number": 1, "address": "10.0.0.2:7400", "sent": 700, "cpu_share": 0.1} | {
    "clock_offset_us": None, "clock_error_us": None,
}  # fmt: skip


def test_each_host_has_a_row_also_of_an_earlier_release(tmp_path: Path) -> None:
    folder = Synthetic(rates=[100.0], repetitions=2, duration_s=2.0).write(tmp_path)
    for number, file in enumerate(sorted(folder.glob("trials/*/summary.json"))):
        summary = json.loads(file.read_text())
        summary["generator"]["workers"] = [HOST | {"sent": 900 + 100 * number}, OLD]
        file.write_text(json.dumps(summary))
        trial = json.loads(file.with_name("trial.json").read_text())
        trial["row"] |= {"unsent": 7, "abandoned": 5 * number}
        file.with_name("trial.json").write_text(json.dumps(trial))
    found = generators.gather(gather(folder))
    assert found is not None
    hosts = {row.host: row.median for row in found.shown["hosts"]}
    assert hosts["client-1"]["sent"] == 950 and hosts["client-1"]["connects"] == 32
    assert "completed" not in hosts["10.0.0.2:7400"]
    page = build(folder).read_text()
    assert "Generating hosts" in page and "client-1" in page
    with (folder / "report" / "tables" / "generators.csv").open() as file:
        assert [row["host"] for row in csv.DictReader(file)] == ["client-1", "10.0.0.2:7400"] * 2
    trials = [item.read_text() for item in (folder / "report" / "trials").glob("*.html")]
    assert sorted("(5 abandoned" in text for text in trials) == [False, True]


def test_one_process_alone_has_no_section(tmp_path: Path) -> None:
    assert generators.gather(gather(Synthetic(rates=[100.0], duration_s=2.0).write(tmp_path))) is None


def test_a_median_is_of_what_all_trials_of_a_host_know() -> None:
    about: dict[str, Any] = {"trial_id": "t", "treatment": "a", "verdict": "held", "host": "client-1"}
    about |= dict.fromkeys(MEASURES)
    rows = [HostRow(**about | {"sent": 900, "connects": 32}), HostRow(**about | {"sent": 1000})]
    (host,) = medians(rows)
    assert host.median == {"sent": 950}
