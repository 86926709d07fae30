"""A run as one file to give away: everything that it used and produced, with a README that says what is what."""

from __future__ import annotations

import gzip
import shutil
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from loadstone.analysis import results
from loadstone.model.columns import markdown
from loadstone.model.errors import InputError
from loadstone.report import content as contents
from loadstone.report import facts, page, words

_README = """\
# {name}: a run of Loadstone

{answer}

| here | what it is |
|---|---|
| `report/index.html` | the report: open it in a browser; it needs no network |
| `report/figures/` | its figures as SVG and PDF |
| `report/tables/` | the data of every figure and table as CSV, the breaking points also as LaTeX |
| `trials.parquet` | one row per trial: what figures and tables are made from; its columns are below |
| `trials/<trial>/` | all that one trial left: summary, latency histograms, audit, checks, use of CPU and memory, logs |
| `study.yaml` | the study as it was given |
| `plan.json` | the study, application and treatments as they were resolved |
| `provenance.json` | versions, host, nodes, the command |
| `deployments/` | the files that each treatment was deployed from, and its logs |

To repeat it, in this folder: `{again}`. To make the report anew: `loadstone report .`

## Columns of trials.parquet

{columns}"""


def export(run_folder: Path, target: Path) -> Path:
    """Pack the run and a fresh report into ``target`` (``.zip`` or ``.tar.gz``) and return it.

    A README that says what is what is written into the run first. The same run gives the same bytes: names are
    sorted, dates and owners are left out. Hidden files and links stay behind. Raises InputError for another kind of
    archive, a folder that is not there, or where there is no run.
    """
    pack = {".zip": _zip, ".tar.gz": _tar}.get(_suffix(target))
    if pack is None:
        raise InputError(f"{target}: an archive is named .zip or .tar.gz")
    if not target.resolve().parent.is_dir():
        raise InputError(f"{target}: there is no folder {target.resolve().parent}")
    folder = results.find(run_folder)
    page.build(folder)
    (folder / "README.md").write_text(_readme(folder), encoding="utf-8")
    root = f"{folder.resolve().parent.name}-{folder.resolve().name}"
    members = [member for member in _members(folder, root) if member[1].resolve() != target.resolve()]
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        with temporary.open("wb") as file:
            pack(members, file)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def _suffix(target: Path) -> str:
    return ".tar.gz" if target.name.endswith(".tar.gz") else target.suffix


def _readme(folder: Path) -> str:
    content = contents.gather(folder)
    again = facts.repeat(content)["again"]
    return _README.format(name=content.run.name, answer=words.answer(content), again=again, columns=markdown())


def _members(folder: Path, root: str) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in place.parts)
        if path.is_file() and not path.is_symlink() and not hidden:
            yield f"{root}/{place.as_posix()}", path


def _zip(members: Iterable[tuple[str, Path]], file: IO[bytes]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, path in members:
            entry = zipfile.ZipInfo(name)  # dated 1980-01-01
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.file_size = path.stat().st_size
            with path.open("rb") as source, archive.open(entry, "w") as target:
                shutil.copyfileobj(source, target)


def _tar(members: Iterable[tuple[str, Path]], file: IO[bytes]) -> None:
    with (
        gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, path in members:
            entry = tarfile.TarInfo(name)  # dated 1970-01-01, owned by nobody in particular
            entry.size = path.stat().st_size
            with path.open("rb") as source:
                archive.addfile(entry, source)
