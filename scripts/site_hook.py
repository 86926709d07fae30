"""A hook of the documentation site: links out of ``docs/`` lead somewhere, and formulas are MathML.

In the repository a page may link to any file, such as a study. In the site such a file stands under ``repository/``.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PLACE = "repository"
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
_LINK = re.compile(r"(?<=\]\()(?!https?://|mailto:|#)([^)#\s]+)(?=[)#])")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files outside of ``docs/`` that pages link to, and those that these link to."""
    queue = [file.src_uri for file in files.documentation_pages()]
    while queue:
        source = _source(queue.pop())
        for target in _targets(source, source.read_text(encoding="utf-8")):
            uri = _uri(target)
            if files.get_file_from_path(uri) is None and target.is_file():
                added = File.generated(config, uri, abs_src_path=str(target), inclusion=InclusionLevel.NOT_IN_NAV)
                files.append(added)
                queue += [uri] if added.is_documentation_page() else []
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make links of the repository lead to the same files of the site."""
    source, here = _source(page.file.src_uri), os.path.dirname(page.file.src_uri)

    def led(link: re.Match[str]) -> str:
        target = _resolved(source, link.group())
        return os.path.relpath(_uri(target), here or ".") if target.is_file() else link.group()

    return _LINK.sub(led, markdown)


def on_page_content(text: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make formulas MathML, which browsers show without a script."""
    return _FORMULA.sub(
        lambda found: convert(html.unescape(found[2]), display="block" if found[1] == "div" else "inline"), text
    )


def _targets(source: Path, text: str) -> Iterator[Path]:
    return (_resolved(source, link) for link in _LINK.findall(text))


def _resolved(source: Path, link: str) -> Path:
    return Path(os.path.normpath(source.parent / link))


def _uri(path: Path) -> str:
    """A file's place in the site."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    return f"{PLACE}/{path.relative_to(ROOT).as_posix()}"


def _source(uri: str) -> Path:
    """The file of the repository behind a page."""
    return ROOT / uri.removeprefix(f"{PLACE}/") if uri.startswith(f"{PLACE}/") else DOCS / uri
