"""The notebook and the how-to guide run as they are, on a recorded real run."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.synthetic import Synthetic

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOKS = DOCS / "notebooks"
RECORDED = NOTEBOOKS / "first-light.tar.xz"


def printed(notebook: nbformat.NotebookNode) -> list[list[str]]:
    """What each cell of code printed and showed, as text; of figures only that there are some."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [[*_streams(cell), *(out.data["text/plain"] for out in cell.outputs if "data" in out)] for cell in cells]


def _streams(cell: nbformat.NotebookNode) -> list[str]:
    """What a cell printed: one text, which may have arrived in several outputs."""
    text = "".join(out.text for out in cell.outputs if out.get("name") == "stdout")
    return [text] if text else []


def test_the_notebook_gives_what_is_stored_in_it():
    file = NOTEBOOKS / "first-analysis.ipynb"
    notebook = nbformat.read(file, as_version=4)
    stored = printed(notebook)
    assert sum(len(outputs) for outputs in stored) > 5
    NotebookClient(
        notebook, timeout=300, startup_timeout=300, resources={"metadata": {"path": str(NOTEBOOKS)}}
    ).execute()
    assert printed(notebook) == stored, "execute it again and store it, if that is what it should say now"
    assert file.stat().st_size + RECORDED.stat().st_size < 300_000


def test_the_guide_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    with tarfile.open(RECORDED) as archive:
        archive.extractall(tmp_path / "results" / "first-light", filter="data")
    capacities = {"baseline": 300.0, "vertical": 450.0}
    Synthetic(name="scaling", capacities=capacities, rates=[150], repetitions=7).write(tmp_path / "results")
    monkeypatch.chdir(tmp_path)
    guide = (DOCS / "how-to" / "analyse-in-python.md").read_text(encoding="utf-8")
    examples = re.findall(r"^```python\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
    assert len(examples) >= 8
    names: dict[str, object] = {}
    for example in examples:
        exec(compile(example, "analyse-in-python.md", "exec"), names)
    text = capsys.readouterr().out
    assert "43 trials" in text and "hotel-reservation 335 244 378 416" in text
    assert re.search(r"scaling=vertical p50: 0\.\d\dx \[.*\] faster", text)
