"""Damaged, partial and newer results: the report is built, says which file is wrong, and shows the rest."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from loadstone.analysis.run import open_run
from loadstone.model.errors import InputError
from loadstone.report import page
from tests import observed
from tests.report.reading import Page
from tests.synthetic import Synthetic

OF_TRIALS = (
    *("trial.json", "summary.json", "audit.json", "checks.json", "usage.json", "observed.json"),
    *("metrics.parquet", "spans.parquet"),
)
OF_RUN = ("plan.json", "provenance.json", "outcome.json")
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda content: content[: len(content) // 2],
    "garbage": lambda content: bytes(range(256)),
    "empty": lambda content: b"",
    "a number": lambda content: b"7",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight short trials with everything that trials can have."""
    synthetic = Synthetic(rates=[100, 200, 400, 650], duration_s=0.5, capacities={"baseline": 700.0, "vertical": 900.0})
    folder = synthetic.write(tmp_path_factory.mktemp("results"))
    observed.observe(folder, spans=5, capacity=800)
    (folder / "outcome.json").write_text('{"failures": []}')
    return folder


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(whole, tmp_path / "synthetic" / "20260102-030405"))


def page_text(folder: Path) -> str:
    """The words of the page."""
    page.build(folder)
    return " ".join(" ".join(Page((folder / "report" / "index.html").read_text(encoding="utf-8")).texts).split())


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("damage", DAMAGES)
def test_every_damaged_file_is_named_and_the_rest_is_shown(damage: str, run: Path):
    trials = sorted((run / "trials").iterdir())
    files = {name: folder / name for folder, name in zip(trials, OF_TRIALS, strict=True)}
    for file in (*files.values(), *(run / name for name in OF_RUN)):
        file.write_bytes(DAMAGES[damage](file.read_bytes()))
    expected = page_text(run)
    for name, file in files.items():
        trial = file.parent.name
        if name == "trial.json":
            assert f"left out, their trial.json is damaged: 1 trial: {trial}" in expected
        elif name.endswith(".json"):
            assert f"{trial} {name}" in expected, name
        else:
            assert name in expected
    for name in OF_RUN:
        assert name in expected, name
    pages = {path.stem for path in (run / "report" / "trials").iterdir()}
    assert pages == {folder.name for folder in trials} - {files["trial.json"].parent.name}


@pytest.mark.parametrize("name", [*OF_TRIALS, *OF_RUN, "study.yaml", "trials.parquet"])
def test_a_file_that_is_gone_is_no_error(name: str, run: Path):
    for file in [run / name, *run.glob(f"trials/*/{name}")]:
        file.unlink(missing_ok=True)
    read = open_run(run)
    assert len(read.trials) == 8  # from trials.parquet or from the trials' own files
    missing = {"trial.json": "no verdict yet", **{name: f"{name} is missing" for name in ("summary.json", *OF_RUN[:2])}}
    if name in missing:
        assert any(missing[name] in text for text in read.warnings)


def change(file: Path, edit: Callable[[Any], Any]) -> None:
    file.write_text(json.dumps(edit(json.loads(file.read_text()))))


def test_what_a_newer_version_wrote_is_reported(run: Path):
    item = sorted((run / "trials").iterdir())[0]
    change(item / "summary.json", lambda content: content | {"schema": 2})
    change(run / "plan.json", lambda content: content | {"study": content["study"] | {"version": 9}})
    change(run / "provenance.json", lambda content: content | {"loadstone": "99.0.0"})
    change(item / "trial.json", lambda content: content | {"row": content["row"] | {"column_of_tomorrow": [1]}})
    read = open_run(run)
    warnings = " ".join(read.warnings)
    assert f"{item.name} summary.json (schema 2 is not of this version" in warnings
    assert "plan.json: the study is of version 9" in warnings
    assert "made by Loadstone 99.0.0, newer than this" in warnings
    assert len(read.trials) == 8


def test_a_part_of_the_wrong_kind_is_left_out_and_the_rest_is_used(run: Path):
    change(run / "plan.json", lambda content: content | {"application": 3, "overrides": {"a": 1}})
    read = open_run(run)
    assert "plan.json: application is malformed and left out" in read.warnings
    assert "plan.json: overrides is malformed and left out" in read.warnings
    assert read.objective is not None and len(read.plan.treatments) == 2


def test_an_identity_that_cannot_name_a_file_gets_no_page(run: Path):
    item = sorted((run / "trials").iterdir())[0]
    change(item / "trial.json", lambda content: content | {"row": content["row"] | {"trial_id": "../../x"}})
    (run / "trials.parquet").unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page.figure_jobs.Job, "draw", lambda self: None)
        page.build(run)
    assert len(list((run / "report" / "trials").iterdir())) == 7
    assert not list(run.glob("**/x.html"))


def places(content: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every value of a JSON document is; of lists the first item."""
    yield at
    if isinstance(content, dict):
        for key, value in content.items():
            yield from places(value, (*at, key))
    elif isinstance(content, list) and content:
        yield from places(content[0], (*at, 0))


def put(content: Any, at: tuple[Any, ...], value: Any) -> Any:
    if not at:
        return value
    if isinstance(content, dict):
        return content | {at[0]: put(content[at[0]], at[1:], value)}
    return [put(content[0], at[1:], value), *content[1:]]


WRONG = st.sampled_from([None, True, -1, 10**30, 1e308, float("nan"), "", "<b>", [], [[]], {}, {"a": None}])


@pytest.fixture(scope="module")
def documents(whole: Path) -> list[tuple[Path, Any, list[tuple[Any, ...]]]]:
    """The JSON files of the run and of its highest trial, with their content and all places in it."""
    trial = max(
        (whole / "trials").iterdir(), key=lambda item: json.loads((item / "trial.json").read_text())["row"]["rate"]
    )
    files = [whole / name for name in OF_RUN] + [trial / name for name in OF_TRIALS if name.endswith(".json")]
    return [(file, content := json.loads(file.read_text()), list(places(content))) for file in files]


@settings(
    max_examples=12,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
@given(st.data())
def test_whatever_stands_in_a_file_the_report_is_built(
    whole: Path, documents: list[tuple[Path, Any, list[tuple[Any, ...]]]], data: st.DataObject
):
    indices = st.sets(st.integers(0, len(documents) - 1), min_size=1, max_size=4)
    changed = [documents[index] for index in sorted(data.draw(indices))]
    before = {file: file.read_bytes() for file, _, _ in changed}
    try:
        for file, content, somewhere in changed:
            for place in data.draw(st.lists(st.integers(0, len(somewhere) - 1), min_size=1, max_size=3)):
                try:
                    content = put(content, somewhere[place], data.draw(WRONG))
                except (KeyError, IndexError, TypeError):  # an earlier change took that place away
                    continue
            file.write_text(json.dumps(content))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(page.figure_jobs.Job, "draw", lambda self: None)
            page.build(whole)
    finally:
        for file, text in before.items():
            file.write_bytes(text)


@pytest.mark.usefixtures("plain")
def test_nothing_behind_a_link_is_read_or_removed(run: Path, tmp_path: Path):
    outside = tmp_path / "outside"
    (outside / "tables").mkdir(parents=True)
    (outside / "tables" / "kept.csv").write_text("1")
    shutil.rmtree(run / "report", ignore_errors=True)
    (run / "report").symlink_to(outside)
    with pytest.raises(InputError, match=r"report is a link to .*outside"):
        page.build(run)
    (run / "report").unlink()
    (next((run / "trials").iterdir()) / "more.json").symlink_to("/etc/passwd")
    with pytest.raises(InputError, match=r"more\.json is a link to /etc/passwd"):
        page.build(run)
    assert (outside / "tables" / "kept.csv").read_text() == "1"


@pytest.mark.usefixtures("plain")
def test_a_report_that_fails_leaves_the_earlier_one(run: Path, monkeypatch: pytest.MonkeyPatch):
    before = page.build(run).read_text(encoding="utf-8")

    def full(*_: object) -> str:
        raise OSError("No space left on device")

    monkeypatch.setattr(page, "_render", full)
    with pytest.raises(OSError, match="No space left"):
        page.build(run)
    assert (run / "report" / "index.html").read_text(encoding="utf-8") == before
    assert [path.name for path in run.iterdir() if path.name.startswith(".")] == []
    assert not list((run / "report").glob(".*"))
