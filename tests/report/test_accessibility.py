"""Pages for people who see little or nothing, or use no mouse: checked by axe-core, and by pressing the tabulator."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loadstone.report import page, parts_page
from tests.placements import placed
from tests.report.chromium import DRAWN, Chromium
from tests.report.conftest import no_figures
from tests.synthetic import Synthetic

pytestmark = pytest.mark.slow

AXE = Path(__file__).parents[2] / ".build/axe/node_modules/axe-core/axe.min.js"
CHECK = f"""
(async () => {{
  document.querySelectorAll("details").forEach(each => {{ each.open = true; }});
  await {DRAWN};
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
  const found = await axe.run({{runOnly: {{type: "tag", values: tags}}, resultTypes: ["violations"]}});
  return found.violations.map(({{id, nodes}}) =>
    `${{id}}, ${{nodes.length}} times: ${{nodes[0].html.slice(0, 200)}} ${{nodes[0].failureSummary}}`);
}})()
"""
REACHABLE = """
(() => {
  const shown = [...document.querySelectorAll("a[href], button, summary, [tabindex]")].filter(each =>
    each.tabIndex >= 0 && each.checkVisibility());
  shown.forEach((each, place) => { each.dataset.place = place; });
  document.activeElement.blur();
  return shown.map(each => each.outerHTML.slice(0, 120));
})()
"""
FOCUSED = """
(() => {
  const focused = document.activeElement, style = getComputedStyle(focused), box = focused.getClientRects()[0];
  const at = y => document.elementFromPoint(Math.max(box.left, 0) + 2, Math.min(Math.max(y, 2), innerHeight - 2));
  const tops = [box.top + 4, (box.top + box.bottom) / 2, box.bottom - 4].map(at);
  return {
    place: Number(focused.dataset.place ?? -1), marked: style.outlineStyle !== "none" && style.outlineWidth !== "0px",
    seen: tops.some(top => top && (focused.contains(top) || top.contains(focused) && !top.contains(document.body))),
  };
})()
"""
SCROLLING = """
[...document.querySelectorAll("*")].filter(each => each.checkVisibility() && each.scrollWidth > each.clientWidth + 1 &&
  ["auto", "scroll"].includes(getComputedStyle(each).overflowX)).map(each => ({
    html: each.outerHTML.slice(0, 120), reachable: each.tabIndex >= 0 && !!each.getAttribute("aria-label") ||
      each.matches("nav") && !!each.querySelector("a[href]"),
  }))
"""


def parts(folder: Path, rated: Path) -> Path:
    run = folder / "both" / "20260102-030405"
    shutil.copytree(rated, run / "first")
    (run / "parts.json").write_text('{"parts": ["first", "missing"], "scale": "here"}')
    return parts_page.build(run)


def placements(folder: Path) -> Path:
    run = placed(folder, "rich", rates=[200, 700], repetitions=2)
    with no_figures():
        return page.build(run)


def twelve(folder: Path) -> Path:
    capacities = {f"a treatment with a long name, number {n}": 100.0 + 50 * n for n in range(1, 13)}
    run = Synthetic(capacities, "workload", rates=[200, 400], repetitions=2, duration_s=0.5).write(folder)
    with no_figures():
        return page.build(run)


def compared(folder: Path) -> Path:
    capacities = {"baseline": 900.0, "vertical": 1250.0}
    run = Synthetic(capacities, rates=[300, 600], repetitions=3, comparison=True, duration_s=1.0).write(folder)
    with no_figures():
        return page.build(run)


MADE: dict[str, Callable[[Path], Path]] = {
    "comparison": compared,
    "placements": placements,
    "twelve": twelve,
}


@pytest.fixture(scope="module", params=["search", "treatment", "trial", "parts", *MADE])
def shown(
    request: pytest.FixtureRequest, searched: Path, rated: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A page of a report."""
    if request.param == "parts":
        return parts(tmp_path_factory.mktemp("results"), rated)
    if request.param in MADE:
        return MADE[request.param](tmp_path_factory.mktemp("results"))
    report = searched / "report"
    folder = {"search": report, "treatment": report / "treatments", "trial": report / "trials"}[request.param]
    return sorted(folder.glob("*.html"))[0]


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not there: make setup-test")
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (768, False), (420, True)])
def test_axe_finds_no_violation(shown: Path, chromium: Chromium, width: int, dark: bool) -> None:
    chromium.open(shown, width, dark)
    chromium.evaluate(AXE.read_text(encoding="utf-8") + "\nvoid 0")
    assert chromium.evaluate(CHECK) == []
    if chromium.evaluate("!!document.querySelector('.enlarge button')"):
        chromium.evaluate("document.querySelector('.enlarge button').click()")
        assert chromium.evaluate(CHECK) == []


@pytest.mark.parametrize("width", [1280, 768, 420])
def test_all_is_reached_by_keys_and_shows_its_focus(shown: Path, chromium: Chromium, width: int) -> None:
    chromium.open(shown, width)
    expected: list[str] = chromium.evaluate(REACHABLE)
    reached: dict[int, dict[str, Any]] = {}
    for _ in range(len(expected)):
        chromium.tab()
        focused = chromium.evaluate(FOCUSED)
        reached[focused["place"]] = focused
    assert [text for place, text in enumerate(expected) if place not in reached] == []
    assert [expected[place] for place, focused in reached.items() if not focused["marked"]] == []
    assert [expected[place] for place, focused in reached.items() if not focused["seen"]] == []


@pytest.mark.parametrize("width", [1280, 768, 420])
def test_what_scrolls_can_be_focused_and_has_a_name(shown: Path, chromium: Chromium, width: int) -> None:
    chromium.open(shown, width)
    scrolling = chromium.evaluate(SCROLLING)
    assert [each["html"] for each in scrolling if not each["reachable"]] == []
    assert chromium.evaluate("document.documentElement.scrollWidth") <= width, "what is wider scrolls by itself"


def test_figures_have_an_alternative_in_words(shown: Path, chromium: Chromium) -> None:
    chromium.open(shown)
    labels = "[...document.querySelectorAll('figure svg')].map(each => each.getAttribute('aria-label') ?? '')"
    assert [label for label in chromium.evaluate(labels) if len(label) < 10] == []
