"""``loadstone history``: runs of a study collected into a store, their course, and what changed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from loadstone.analysis.history import store
from loadstone.experiments.commit import commit_of
from tests.cli.conftest import RunCommand
from tests.synthetic import Synthetic

CAPACITIES = [700.0, 700.0, 700.0, 700.0, 560.0, 560.0, 560.0, 560.0]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that was run eight times, and lost a fifth of its capacity after four."""
    results = tmp_path_factory.mktemp("history") / "results"
    for number, capacity in enumerate(CAPACITIES):
        of_one = results.parent / str(number)
        folder = Synthetic(capacities={"baseline": capacity}, name="shop", seed=number).write(of_one)
        facts = json.loads((folder / "provenance.json").read_text())
        facts |= {"commit": f"{number:040x}", "time": f"2026-01-0{number + 1}T03:04:05+00:00"}
        (folder / "provenance.json").write_text(json.dumps(facts))
        _started(folder, f"2026-01-0{number + 1}")
        shutil.copytree(folder, results / "shop" / f"2026010{number + 1}-030405")
    return results


def _started(folder: Path, day: str) -> None:
    for file in (folder / "trials").glob("*/trial.json"):
        trial = json.loads(file.read_text())
        trial["row"]["started"] = f"{day}T03:04:05.000+00:00"
        file.write_text(json.dumps(trial))
    (folder / "trials.parquet").unlink(missing_ok=True)


@pytest.fixture
def results(measured: Path, tmp_path: Path) -> Path:
    shutil.copytree(measured, tmp_path / "results")
    return tmp_path / "results"


def test_a_loss_is_found_with_its_run_and_commit(say: RunCommand, results: Path) -> None:
    code, text, complaint = say("history", "shop")
    assert code == 0, complaint
    (line,) = [line for line in text.splitlines() if line.startswith("Capacity of ") and "worse" in line]
    assert "from run 20260105-030405 (commit 000000000000) on (probability" in line
    assert "P99 ≤ 200 ms" in line
    rows = [line for line in text.splitlines() if line.startswith(" 20260105-030405   000000000000 ")]
    assert len(rows) == 2 and all("change -" in row for row in rows), "each run in one line, also at 80 columns"
    page = (results / "history.html").read_text()
    assert "worse, from run 20260105-030405" in page and page.count("<svg") == 2 and "<script src" not in page
    table = pq.read_table(results / "history.parquet").to_pylist()
    assert len(table) == 2 * len(CAPACITIES) and {row["study"] for row in table} == {"shop"}


def test_of_several_studies_each_series_has_its_name(say: RunCommand, results: Path) -> None:
    folder = Synthetic(capacities={"baseline": 500.0}, name="cart").write(results.parent / "other")
    shutil.copytree(folder, results / "cart" / "20260201-030405")
    text = say("history")[1]
    assert "cart: Capacity of " in text and "shop: Capacity of " in text
    page = (results / "history.html").read_text()
    assert "<h2>cart: Capacity of " in page and "<h2>shop: Breaking point of " in page


def test_a_store_is_added_to_by_copying(say: RunCommand, results: Path, tmp_path: Path) -> None:
    assert say("history", "shop", "--store", "theirs")[0] == 0
    shutil.rmtree(results / "shop")
    code, text, complaint = say("history", "--store", "theirs", "--json")
    assert code == 0, complaint
    series: list[dict[str, Any]] = json.loads(text)["series"]
    assert [(each["quantity"], len(each["rows"])) for each in series] == [("capacity", 8), ("breaking point", 8)]
    assert [change["at"] for change in series[0]["changes"]] == [4]
    file = sorted((tmp_path / "theirs").glob("*.parquet"))[0]
    file.write_bytes(b"PAR1")
    assert f"warning: {Path('theirs') / file.name}: cannot be read" in say("history", "--store", "theirs")[2]


def test_what_is_collected_is_not_read_again(say: RunCommand, results: Path) -> None:
    assert say("history")[0] == 0
    store = results / "history.parquet"
    before = {file: file.stat().st_ctime_ns for file in store.iterdir()}
    assert say("history")[0] == 0
    assert {file: file.stat().st_ctime_ns for file in store.iterdir()} == before


def test_runs_of_parts_are_found_by_the_name_of_their_study_and_by_their_own(say: RunCommand, tmp_path: Path) -> None:
    for run in ("20260102-030405", "20260103-030405"):
        folder = tmp_path / "results" / "paper" / run
        for part in ("one", "two"):
            made = Synthetic(name=f"paper-{part}", rates=[100.0]).write(tmp_path / "made" / run)
            shutil.copytree(made, folder / part)
        (folder / "parts.json").write_text(json.dumps({"parts": ["one", "two"]}))
    store.add(folder / "one", store.beside(folder / "one"))
    files = list((tmp_path / "results" / "history.parquet").iterdir())
    assert [file.name[:25] for file in files] == ["paper-one-20260103-030405"]
    before = files[0].stat().st_ino
    for name, studies in (("paper", {"paper-one", "paper-two"}), ("paper-two", {"paper-two"})):
        code, text, complaint = say("history", name, "--json")
        assert code == 0, complaint
        found = json.loads(text)["series"]
        assert {series["study"] for series in found} == studies
        assert {tuple(row["run"] for row in series["rows"]) for series in found} == {
            ("20260102-030405", "20260103-030405")
        }
    assert files[0].stat().st_ino == before, "it was there"


def test_a_load_of_clients_is_named_so(say: RunCommand, tmp_path: Path) -> None:
    folder = Synthetic(name="shop", rates=[16.0]).write(tmp_path / "results")
    for file in (folder / "trials").glob("*/trial.json"):
        trial = json.loads(file.read_text())
        trial["row"] |= {"clients": 16, "rate": 0.0}
        file.write_text(json.dumps(trial))
    (folder / "trials.parquet").unlink()
    text = say("history", "shop")[1]
    assert "P99 of hotel-reservation at 16 clients" in text and "req/s" not in text


def test_another_machine_is_marked(say: RunCommand, results: Path) -> None:
    for number in range(5, 9):
        file = results / "shop" / f"2026010{number}-030405" / "provenance.json"
        facts = json.loads(file.read_text())
        facts["host"]["cpu"] = "Another"
        file.write_text(json.dumps(facts))
    text = say("history", "shop")[1]
    assert "the machine is another one too, so the build may not be the cause" in text
    assert "another machine: cpu Another" in text


def test_a_study_without_results_is_named(say: RunCommand, results: Path) -> None:
    code, _, complaint = say("history", "shpo")
    assert code == 2 and "no result of 'shpo'" in complaint
    assert say("history", "--results", "nowhere")[0] == 2
    for path in ("/shop", "sh*p"):
        code, _, complaint = say("history", path)
        assert code == 2 and f"no result of '{path}'" in complaint


def test_the_commit_is_that_of_the_studys_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT", "BUILD_SOURCEVERSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit_of(tmp_path) is None
    monkeypatch.setenv("CI_COMMIT_SHA", "abc")
    assert commit_of(tmp_path) == "abc"
