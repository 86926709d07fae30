"""The archive of a run."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from loadstone.analysis.run import open_run
from loadstone.model.errors import InputError
from loadstone.report import bundle, crate, page
from tests.synthetic import Synthetic

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = Synthetic(rates=[200, 2000]).write(tmp_path / "results")
    (folder / ".lock").write_text("")
    return folder


@pytest.mark.usefixtures("plain")
def test_a_zip_opens_as_the_run_that_it_was_made_from(run: Path, tmp_path: Path):
    target = bundle.export(run, tmp_path / "run.zip")
    with zipfile.ZipFile(target) as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path / "out")
    (root,) = (tmp_path / "out").iterdir()
    assert root.name == "synthetic-20260102-030405"
    packed = {path.relative_to(root) for path in root.rglob("*") if path.is_file()}
    metadata = Path("ro-crate-metadata.json")
    packed.remove(metadata)
    assert packed == {path.relative_to(run) for path in run.rglob("*") if path.is_file() and path.name != ".lock"}
    assert all((root / path).read_bytes() == (run / path).read_bytes() for path in packed)
    assert open_run(root).trials == open_run(run).trials
    readme = (root / "README.md").read_text()
    assert "held P99 ≤ 200 ms" in readme and "| `p99_ms` |" in readme
    for kind, ending in (("CSV", "csv"), ("LaTeX", "tex"), ("Markdown", "md")):
        assert kind in readme and list((root / "report/tables").glob(f"*.{ending}"))
    for named in ("report/index.html", "trials.parquet", "study.yaml", "plan.json", "provenance.json"):
        assert f"`{named}`" in readme and (root / named).exists()


@pytest.mark.usefixtures("plain")
def test_a_tarball_has_the_same_members(run: Path, tmp_path: Path):
    with (
        tarfile.open(bundle.export(run, tmp_path / "run.tar.gz")) as tar,
        zipfile.ZipFile(bundle.export(run, tmp_path / "run.zip")) as archive,
    ):
        assert sorted(tar.getnames()) == sorted(archive.namelist())
        assert {(member.mtime, member.uid, member.uname) for member in tar.getmembers()} == {(0, 0, "")}


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("name", ["run.zip", "run.tar.gz"])
def test_the_same_run_gives_the_same_bytes(run: Path, tmp_path: Path, name: str):
    first = bundle.export(run, tmp_path / name).read_bytes()
    assert bundle.export(run, tmp_path / name).read_bytes() == first


@pytest.mark.usefixtures("plain")
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


def unpacked(archive: Path, into: Path) -> Path:
    """The run in an archive, unpacked where no results are."""
    shutil.unpack_archive(archive, into, filter="data" if archive.suffix == ".gz" else None)
    (root,) = into.iterdir()
    return root


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("plain")
def test_the_report_of_an_unpacked_bundle_has_the_same_tables(run: Path, tmp_path: Path):
    """Bit for bit, wherever it is, and from both kinds of archives; the same run gives the same bytes."""
    archives = [bundle.export(run, tmp_path / name) for name in ("run.zip", "run.tar.gz")]
    roots = [unpacked(archive, tmp_path / archive.name.replace(".", "-")) for archive in archives]
    zipped, packed = (files(root) for root in roots)
    assert zipped == packed
    before = files(roots[0] / "report" / "tables")
    assert {"trials.csv", "rates.csv", "operations.csv", "steady.csv"} <= set(before)
    shutil.rmtree(roots[0] / "report")
    page.build(roots[0])
    assert files(roots[0] / "report" / "tables") == before
    assert open_run(roots[0]).warnings == open_run(run).warnings == ()


@pytest.mark.usefixtures("plain")
def test_what_was_changed_after_the_export_is_reported(run: Path, tmp_path: Path):
    root = unpacked(bundle.export(run, tmp_path / "run.zip"), tmp_path / "elsewhere")
    assert open_run(root).warnings == ()
    first, second = sorted((root / "trials").iterdir())
    usage = second / "usage.json"
    usage.write_bytes(usage.read_bytes().replace(b"cpu_s", b"cpu_s ", 1)[:-1])
    (first / "checks.json").unlink()
    (root / "README.md").write_text("mine")
    (root / "report" / "index.html").write_text("made anew")
    (message,) = [text for text in open_run(root).warnings if text.startswith("not as it was exported")]
    assert message == (
        f"not as it was exported: trials/{first.name}/checks.json is missing, "
        f"trials/{second.name}/usage.json was changed"
    )
    (root / "ro-crate-metadata.json").write_text("[]")
    assert any(text.startswith("ro-crate-metadata.json cannot be read") for text in open_run(root).warnings)


def graph(root: Path) -> dict[str, dict[str, Any]]:
    """The entities of a crate by their names, which are all different."""
    listed = json.loads((root / "ro-crate-metadata.json").read_text())["@graph"]
    entities = {item["@id"]: item for item in listed}
    assert len(entities) == len(listed)
    return entities


def mentioned(value: Any) -> Iterator[str]:
    """Every name that an entity refers to."""
    if isinstance(value, list):
        for item in value:
            yield from mentioned(item)
    elif isinstance(value, dict):
        assert set(value) == {"@id"}, "entities are flat"
        yield value["@id"]


@pytest.mark.usefixtures("plain")
def test_the_metadata_are_a_research_object_crate(run: Path, tmp_path: Path):
    """What the specification of RO-Crate 1.1 requires."""
    (run / "a name with ümlauts & spaces.txt").write_text("x")
    root = unpacked(
        bundle.export(run, tmp_path / "run.zip", "CC-BY-4.0", ["Ada Lovelace", "Alan Turing"]), tmp_path / "out"
    )
    entities = graph(root)
    descriptor, dataset = entities["ro-crate-metadata.json"], entities["./"]
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"} and descriptor["about"] == {"@id": "./"}
    assert dataset["@type"] == "Dataset" and dataset["datePublished"] == "2026-01-02"
    assert "held P99 ≤ 200 ms" in dataset["description"] and "**" not in dataset["description"]
    known = {"https://w3id.org/ro/crate/1.1"} | set(entities)
    for entity in entities.values():
        assert entity["@type"] and set(entity) > {"@id", "@type"}
        for key, value in entity.items():
            assert key in ("@id", "@type") or set(mentioned(value)) <= known
    inside = {unquote(item["@id"]) for item in dataset["hasPart"]}
    assert inside == set(files(root)) - {"ro-crate-metadata.json"}
    for name in inside:
        content, text = (root / name).read_bytes(), entities[quote(name)]
        assert text["@type"] == "File" and text["contentSize"] == str(len(content))
        assert text["sha256"] == hashlib.sha256(content).hexdigest()
    assert [entities[item["@id"]]["name"] for item in dataset["author"]] == ["Ada Lovelace", "Alan Turing"]
    assert dataset["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
    action = entities["#run"]
    assert action["name"] == "loadstone run studies/synthetic.yaml" and action["object"] == [{"@id": "study.yaml"}]
    assert entities["#postgres"]["version"] == "15.9" and "cores: 8" in entities["#host"]["description"]


@pytest.mark.usefixtures("plain")
def test_without_a_licence_the_bundle_says_so_and_a_study_may_have_one(run: Path, tmp_path: Path):
    root = unpacked(bundle.export(run, tmp_path / "run.zip"), tmp_path / "without")
    assert graph(root)["#no-licence"]["name"] == "No licence was stated"
    assert "Licence of this dataset: none was stated" in (root / "README.md").read_text()
    plan = json.loads((run / "plan.json").read_text())
    plan["study"] |= {"licence": "https://example.org/terms", "authors": ["Ada Lovelace"]}
    (run / "plan.json").write_text(json.dumps(plan))
    root = unpacked(bundle.export(run, tmp_path / "run.zip"), tmp_path / "with")
    assert graph(root)["./"]["license"] == {"@id": "https://example.org/terms"}
    readme = (root / "README.md").read_text()
    assert "This dataset: Ada Lovelace. *synthetic: a run of Loadstone*. 2026-01-02." in readme
    with pytest.raises(InputError, match="licence 'free for all' cannot be used; use an SPDX identifier"):
        bundle.export(run, tmp_path / "run.zip", "free for all")
    for given, what in ({"licence": ""}, "licence ''"), ({"authors": ["Ada", " "]}, "author ' '"):
        with pytest.raises(InputError, match=f"{what} cannot be used; use "):
            bundle.export(run, tmp_path / "run.zip", **given)


def test_the_software_is_cited_as_its_citation_file_says():
    citation = (ROOT / "CITATION.cff").read_text()
    assert f'title: "{crate.SOFTWARE}"' in citation and "The Loadstone authors" in citation
