"""The page in a real browser: no error, no request, columns sort, nothing is wider than a narrow window."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from loadstone.report import page
from tests.report.chromium import Chromium
from tests.synthetic import Synthetic

PROBE = """
(() => {
  const seen = {wide: document.documentElement.scrollWidth, window: document.documentElement.clientWidth};
  seen.resources = performance.getEntriesByType("resource").map(entry => entry.name);
  const table = document.querySelector("#trials table");
  const button = [...table.querySelectorAll("th button")].find(one => one.textContent === "P99");
  const column = [...button.closest("tr").children].indexOf(button.parentElement);
  const values = () => [...table.tBodies[0].rows].map(row => row.cells[column].dataset.v);
  seen.before = values(); button.click(); seen.up = values(); button.click(); seen.down = values();
  seen.sort = button.parentElement.getAttribute("aria-sort");
  const figure = document.querySelector("figure"), dialog = document.querySelector("#zoom");
  const press = key => dialog.dispatchEvent(new KeyboardEvent("keydown", {key}));
  figure.querySelector(".enlarge button").click();
  const width = () => dialog.querySelector("svg").viewBox.baseVal.width;
  seen.open = [dialog.open, !figure.querySelector("svg"), dialog.querySelector("h2").textContent];
  seen.title = figure.querySelector("figcaption strong").textContent;
  const whole = width(); press("+"); seen.zoomed = width() / whole; press("0"); seen.again = width() / whole;
  dialog.close(); dialog.dispatchEvent(new Event("close")); seen.closed = [dialog.open, !!figure.querySelector("svg")];
  return seen;
})()
"""


@pytest.mark.parametrize("width", [1280, 768, 420])
def test_in_a_browser(searched: Path, chromium: Chromium, width: int) -> None:
    chromium.open(searched / "report" / "index.html", width)
    seen = chromium.evaluate(PROBE)
    assert chromium.problems == []
    assert seen["resources"] == []
    assert seen["wide"] <= seen["window"] == width
    numbers = sorted(float(value or "inf") for value in seen["before"])  # what broke has none
    assert [float(value or "inf") for value in seen["up"]] == numbers
    assert [float(value or "inf") for value in seen["down"]] == numbers[::-1]
    assert seen["sort"] == "descending"
    assert seen["open"] == [True, True, seen["title"]]
    assert abs(seen["zoomed"] - 1 / 1.5) < 1e-3 and seen["again"] == 1
    assert seen["closed"] == [False, True]


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("width", [1280, 420])
def test_long_names_of_treatments_are_wrapped(width: int, chromium: Chromium, tmp_path: Path) -> None:
    capacities = {"baseline": 700.0, "vertical": 720.0}
    folder = Synthetic(capacities=capacities, rates=[200], repetitions=7, comparison=True).write(tmp_path)
    table = pq.read_table(folder / "trials.parquet")
    labels = [
        f"{label} {'placement=' + 'node-1.' * 20} {'many words ' * 9}" for label in table["treatment"].to_pylist()
    ]
    place = table.column_names.index("treatment")
    pq.write_table(table.set_column(place, table.field(place), [labels]), folder / "trials.parquet")
    chromium.open(page.build(folder), width)
    assert chromium.evaluate("document.documentElement.scrollWidth") == width


SORTED = """
(() => {
  document.body.innerHTML = `<table><thead><tr><th><button>Name</button></th></tr></thead><tbody>${NAMES.map(
    name => `<tr><td>${name}</td></tr>`).join("")}</tbody></table>`;
  makeSortable(document);
  document.querySelector("th button").click();
  return [...document.querySelectorAll("td")].map(cell => cell.textContent);
})()
"""


@pytest.mark.usefixtures("plain")
def test_names_are_sorted_by_the_numbers_in_them(searched: Path, chromium: Chromium) -> None:
    chromium.open(searched / "report" / "index.html", 1280)
    for names in (["rate 2", "rate 10", "rate 100"], ["4e400", "9bcd", "12e4", "ab12"]):  # these are as ids of trials
        given = str([names[1], names[-1], names[0], *names[2:-1]])
        assert chromium.evaluate(SORTED.replace("NAMES", given)) == names
