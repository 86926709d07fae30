"""The page in a real browser: no error, no request, columns sort, nothing is wider than a narrow window."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

PROBE = """
<script>
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
const out = document.createElement("pre"); out.id = "seen"; out.textContent = JSON.stringify(seen);
document.body.append(out);
</script>
"""


def browse(page: Path, folder: Path, width: int) -> tuple[dict, str]:
    """What the probe found, and what the browser logged."""
    return dumped(page.read_text(encoding="utf-8").replace("</body>", PROBE + "</body>"), folder, width)


def dumped(text: str, folder: Path, width: int) -> tuple[dict, str]:
    """What a page leaves in ``<pre id="seen">``, and what the browser logged."""
    copy = folder / "index.html"
    copy.write_text(text, encoding="utf-8")
    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"]
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", *quiet]
    command += [f"--user-data-dir={folder / 'profile'}", f"--window-size={width},1000", "--enable-logging=stderr"]
    done = subprocess.run(
        [*command, "--virtual-time-budget=10000", "--dump-dom", copy.as_uri()],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    message = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)
    assert message, done.stderr[-2000:]
    return json.loads(message[1]), done.stderr


@pytest.mark.parametrize("width", [1280, 500])
def test_in_a_browser(searched: Path, tmp_path: Path, width: int):
    text, log = browse(searched / "report" / "index.html", tmp_path, width)
    assert "CONSOLE" not in log
    assert text["resources"] == []
    assert text["wide"] <= text["window"]
    numbers = sorted(float(value or "inf") for value in text["before"])  # what broke has none
    assert [float(value or "inf") for value in text["up"]] == numbers
    assert [float(value or "inf") for value in text["down"]] == numbers[::-1]
    assert text["sort"] == "descending"
    assert text["open"] == [True, True, text["title"]]
    assert abs(text["zoomed"] - 1 / 1.5) < 1e-3 and text["again"] == 1
    assert text["closed"] == [False, True]
