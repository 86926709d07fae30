"""``loadstone traces``: which trial it takes, what it prints and writes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import RunCommand
from tests.made_traces import MS, START_NS, Application, span, write
from tests.synthetic import Synthetic

CALL = "frontend GET /hotels > search Nearby > geo Nearby > documents-geo find points"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five trials; those of 200 and 500 req/s hold. Spans of all but the first, with more of them at higher loads."""
    folder = Synthetic(rates=[100, 200, 500, 2000, 3000]).write(tmp_path_factory.mktemp("results"))
    for place in (folder / "trials").iterdir():
        rate = trial_of(place)["rate"]
        if rate > 100:
            rows = Application(delay_ms={"geo": rate / 100}).rows(int(rate / 10))
            write(place / "spans.parquet", rows)
    return folder


def trial_of(place: Path) -> dict[str, Any]:
    return dict(json.loads((place / "trial.json").read_text())["row"])


def place_of(run: Path, rate: float) -> Path:
    return next(place for place in (run / "trials").iterdir() if trial_of(place)["rate"] == rate)


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> RunCommand:
    return RunCommand(capsys, ["traces"])


def test_the_highest_load_that_held_is_shown(say: RunCommand, run: Path) -> None:
    code, text, complaint = say(run)
    assert (code, complaint) == (0, "")
    assert re.search(r"500 req/s, held: 50 traces, 950 spans \(trial [0-9a-f]+\)", text)
    services, paths = text.split("Slowest call paths")
    assert re.search(r"^ service .*\n.*\n geo +\S+ % +5\.\S+ ms +– +0\.\S+ ms +50 $", services, re.MULTILINE)
    assert re.search(r"^ frontend +\S+ % +\S+ ms +\S+ ms +– +200 $", services, re.MULTILINE)
    assert re.search(r"^ frontend GET /hotels > search Nearby +\S+ % +\S+ ms +50 $", paths, re.MULTILINE)


def test_a_trial_can_be_named_by_how_its_id_begins(say: RunCommand, run: Path) -> None:
    place = place_of(run, 3000)
    code, text, _ = say(run, "--trial", place.name[:10])
    assert code == 0 and "3,000 req/s, not held: 300 traces" in text and place.name in text
    code, _, complaint = say(run, "--trial", place_of(run, 100).name)
    assert code == 2 and "no trial" in complaint and place.name in complaint
    code, _, complaint = say(run, "--trial", "")
    assert code == 2 and "4 trials with spans begin with ''" in complaint


def test_where_nothing_held_the_last_trial_is_shown(say: RunCommand, tmp_path: Path) -> None:
    folder = Synthetic(rates=[5000, 6000]).write(tmp_path)
    for place in (folder / "trials").iterdir():
        write(place / "spans.parquet", Application().rows(3))
    assert "6,000 req/s, not held: 3 traces" in say(folder)[1]


def test_all_tables_as_json(say: RunCommand, run: Path) -> None:
    data = json.loads(say(run, "--json")[1])
    assert data["trial"] == place_of(run, 500).name
    assert (data["health"]["traces"], data["health"]["orphans"]) == (50, 0)
    assert data["services"][0]["service"] == "geo"
    assert sum(row["critical_share"] for row in data["services"]) == pytest.approx(1)
    assert {len(data[name]) > 0 for name in ("operations", "paths", "clocks", "heat")} == {True}


def test_only_the_measured_window_counts(say: RunCommand, run: Path) -> None:
    place = place_of(run, 200)
    window = {"from_ns": START_NS + 50 * MS, "to_ns": START_NS + 150 * MS}
    counts = dict.fromkeys(("received", "written", "refused", "unreadable", "unread", "traces", "roots", "produced"), 0)
    observed = {
        "window": window,
        "nodes": {},
        "replicas": {},
        "traces": counts | {"dropped": 7, "unread": 2},
        "problems": [],
    }
    (place / "observed.json").write_text(json.dumps(observed))
    code, text, complaint = say(run, "--trial", place.name)
    assert code == 0 and "200 req/s, held: 10 traces, 190 spans" in text
    assert complaint.splitlines() == [
        "warning: spans that services dropped; they are missing: 7",
        "warning: requests with spans that the receiver could not read: 2",
    ]


def test_what_is_odd_is_reported(say: RunCommand, tmp_path: Path) -> None:
    rows = [span(1, 0, 0, 10), span(2, 9, 2, 4), span(3, 1, 3, None), span(3, 1, 4, 5)]
    code, text, complaint = say(write(tmp_path / "spans.parquet", rows))
    assert code == 0 and text.startswith("1 trace, 3 spans\n")
    assert complaint.splitlines() == [
        "warning: spans without their parent; attached to the root: 1",
        "warning: duplicate spans; the first is kept: 1",
        "warning: spans without an end; assumed to end with their parent: 1",
    ]


def test_errors_in_a_file_of_jaeger_are_reported(say: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text('{"data": [], "errors": [{"code": 500, "msg": "storage is slow"}]}')
    code, text, complaint = say(tmp_path / "one.json")
    assert code == 0 and text == "0 traces, 0 spans\n"
    assert complaint.splitlines()[0] == "warning: the file has an error of Jaeger: storage is slow"
    assert json.loads(say(tmp_path / "one.json", "--json")[1])["errors"] == ["storage is slow"]


def test_clocks_that_were_off_are_reported(say: RunCommand, tmp_path: Path) -> None:
    file = write(tmp_path / "spans.parquet", Application(clock_ms={"geo": 50.0}).rows(20))
    assert re.fullmatch(r"warning: the clock of host-geo was \+(49|50)\S* ms off; times are corrected\n", say(file)[2])


def test_files_for_other_tools_are_written(say: RunCommand, run: Path, tmp_path: Path) -> None:
    jaeger, folded = tmp_path / "slowest.json", tmp_path / "path.folded"
    code, text, _ = say(run, "--jaeger", jaeger, "--folded", folded)
    assert code == 0 and f"written: {jaeger}\nwritten: {folded}\n" in text
    assert len(json.loads(jaeger.read_text())["data"]) == 20
    assert re.search(rf"^{CALL.replace(' > ', ';')} [0-9]+$", folded.read_text(), re.MULTILINE)
    code, _, complaint = say(run, "--folded", tmp_path / "no" / "such" / "folder")
    assert code == 2 and "cannot write" in complaint and "No such file or directory" in complaint


def test_what_has_no_spans_says_what_to_do(say: RunCommand, tmp_path: Path) -> None:
    folder = Synthetic(rates=[100]).write(tmp_path)
    code, _, complaint = say(folder)
    assert code == 2 and "has no spans" in complaint and "traces: {sample: 100%}" in complaint
    (next((folder / "trials").iterdir()) / "spans.parquet").write_text("damaged")
    code, _, complaint = say(folder)
    assert code == 2 and "cannot be read as spans" in complaint and "Traceback" not in complaint
    empty = write(tmp_path / "spans.parquet", [])
    code, text, complaint = say(empty)
    assert code == 0 and text == "0 traces, 0 spans\n" and complaint == f"warning: {empty} has no traces\n"
    assert say(empty, "--trial", "x")[0] == 2
