"""The archive of a run."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest

from loadstone.analysis import results
from loadstone.model.errors import InputError
from loadstone.report import bundle
from tests.synthetic import Synthetic


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = Synthetic(rates=[200, 2000]).write(tmp_path / "results")
    (folder / ".lock").write_text("")
    return folder


def test_a_zip_opens_as_the_run_that_it_was_made_from(run: Path, tmp_path: Path):
    target = bundle.export(run, tmp_path / "run.zip")
    with zipfile.ZipFile(target) as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path / "out")
    (root,) = (tmp_path / "out").iterdir()
    assert root.name == "synthetic-20260102-030405"
    packed = {path.relative_to(root) for path in root.rglob("*") if path.is_file()}
    assert packed == {path.relative_to(run) for path in run.rglob("*") if path.is_file() and path.name != ".lock"}
    assert all((root / path).read_bytes() == (run / path).read_bytes() for path in packed)
    assert results.read(root).trials.equals(results.read(run).trials)
    readme = (root / "README.md").read_text()
    assert "held P99 ≤ 200 ms" in readme and "| `p99_ms` |" in readme
    for named in ("report/index.html", "trials.parquet", "study.yaml", "plan.json", "provenance.json"):
        assert f"`{named}`" in readme and (root / named).exists()


def test_a_tarball_has_the_same_members(run: Path, tmp_path: Path):
    with (
        tarfile.open(bundle.export(run, tmp_path / "run.tar.gz")) as tar,
        zipfile.ZipFile(bundle.export(run, tmp_path / "run.zip")) as archive,
    ):
        assert sorted(tar.getnames()) == sorted(archive.namelist())
        assert {(member.mtime, member.uid, member.uname) for member in tar.getmembers()} == {(0, 0, "")}


@pytest.mark.parametrize("name", ["run.zip", "run.tar.gz"])
def test_the_same_run_gives_the_same_bytes(run: Path, tmp_path: Path, name: str):
    first = bundle.export(run, tmp_path / name).read_bytes()
    assert bundle.export(run, tmp_path / name).read_bytes() == first


def test_an_archive_inside_the_run_does_not_hold_itself(run: Path):
    first = bundle.export(run, run / "run.zip").read_bytes()
    assert bundle.export(run, run / "run.zip").read_bytes() == first


def test_wrong_targets_are_refused_and_leave_nothing(run: Path, tmp_path: Path):
    with pytest.raises(InputError, match=r"named \.zip or \.tar\.gz"):
        bundle.export(run, tmp_path / "run.rar")
    with pytest.raises(InputError, match="there is no folder"):
        bundle.export(run, tmp_path / "missing" / "run.zip")
    with pytest.raises(InputError, match="holds no run"):
        bundle.export(run / "trials", tmp_path / "run.zip")
    assert not list(tmp_path.glob("*run*"))
