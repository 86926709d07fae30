"""The documentation site builds without a warning: every page is in the navigation, every link and anchor leads on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def build(target: Path, config: Path = ROOT / "mkdocs.yml") -> subprocess.CompletedProcess[str]:
    options = ["--strict", "--config-file", str(config), "--site-dir", str(target)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "https_proxy": "http://127.0.0.1:9"}  # needs no network
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", *options], env=environment, cwd=ROOT, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    built = build(target)
    assert built.returncode == 0, built.stderr
    return target


def test_every_page_of_the_documentation_is_there_and_finds_its_links(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    built = {path.relative_to(site) for path in site.rglob("*.html")}
    assert {path for path in pages if path.name != "README.html"} <= built
    assert (site / "repository/SECURITY.html").exists() and (site / "repository/studies/first-light.yaml").exists()


def test_pages_load_nothing_from_elsewhere_and_show_formulas(site: Path) -> None:
    loaded = re.compile(
        r"""<(?:script|img|iframe)[^>]* src="https?:|<link [^>]*href="https?:|@import|url\(["']?https?:"""
    )
    assert [page.name for page in site.rglob("*.html") if loaded.search(page.read_text(encoding="utf-8"))] == []
    metrics = (site / "explanation/metrics.html").read_text(encoding="utf-8")
    assert metrics.count("<math") > 50 and "arithmatex" not in metrics


def test_a_broken_link_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# A page\n\n[nowhere](none.md), [no heading](#none)\n")
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[0]
    text = re.sub(r"hooks: .*\n", "", text)
    (tmp_path / "mkdocs.yml").write_text(text)
    built = build(tmp_path / "site", tmp_path / "mkdocs.yml")
    assert built.returncode == 1
    assert "none.md" in built.stderr and "#none" in built.stderr
