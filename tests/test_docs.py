"""The documentation is checked like code: generated pages are current, links lead somewhere, examples are valid."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import loadstone
from loadstone.applications import catalogue
from loadstone.applications.compose_import import is_compose
from loadstone.cli.main import VERBS
from loadstone.experiments.plan import read_plans
from loadstone.model.application import Application
from loadstone.model.document import Document
from loadstone.model.inventory import Inventory
from loadstone.model.workload import Workload

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(language: str) -> list[tuple[str, str]]:
    """Page and text of every fenced block in this language."""
    fence = re.compile(rf"^```{language}\n(.*?)^```", re.MULTILINE | re.DOTALL)
    return [(name(page), text) for page in PAGES for text in fence.findall(page.read_text(encoding="utf-8"))]


@pytest.fixture
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "scripts" / "generate_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_current(generator: ModuleType) -> None:
    assert generator.stale() == [], "run `make docs`"


def test_a_stale_page_is_noticed(generator: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator, "FOLDER", tmp_path)
    for file, text in generator.pages().items():
        (tmp_path / file).write_text(text)
    assert generator.stale() == []
    (tmp_path / "study.md").write_text("old")
    (tmp_path / "columns.md").unlink()
    assert generator.stale() == ["study.md", "columns.md"]


def test_every_difference_in_round_trips_has_a_reason(generator: ModuleType) -> None:
    rows = [
        (file.parent.name, operation["operation"], row)
        for file in generator.round_trips_files().values()
        for operation in json.loads(file.read_text(encoding="utf-8"))
        for row in operation["rows"]
    ]
    assert len(rows) > 100
    for application, operation, row in rows:
        published, default, quirks = (generator.requests(row[column]) for column in generator.COUNTED)
        where = f"{application}: {operation}: {row['service']} > {row['peer']}"
        assert published == default == quirks or row.get("note"), f"{where} differs: say why in its note"
        assert quirks >= published, f"{where}: dsb-quirks has fewer requests than are published"
        if default < published:
            assert "`dsb-quirks`" in row["note"] or "as of" in row["note"] or "as above" in row["note"], where


def test_every_key_of_the_study_file_says_what_it_means(generator: ModuleType) -> None:
    page = generator.pages()["study.md"].split("## Resources")[0]
    keys = [line for line in page.splitlines() if line.startswith("| `")]
    assert len(keys) > 15
    assert [line for line in keys if line.endswith("|  |")] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files_that_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), f"{name(page)} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_anchors_are_headings(page: Path) -> None:
    for file, anchor in re.findall(r"\]\(([^)#\s]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
        if file.startswith("http"):
            continue
        target = (page.parent / file) if file else page
        headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
        slugs = {re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert anchor in slugs, f"{name(page)} links to #{anchor} of {target.name}"


@pytest.mark.parametrize(("page", "text"), blocks("yaml"), ids=lambda value: value[:40].splitlines()[0])
def test_examples_are_valid(page: str, text: str, tmp_path: Path) -> None:
    document = Document(text, page)
    if is_compose(document):
        (tmp_path / "compose.yaml").write_text(text)
        assert catalogue.load(str(tmp_path)).application.services
    elif "version" in document.data:
        assert all(plan.treatments for plan in read_plans(document).values())
    elif "operations" in document.data:
        document.parse(Workload)
    elif "hosts" in document.data:
        document.parse(Inventory)
    else:
        document.parse(Application)


def test_there_are_examples() -> None:
    assert len(blocks("yaml")) >= 5


def test_every_verb_that_is_named_exists() -> None:
    verbs = set(VERBS)
    shell = "\n".join(text for _, text in blocks("sh"))
    inline = "\n".join(re.findall(r"`(loadstone [^`]+)`", "\n".join(p.read_text(encoding="utf-8") for p in PAGES)))
    named = set(re.findall(r"^(?:\.venv/bin/)?loadstone ([a-z]+)", f"{shell}\n{inline}", re.MULTILINE))
    assert {"run", "validate"} <= named
    assert named <= verbs


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {t for page in PAGES for t in re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(), re.MULTILINE)}
    assert {"test", "docs"} <= named
    assert named <= targets


def test_every_direct_dependency_is_explained() -> None:
    page = (ROOT / "docs/explanation/dependencies.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [
        *project["project"]["dependencies"],
        *project["dependency-groups"]["dev"],
        *project["build-system"]["requires"],
    ]
    names = [re.match(r"[A-Za-z0-9_.-]+", requirement).group() for requirement in wanted]  # type: ignore[union-attr]
    required = re.findall(r"^\t(\S+) v\S+$", (ROOT / "stone/go.mod").read_text(), re.MULTILINE)
    assert len(required) >= 5
    assert [dependency for dependency in [*names, *required] if f"`{dependency}`" not in page] == []


def test_no_dependency_is_explained_that_is_gone() -> None:
    page = (ROOT / "docs/explanation/dependencies.md").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text() + (ROOT / "stone/go.mod").read_text()
    named = re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)
    assert [dependency for dependency in named if dependency not in project] == []


def test_every_requirement_is_pinned() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    pinned = set(re.findall(r"^([a-z0-9-]+)==\S+ \\\n    --hash=sha256:[0-9a-f]{64}\b", lock, re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    assert {re.split(r"[>=<]", requirement)[0] for requirement in wanted} <= pinned
    assert len(pinned) == len(re.findall(r"^\S", lock, re.MULTILINE))
    assert "://" not in lock and "--index" not in lock


def test_the_version_is_reported_once() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    citation = (ROOT / "CITATION.cff").read_text()
    assert project["project"]["version"] == loadstone.__version__
    assert f"\nversion: {loadstone.__version__}\n" in citation


def test_lines_of_pages_are_at_most_100_characters_long() -> None:
    """Code, tables, pictures and quotations are as wide as they are; pages of the reference are generated."""
    long = []
    for page in (page for page in PAGES if page.name != "CHANGELOG.md" and "reference" not in page.parts):
        is_code = False
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            is_code ^= line.lstrip().startswith("```")
            if len(line) > 100 and not is_code and not line.lstrip().startswith(("|", "!", ">", "[")):
                long.append(f"{name(page)}:{number}")
    assert long == []
