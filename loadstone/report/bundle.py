"""A run as one archive: everything that it used and produced, with a README that explains the files."""

from __future__ import annotations

import gzip
import shutil
import tarfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import pyarrow.parquet as pq

from loadstone.analysis.bundle_check import METADATA
from loadstone.analysis.run import find_run
from loadstone.model.columns import markdown
from loadstone.model.errors import InputError
from loadstone.model.publishing import checked_author, checked_licence
from loadstone.report import content as contents
from loadstone.report import crate, facts, page, sentences
from loadstone.report.content import Content

_README = """\
# {name}: a run of Loadstone

{answer}

| here | what it is |
|---|---|
| `report/index.html` | the report: open it in a browser; it needs no network |
| `report/figures/` | its figures as SVG, PDF and PNG |
| `report/tables/` | the data of every figure and table as CSV, all but the longest also as LaTeX and Markdown |
| `trials.parquet` | one row per trial: what figures and tables are made from; its columns are below |
| `trials/<trial>/` | the files of one trial: summary, latency histograms, audit, checks, use of CPU and memory, logs |
| `study.yaml` | the study as it was given |
| `plan.json` | the study, application and treatments as they were resolved |
| `provenance.json` | versions, host, nodes, the command |
| `deployments/` | the files that each treatment was deployed from, and its logs |
| `ro-crate-metadata.json` | the same, machine-readable: an [RO-Crate](https://w3id.org/ro/crate/1.1), with digests |

To repeat it, in this folder: `{again}`. To write the report anew: `loadstone report .`, which also lists files that are
not as it was exported.

## Use and citation

{citation}

## Columns of trials.parquet

{columns}"""


def export(run_folder: Path, target: Path, licence: str | None = None, authors: Sequence[str] = ()) -> Path:
    """Pack the run and a fresh report into ``target`` (``.zip`` or ``.tar.gz``) and return it.

    A README that explains the files is written into the run first; the archive alone has the metadata of an RO-Crate.
    ``licence`` and ``authors`` are the study's own where not given. The same run gives the same bytes: names are
    sorted, dates and owners are left out. Hidden files and links stay behind. Raises InputError for another kind of
    archive, a folder that is not there, or where there is no run.
    """
    pack = {".zip": _zip, ".tar.gz": _tar}.get(_suffix(target))
    if pack is None:
        raise InputError(f"{target}: an archive is named .zip or .tar.gz")
    if not target.resolve().parent.is_dir():
        raise InputError(f"{target}: there is no folder {target.resolve().parent}")
    licence = checked_licence(licence) if licence is not None else None
    authors = list(map(checked_author, authors))
    folder = find_run(run_folder)
    page.build(folder)
    content = contents.gather(folder)
    licence, authors = licence or content.run.study.licence, authors or content.run.study.authors
    (folder / "README.md").write_text(_readme(content, licence, authors), encoding="utf-8")
    files = {name: path for name, path in _files(folder) if path.resolve() != target.resolve()}
    # Written anew: an earlier release wrote numbers that no trial has, such as latencies of trials that were stopped.
    rows = target.with_name(f".{target.name}.parquet")
    root = f"{folder.resolve().parent.name}-{folder.resolve().name}"
    temporary, metadata = (target.with_name(f".{target.name}.{kind}") for kind in ("tmp", "json"))
    try:
        if content.run.trials:
            pq.write_table(content.run.table, rows)
            files["trials.parquet"] = rows
        metadata.write_text(crate.metadata(content, files, licence, authors), encoding="utf-8")
        members = {f"{root}/{name}": path for name, path in sorted({**files, METADATA: metadata}.items())}
        with temporary.open("wb") as file:
            pack(members, file)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
        metadata.unlink(missing_ok=True)
        rows.unlink(missing_ok=True)
    return target


def _suffix(target: Path) -> str:
    return ".tar.gz" if target.name.endswith(".tar.gz") else target.suffix


def _readme(content: Content, licence: str | None, authors: Sequence[str]) -> str:
    return _README.format(
        name=content.run.name,
        answer=sentences.answer(content),
        again=facts.repeat(content).again,
        citation=crate.citation(content, licence, authors),
        columns=markdown(),
    )


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """All that is given away, by name; an earlier bundle's metadata is not, as it is made anew."""
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in place.parts)
        if path.is_file() and not path.is_symlink() and not hidden and place.as_posix() != METADATA:
            yield place.as_posix(), path


def _zip(members: Mapping[str, Path], file: IO[bytes]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, path in members.items():
            entry = zipfile.ZipInfo(name)  # dated 1980-01-01
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.file_size = path.stat().st_size
            with path.open("rb") as source, archive.open(entry, "w") as target:
                shutil.copyfileobj(source, target)


def _tar(members: Mapping[str, Path], file: IO[bytes]) -> None:
    with (
        gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, path in members.items():
            entry = tarfile.TarInfo(name)  # dated 1970-01-01, owned by root
            entry.size = path.stat().st_size
            with path.open("rb") as source:
                archive.addfile(entry, source)
