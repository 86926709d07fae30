"""What a trial's row says where a driver does not tell everything."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from loadstone.analysis.schema import schema
from loadstone.experiments.row import make_row
from loadstone.experiments.schedule import fixed_trials
from loadstone.experiments.trial_runner import Measured
from loadstone.experiments.verdict import Verdict
from loadstone.model.cluster import Node
from loadstone.model.columns import columns
from loadstone.model.guest import Guest
from loadstone.model.records.observed import Observed
from loadstone.model.records.summary import Generator, TrialSummary
from loadstone.workloads.external import summarize
from tests.experiments.fakes import CLOSED, STUDY, summary, write_study
from tests.support.plans import read_plan
from tests.workloads.offers import CLOSED as CLOSED_OUTPUT
from tests.workloads.offers import closed, offer


def row(
    folder: Path, study: str, summarized: Any, observed: dict[str, Any] | None = None, nodes: Sequence[Node] = ()
) -> dict[str, Any]:
    """The row of a study's first trial, as the table keeps it."""
    plan = read_plan(write_study(folder, study))[1]
    around = {"nodes": {}, "replicas": {}}
    measured = Measured(
        Verdict("measured"),
        TrialSummary.model_validate(summarized),
        Observed.model_validate(around | observed) if observed is not None else None,
    )
    made = make_row(next(fixed_trials(plan)), 1, datetime.now(UTC), measured, [], nodes, keeps_documents=True)
    rows: list[dict[str, Any]] = pa.Table.from_pylist([made.columns()], schema=schema(["scaling"])).to_pylist()
    return rows[0]


def test_the_latency_of_clients_is_that_from_the_actual_send(tmp_path: Path) -> None:
    summarized = summarize("wrk", closed(), CLOSED_OUTPUT, Generator())
    made = row(tmp_path, CLOSED, summarized)
    assert (made["p50_ms"], made["p99_ms"], made["service_p99_ms"], made["p95_ms"]) == (1.0, 9.0, 9.0, None)
    assert (made["loop"], made["phase"], made["rate"], made["completed"]) == ("closed", "closed", 0.0, 8000)
    assert [made[name] for name in ("offered", "sent", "unsent", "violations", "lateness_p99_ms", "steady")] == [
        None
    ] * 6


def test_at_a_rate_it_stays_empty_where_it_is_not_reported(tmp_path: Path) -> None:
    summarized = summarize("hey", offer(), CLOSED_OUTPUT, Generator())
    made = row(tmp_path, STUDY, summarized)
    assert (made["p99_ms"], made["service_p99_ms"], made["loop"]) == (None, 9.0, "closed")


def test_a_trial_that_was_stopped_has_no_number_of_its_window(tmp_path: Path) -> None:
    summarized = summary(400.0, 30.0, held=False) | {
        "aborted": {"at_s": 0.7, "reason": "violations 4 of 378 exceed 1 %"}
    }
    made = row(tmp_path, STUDY, summarized)
    assert made["aborted_at_s"] == 0.7 and made["rate"] and made["loop"] == "open"
    windowed = [column.name for column in columns() if column.windowed]
    assert {"p99_ms", "max_ms", "throughput", "completed", "in_flight", "violations", "window_s"} < set(windowed)
    assert {name: made[name] for name in windowed} == dict.fromkeys(windowed)
    whole = row(tmp_path, STUDY, summary(400.0, 30.0, held=False))
    assert None not in (whole["p99_ms"], whole["throughput"], whole["completed"])


def test_the_rate_of_a_trace_at_its_own_pace_is_what_it_came_to(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("0\n1\n")
    study = STUDY.replace("rates: [100, 200, 300],", "arrival: {process: replay, file: trace.csv, speed: 1},")
    summarized = summary(40.0, 1.0, held=True) | {"offered_rate": 41.5}
    assert row(tmp_path, study, summarized)["rate"] == 41.5


def test_spans_that_were_made_and_never_came_are_counted(tmp_path: Path) -> None:
    summarized = summary(40.0, 1.0, held=True)
    traces = {"received": 38, "written": 38, "produced": 40, "roots": 8}
    made = row(tmp_path, STUDY, summarized, {"traces": traces})
    assert (made["traces"], made["spans"], made["spans_lost"]) == (8, 38, 2)
    others = row(tmp_path, STUDY, summarized, {"traces": traces | {"produced": None}})  # not of our services
    assert (others["spans"], others["spans_lost"]) == (38, None)
    damaged = row(tmp_path, STUDY, summarized, {"traces": traces | {"written": None}})
    assert (damaged["spans"], damaged["spans_lost"]) == (None, None)
    assert row(tmp_path, STUDY, summarized, {"traces": {"sample": 1.0}})["spans"] is None  # the receiver failed
    assert row(tmp_path, STUDY, summarized, {"traces": None})["spans"] is None


def test_virtual_machines_of_the_study_are_named_with_what_they_run_on(tmp_path: Path) -> None:
    bare = Node(name="client-1", role="client", address="10.0.0.1", cpus=(0,), memory=2**30)
    guest = Guest(monitor="/nowhere", accelerator="tcg", nested=True, cpus=1, memory=2**30, host_cpus=(1,))
    made = row(tmp_path, STUDY, summary(40.0, 1.0, held=True), nodes=[bare, bare.model_copy(update={"guest": guest})])
    assert (made["accelerator"], made["nested"]) == ("tcg", True)
    made = row(tmp_path, STUDY, summary(40.0, 1.0, held=True), nodes=[bare])
    assert (made["accelerator"], made["nested"], made["steal_share"]) == (None, None, None)
