"""RO-Crate 1.1 metadata of a run: what a bundle holds, with digests, from where it comes and how it may be used.

https://www.researchobject.org/ro-crate/specification/1.1/ requires a flat list of entities that refer to each other.
"""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from loadstone.analysis.bundle_check import METADATA, digest
from loadstone.model import publishing
from loadstone.report import facts, sentences
from loadstone.report.content import Content

Entity = dict[str, Any]

_SPECIFICATION = "https://w3id.org/ro/crate/1.1"
_FORMATS = {
    ".parquet": "application/vnd.apache.parquet",
    ".hlog": "text/plain",
    ".hgrm": "text/plain",
    ".log": "text/plain",
    ".yaml": "application/yaml",
    ".md": "text/markdown",
    ".tex": "application/x-tex",
}
_MEANINGS = {
    "study.yaml": "the study as it was given",
    "plan.json": "the study, application and treatments as they were resolved",
    "provenance.json": "versions, host, nodes, the command",
    "trials.parquet": "the dataset: one row per trial; README.md describes its columns",
    "report/index.html": "the report; it needs no network",
    "README.md": "what is what",
}
SOFTWARE = "Loadstone: a testbed for microservice performance"
"""As CITATION.cff names it."""


def metadata(content: Content, files: Mapping[str, Path], licence: str | None, authors: Sequence[str]) -> str:
    """The text of ``ro-crate-metadata.json`` for ``files`` (by name in the bundle); the same for the same run."""
    graph = [
        {
            "@id": METADATA,
            "@type": "CreativeWork",
            "conformsTo": {"@id": _SPECIFICATION},
            "about": {"@id": "./"},
        },
        _root(content, files, licence, authors),
        _licence(licence),
        *({"@id": f"#author-{number}", "@type": "Person", "name": name} for number, name in enumerate(authors, 1)),
        *_run(content, files),
        *(_file(name, path) for name, path in files.items()),
    ]
    # The terms of 1.1 lack schema.org's word for a digest.
    context = [f"{_SPECIFICATION}/context", {"sha256": "https://schema.org/sha256"}]
    return json.dumps({"@context": context, "@graph": graph}, indent=1, ensure_ascii=False) + "\n"


def citation(content: Content, licence: str | None, authors: Sequence[str]) -> str:
    """How data and software are cited, and on what terms the data may be used, in Markdown."""
    by = ", ".join(authors) or "authors not stated"
    version = content.run.provenance.loadstone or "of unknown version"
    terms = f"[{licence}]({publishing.address(licence)})" if licence else _NO_LICENCE
    return (
        f"- This dataset: {by}. *{content.run.name}: a run of Loadstone*. {_published(content)}.\n"
        f"- The software that made it: The Loadstone authors. *{SOFTWARE}*, version {version}, Apache-2.0.\n"
        f"- Licence of this dataset: {terms}"
    )


_NO_LICENCE = "none was stated, so only its authors may use it; ask them, or export it again with `--licence`."


def _root(content: Content, files: Mapping[str, Path], licence: str | None, authors: Sequence[str]) -> Entity:
    parts = [content.run.study.description or "", sentences.answer(content).replace("**", "")]
    root: Entity = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"{content.run.name}: a run of Loadstone",
        "description": " ".join(text for text in parts if text),
        "datePublished": _published(content),
        "license": {"@id": _licence(licence)["@id"]},
    }
    if authors:
        root["author"] = [{"@id": f"#author-{number}"} for number in range(1, len(authors) + 1)]
    return root | {"mentions": {"@id": "#run"}, "hasPart": [{"@id": quote(name)} for name in files]}


def _published(content: Content) -> str:
    """The day on which the run was started; of a run without any date, that of this specification."""
    started = content.run.provenance.time or min((row.started for row in content.run.trials), default="2020-10-30")
    return started[:10]


def _licence(licence: str | None) -> Entity:
    if licence is None:
        text = "Only the authors may use this dataset without permission."
        return {"@id": "#no-licence", "@type": "CreativeWork", "name": "No licence was stated", "description": text}
    return {"@id": publishing.address(licence), "@type": "CreativeWork", "name": licence}


def _run(content: Content, files: Mapping[str, Path]) -> Iterator[Entity]:
    """The act of measuring: what was done, with what, on what."""
    provenance = content.run.provenance
    software = [("loadstone", provenance.loadstone or "unknown")]
    software += sorted((str(name), str(version)) for name, version in provenance.software.items())
    host = provenance.host
    instruments = [f"#{name}" for name, _ in software] + (["#host"] if host else [])
    commands = facts.repeat(content)
    yield {
        "@id": "#run",
        "@type": "CreateAction",
        "name": commands.given or commands.again,
        "description": f"To repeat it in this folder: {commands.again}",
        **({"startTime": provenance.time} if provenance.time else {}),
        "instrument": [{"@id": name} for name in instruments],
        **_named(files, "object", "study.yaml"),
        **_named(files, "result", "trials.parquet"),
    }
    for name, version in software:
        title = SOFTWARE if name == "loadstone" else name
        yield {"@id": f"#{name}", "@type": "SoftwareApplication", "name": title, "version": version}
    if host:
        described = "; ".join(f"{name.replace('_', ' ')}: {value}" for name, value in host.items())
        kind = {"@id": "#host", "@type": "IndividualProduct", "name": str(host.get("cpu") or "the host")}
        yield kind | {"description": described}


def _named(files: Mapping[str, Path], role: str, name: str) -> Entity:
    return {role: [{"@id": name}]} if name in files else {}


def _file(name: str, path: Path) -> Entity:
    entity: Entity = {"@id": quote(name), "@type": "File", "name": name}
    if name in _MEANINGS:
        entity["description"] = _MEANINGS[name]
    if kind := _FORMATS.get(path.suffix) or mimetypes.guess_type(name)[0]:
        entity["encodingFormat"] = kind
    return entity | {"contentSize": str(path.stat().st_size), "sha256": digest(path)}
