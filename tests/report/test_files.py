"""What a report writes small: long tables compressed, and lines of which each point is relative to the one before."""

from __future__ import annotations

import csv
import gzip
import io
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from loadstone.analysis import schema
from loadstone.analysis.summary import BreakingPointRow
from loadstone.report import details, page, publication_table, tables
from loadstone.report.plots import PlotLine, SvgPlot, linear
from tests.report.reading import Page
from tests.synthetic import Synthetic


def test_a_long_table_is_compressed_and_loses_nothing(tmp_path: Path) -> None:
    long = pa.table({"rate": [1 / (n + 3) for n in range(5000)]})
    written = tables.write({"long": long, "short": long.slice(0, 3)}, tmp_path)
    assert written == {"long": ["csv.gz"], "short": ["csv", "tex", "md"]}
    assert gzip.decompress((tmp_path / "long.csv.gz").read_bytes()).decode() == tables.to_csv(long)
    assert (tmp_path / "short.csv").read_text() == tables.to_csv(long.slice(0, 3))


def test_a_text_that_a_spreadsheet_would_take_for_a_formula_is_none() -> None:
    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "web-1 is gone", ""]
    table = pa.table({"reasons": [[text, "more"] for text in texts], "rate": [-1.0] * len(texts), "text": texts})
    rows = list(csv.reader(io.StringIO(tables.to_csv(table))))[1:]
    assert not [cell for row in rows for cell in (row[0], row[2]) if cell[:1] in tables.FORMULA]
    assert {row[1] for row in rows} == {"-1.0"} and rows[5][2] == "web-1 is gone"


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 5)), min_size=2, max_size=60))
def test_a_line_of_steps_ends_where_its_points_are(points: list[tuple[float, float]]) -> None:
    x, y = linear("x", [0, 10]), linear("y", [0, 5])
    svg = SvgPlot("steps", x, y, [PlotLine("", points)]).svg()
    [path] = re.findall(r'class="l s0 line" d="M([^"]*)"', svg)
    numbers = [float(number) for number in re.findall(r"-?\d*\.?\d+", path)]
    assert len(numbers) == 2 * len(points)
    at = [sum(numbers[0::2]), sum(numbers[1::2])]
    assert abs(at[0] - x.place(points[-1][0], 62, 508)) <= 0.56  # to whole units
    assert abs(at[1] - y.place(points[-1][1], 222, 32)) <= 0.06  # to a tenth


@pytest.mark.usefixtures("plain")
def test_of_many_trials_those_that_matter_have_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(details, "MOST_TRIALS", 6)
    made = Synthetic(rates=[100, 200, 3000, 4000], repetitions=3, duration_s=0.5, invalid=(11,))
    folder = made.write(tmp_path)
    text = page.build(folder).read_text(encoding="utf-8")
    paged = {path.stem for path in (folder / "report" / "trials").iterdir()}
    rows = pq.read_table(folder / "trials.parquet").to_pylist()
    mine = [row for row in rows if row["trial_id"] in paged]
    assert len(mine) == 6 and any(row["verdict"] == "invalid" for row in mine)
    assert {row["rate"] for row in mine if row["repetition"] == 1} == {100, 200, 3000, 4000}
    assert set(re.findall(r'href="trials/(\w+).html"', text)) == paged
    assert "6 of 12 trials have pages" in text


@given(st.lists(st.text(alphabet="ab |<>*`\\[]~", min_size=1).map(str.strip).filter(bool), min_size=1, max_size=3))
def test_markdown_shows_names_as_they_are(names: list[str]) -> None:
    text = publication_table.markdown(publication_table.shown("names", pa.table({"service": names})))
    shown = Page(MarkdownIt("commonmark").enable("table").render(text)).tables[""]
    assert [cell for row in shown[1:] for cell in row] == names


def test_the_load_of_a_closed_loop_is_in_clients(tmp_path: Path) -> None:
    points = pa.table({"treatment": ["a"], "load": [20.0], "throughput": [95.5]})
    for closed, unit in ((True, "clients"), (False, "requests/s")):
        tables.write({"curves": points}, tmp_path, closed)
        assert f"| Load ({unit}) | Throughput (requests/s) |" in (tmp_path / "curves.md").read_text()
        assert f"& Load ({unit}) & Throughput (requests/s)" in (tmp_path / "curves.tex").read_text()


def test_intervals_have_their_level() -> None:
    ends = {"load": [1.0], "p99_ms": [5.0], "p99_ms_low": [4.0], "p99_ms_high": [6.0]}
    assert publication_table.shown("a", pa.table(ends)).heads == ["Load (requests/s)", "P99 [95 % interval] (ms)"]
    # A published range is no interval of a mean, and ratios to it are of both kinds.
    kinds = {f"{name}{end}": [1.0] for name in ("published", "ratio") for end in ("", "_low", "_high")}
    assert publication_table.shown("published", pa.table(kinds)).heads == [
        "Published [range]",
        "Ratio [interval or range]",
    ]


@pytest.mark.parametrize(
    ("table", "column", "head"),
    [
        ("curves", "low", "Low end of 95 % interval"),
        ("comparison", "high", "High end of 95 % interval"),
        ("comparison_shifts", "low_ms", "Low end of 95 % interval (ms)"),
        ("claims", "low", "Low end of interval or range"),
    ],
)
def test_an_end_in_a_column_of_its_own_has_its_level(table: str, column: str, head: str) -> None:
    assert publication_table.shown(table, pa.table({column: [1.0]})).heads == [head]


def test_a_breaking_point_without_an_estimate_is_shown_by_its_bounds() -> None:
    def row(known: str, **more: Any) -> BreakingPointRow:
        trials: dict[str, Any] = {"full_trials": 0, "bracket_trials": 5, "confirmed": None, "evidence": ""}
        return BreakingPointRow(**{"treatment": "a", "search": None, "known": known, **trials, **more})

    unknown = [row("above", low=400.0), row("below", high=100.0), row("bracketed", low=100.0, high=200.0)]
    shown = publication_table.shown("breaking_points", schema.table(BreakingPointRow, [*unknown, row("nothing")]))
    place = shown.heads.index("Breaking point [95 % interval] (requests/s)")
    assert [cells[place] for cells in shown.rows] == ["> 400", "< 100", "100 to 200", "–"]
    assert r"& \textgreater{} 400 &" in publication_table.latex(shown)
    assert not any(head.startswith("Capacity") for head in shown.heads)
    estimate = {"breaking_point": 150.0, "breaking_point_low": 140.0, "breaking_point_high": 160.0}
    shown = publication_table.shown("breaking_points", schema.table(BreakingPointRow, [row("estimated", **estimate)]))
    assert shown.rows[0][place] == "150 [140, 160]"


def test_latex_takes_no_part_of_a_name_for_its_own() -> None:
    names = ["*", "[a]", "GET a|b", "100 %_$#{}&~^\\"]
    latex = publication_table.latex(publication_table.shown("names", pa.table({"service": names})))
    cells = [line.removesuffix(r" \\") for line in latex.splitlines() if line.endswith(r" \\")][1:]
    special = r"100 \%\_\$\#\{\}\&\textasciitilde{}\textasciicircum{}\textbackslash{}"
    assert cells == ["{*}", "{[a]}", r"GET a\textbar{}b", special]
