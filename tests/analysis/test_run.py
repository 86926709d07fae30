"""Opening run folders, whole and damaged."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from loadstone.analysis import summary
from loadstone.analysis.run import find_run, open_run
from loadstone.analysis.schema import schema
from loadstone.model.errors import InputError
from tests.synthetic import Synthetic


@pytest.fixture
def run(rated: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(rated, tmp_path / "rated" / rated.name))


def trial_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("trials/*/trial.json"))


def test_a_whole_run_has_no_warning(rated: Path):
    run = open_run(rated)
    assert run.warnings == ()
    assert run.name == "rated"
    assert run.table.schema.equals(schema([]))
    assert [row.order for row in run.trials] == list(range(1, 10))
    assert run.objective is not None and run.objective.limits == {99.0: 200.0}
    assert not run.searches
    assert run.provenance.loadstone == "0.1.0"


def test_without_the_parquet_file_the_trials_say_the_same(run: Path):
    expected = open_run(run).trials
    (run / "trials.parquet").unlink()
    again = open_run(run)
    assert again.trials == expected
    assert again.warnings == ()


def test_an_older_parquet_file_is_not_believed(run: Path):
    file = trial_files(run)[0]
    content = json.loads(file.read_text())
    content["row"]["p99_ms"] = 12345.0
    file.write_text(json.dumps(content))
    newer = (run / "trials.parquet").stat().st_mtime + 10
    os.utime(file, (newer, newer))
    read = open_run(run)
    assert 12345.0 in [row.p99_ms for row in read.trials]
    assert any("older than some trial" in text for text in read.warnings)


def test_a_parquet_file_that_lacks_trials_is_not_believed(run: Path):
    table = pq.read_table(run / "trials.parquet")
    pq.write_table(table.slice(0, 4), run / "trials.parquet")
    read = open_run(run)
    assert len(read.trials) == 9
    assert any("does not have the trials of the folder" in text for text in read.warnings)


@pytest.mark.parametrize("damage", ["not parquet", "", "missing column"])
def test_a_damaged_parquet_file_is_a_warning(run: Path, damage: str):
    file = run / "trials.parquet"
    if damage == "missing column":
        pq.write_table(pq.read_table(file).drop_columns(["p99_ms"]), file)
    else:
        file.write_text(damage)
    read = open_run(run)
    assert len(read.trials) == 9
    (warning,) = read.warnings
    assert warning.startswith("trials.parquet ") and "own files were read" in warning


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rate", "fast"),
        ("rate", -1),
        ("verdict", "maybe"),
        ("trial_id", None),
        ("offered", 1.5),
        ("offered", True),
        ("reasons", 3),
        ("rate", 10**30),
    ],
)
def test_a_damaged_trial_is_named_and_left_out(run: Path, field: str, value: object):
    (run / "trials.parquet").unlink()
    file = trial_files(run)[2]
    content = json.loads(file.read_text())
    content["row"][field] = value
    file.write_text(json.dumps(content))
    read = open_run(run)
    assert len(read.trials) == 8
    (warning,) = read.warnings
    assert file.parent.name in warning and field in warning


@pytest.mark.parametrize("text", ["", "{", "[]", '{"row": 1}', '{"trial": {}}', "\x00\xff"])
def test_a_trial_file_that_is_not_one_is_a_warning(run: Path, text: str):
    (run / "trials.parquet").unlink()
    trial_files(run)[0].write_bytes(text.encode("latin-1"))
    read = open_run(run)
    assert len(read.trials) == 8
    assert len(read.warnings) == 1


@pytest.mark.parametrize(
    "text", ["", "{}", '{"spectrum": 1, "operations": []}', '{"spectrum": [], "operations": [{}]}']
)
def test_a_damaged_summary_is_a_warning_and_reads_as_none(run: Path, text: str):
    folder = trial_files(run)[0].parent
    (folder / "summary.json").write_text(text)
    read = open_run(run)
    assert len(read.trials) == 9
    assert read.summary(folder.name) is None
    (warning,) = read.warnings
    assert f"{folder.name} summary.json" in warning


def test_a_measured_trial_without_its_summary_is_a_warning(run: Path):
    folder = trial_files(run)[0].parent
    (folder / "summary.json").unlink()
    (warning,) = open_run(run).warnings
    assert f"{folder.name} summary.json is missing" in warning


def test_an_interrupted_trial_is_a_warning(run: Path):
    (run / "trials" / "half").mkdir()
    (warning,) = open_run(run).warnings
    assert "half" in warning and "no verdict" in warning


def test_only_the_table_is_enough(run: Path):
    shutil.rmtree(run / "trials")
    read = open_run(run)
    assert len(read.trials) == 9
    assert any("no folder trials" in text for text in read.warnings)


def test_only_the_trials_are_enough(run: Path):
    for name in ("trials.parquet", "plan.json", "study.yaml", "provenance.json"):
        (run / name).unlink()
    read = open_run(run)
    assert len(read.trials) == 9
    assert read.name == "rated"  # from the folder
    assert read.objective is None
    assert {"plan.json is missing", "study.yaml is missing", "provenance.json is missing"} <= set(read.warnings)


@pytest.mark.parametrize("text", ["{", "[" * 100_000])
def test_a_damaged_plan_falls_back_to_the_study_file(run: Path, text: str):
    (run / "plan.json").write_text(text)
    read = open_run(run)
    assert read.study.name == "rated"
    assert read.objective is not None
    assert any(text.startswith("plan.json cannot be read") for text in read.warnings)


def test_a_bundle_whose_digests_are_nested_beyond_reading_is_a_warning(run: Path):
    (run / "ro-crate-metadata.json").write_text("[" * 100_000)
    (warning,) = open_run(run).warnings
    assert warning.startswith("ro-crate-metadata.json cannot be read, so changes since the export cannot be found")


def test_a_study_names_its_newest_run(run: Path):
    newer = run.with_name("20260102-030406")
    shutil.copytree(run, newer)
    assert find_run(run.parent) == newer
    assert find_run(run) == run


def test_where_there_is_no_run_the_error_says_what_to_give(tmp_path: Path):
    with pytest.raises(InputError, match="no such folder"):
        find_run(tmp_path / "missing")
    with pytest.raises(InputError, match="holds no run"):
        find_run(tmp_path)
    Synthetic(name="a", stop_after=0).write(tmp_path)
    Synthetic(name="b", stop_after=0).write(tmp_path)
    with pytest.raises(InputError, match="a, b"):
        find_run(tmp_path)


def test_the_schema_carries_units_and_meanings():
    field = schema(["scaling"]).field("p99_ms")
    assert field.metadata[b"unit"] == b"ms" and field.nullable
    assert schema(["scaling"]).field("factor_scaling").type == pa.string()


NUMBERS = {"window_s": 5.0, "offered": 264, "completed": 20, "in_flight": 240, "throughput": 28.0, "p99_ms": 2000.0}
"""What 0.1.0 wrote of a trial that was stopped after 0.7 s: throughput divided by the planned window, and the rest."""


@pytest.mark.parametrize("written", ["trials.parquet", "trial.json"])
def test_an_earlier_release_wrote_numbers_of_trials_that_were_stopped_which_are_not_read(
    searched: Path, tmp_path: Path, written: str
):
    folder = Path(shutil.copytree(searched, tmp_path / "run"))
    for file in trial_files(folder):
        content = json.loads(file.read_text())
        if content["row"]["aborted_at_s"] is not None:
            content["row"] |= NUMBERS
            file.write_text(json.dumps(content))
    table = pq.read_table(folder / "trials.parquet")
    rows = [row | NUMBERS if row["aborted_at_s"] is not None else row for row in table.to_pylist()]
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), folder / "trials.parquet")
    if written == "trial.json":
        (folder / "trials.parquet").unlink()
    read = open_run(folder)
    assert read.warnings == () and read.trials == open_run(searched).trials
    stopped = [row for row in read.trials if row.stopped]
    assert stopped and all({getattr(row, name) for name in NUMBERS} == {None} for row in stopped)
    points = summary.treatments(read)
    assert [point.searched for point in points] == [
        treatment.searched for treatment in summary.treatments(open_run(searched))
    ]


def test_columns_that_an_earlier_release_did_not_know_are_no_damage(run: Path):
    for file in trial_files(run):
        content = json.loads(file.read_text())
        content["row"].pop("aborted_at_s")
        file.write_text(json.dumps(content))
    table = pq.read_table(run / "trials.parquet")
    pq.write_table(table.drop_columns(["aborted_at_s"]), run / "trials.parquet")
    read = open_run(run)
    assert read.warnings == () and [row.aborted_at_s for row in read.trials] == [None] * 9


def test_a_study_without_its_plan_is_read_as_loadstone_reads_it(run: Path) -> None:
    """``on`` is a word in YAML 1.2 and a boolean in 1.1."""
    (run / "plan.json").unlink()
    (run / "study.yaml").write_text("name: on\nload: {seed: 0100}\n")
    read = open_run(run)
    assert (read.name, read.study.load.seed) == ("on", 100)
    assert [text for text in read.warnings if "study.yaml" in text] == []
