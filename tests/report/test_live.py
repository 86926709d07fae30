"""The page of a run that goes on: written anew with each trial, for those who know its address, on loopback alone."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pyarrow.parquet as pq
import pytest

from loadstone.report import live, page
from tests.report.chromium import Chromium

STUBS = """
<script>
const calls = {};
window.EventSource = class { addEventListener(name, call) { calls[name] = call; } close() {} };
window.fetch = async () => ({ok: true, text: async () => window.next});
</script>
"""
PROBE = """
(async text => {
  const seen = {}, trials = () => document.querySelector("#trials");
  const event = {data: JSON.stringify({trials: 7, time: "12:00:00"})};
  window.next = text; await calls.report(event);
  document.querySelectorAll("details").forEach(each => { each.open = true; });
  trials().scrollIntoView({behavior: "instant"});
  const first = trials(), figures = document.querySelector("#figures"), top = first.getBoundingClientRect().top;
  window.next = text.replace('id="trials">', 'id="trials"><p id="news">news</p>'); await calls.report(event);
  seen.replaced = [first.isConnected, figures.isConnected, !!document.querySelector("#news")];
  seen.moved = Math.round(trials().getBoundingClientRect().top - top);
  seen.open = [...document.querySelectorAll("details")].every(each => each.open);
  trials().querySelector("th button").click();
  seen.sorted = trials().querySelector("th").getAttribute("aria-sort");
  const count = what => document.querySelectorAll(`#figures ${what}`).length;
  seen.enlarge = count("figure") > 0 && count(".enlarge") === count("figure");
  seen.state = document.querySelector(".live").textContent;
  return seen;
})(%s)
"""


@pytest.fixture
def run(searched: Path, tmp_path: Path) -> Path:
    """A run of which all but the last trial are finished; that waits in ``later``, beside the whole table."""
    folder, later = tmp_path / "run", tmp_path / "later"
    shutil.copytree(searched, folder, ignore=shutil.ignore_patterns("report"))
    later.mkdir()
    table = pq.read_table(folder / "trials.parquet")
    last = table["trial_id"][-1].as_py()
    (folder / "trials" / last).rename(later / last)
    (folder / "trials.parquet").rename(later / "trials.parquet")
    pq.write_table(table.slice(0, table.num_rows - 1), folder / "trials.parquet")
    return folder


def finish(folder: Path) -> None:
    """The last trial ends."""
    (last,) = (each for each in (folder.parent / "later").iterdir() if each.is_dir())
    last.rename(folder / "trials" / last.name)
    (folder.parent / "later/trials.parquet").replace(folder / "trials.parquet")


def get(url: str, path: str | None = None, host: str | None = None) -> tuple[int, str]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    connection.request("GET", parts.path if path is None else path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    return answer.status, answer.read().decode("utf-8", "replace")


def events(url: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each event, from the newest on, until the last."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    connection.request("GET", parts.path.replace("index.html", "events"))
    answer, kind = connection.getresponse(), ""
    while True:
        line = answer.readline().decode().strip()
        kind = line.removeprefix("event: ") if line.startswith("event: ") else kind
        if line.startswith("data: "):
            yield kind, json.loads(line.removeprefix("data: "))
            if kind == "end":
                return


def test_the_wait_after_a_slow_page_ends_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written, slept = [], []
    clock = SimpleNamespace(monotonic=lambda: 60.0 * len(written), sleep=slept.append)
    monkeypatch.setattr(live, "time", clock)
    page = live.LivePage(tmp_path)
    monkeypatch.setattr(page, "refresh", lambda: not written.append(True))
    page.follow(lambda: not written)
    page.close()
    assert len(written) == 2 and sum(slept) <= 2 * live.LOOK_S


@pytest.mark.servers
def test_a_stranger_and_a_reader_who_has_gone_leave_no_trace_on_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    page = live.LivePage(tmp_path)
    with live.LiveServer(page) as server:
        threading.Thread(target=server.handle_request).start()
        assert get(server.url, "/%C3%A9/report/index.html")[0] == 404
        for error in (BrokenPipeError(), KeyError("a fault of ours")):
            assert capfd.readouterr().err == ""
            try:
                raise error
            except Exception:
                server.handle_error(None, ("127.0.0.1", 1))
        assert "a fault of ours" in capfd.readouterr().err
    page.close()


@pytest.mark.servers
def test_a_finished_trial_is_in_the_page_and_an_event_says_so(run: Path) -> None:
    going = threading.Event()
    with live.serving(run) as (shown, url):
        assert "waiting for the first report" in get(url)[1]
        follower = threading.Thread(target=shown.follow, args=(lambda: not going.is_set(),))
        follower.start()
        stream = events(url)
        kind, first = next(stream)
        before = get(url)[1]
        finish(run)
        going.set()
        second, end = list(stream)
        after = get(url)[1]
        follower.join()
        home = shown.report.parent
    assert (kind, second[0], second[1]["trials"], end[0]) == ("report", "report", first["trials"] + 1, "end")
    assert after.count('<tr id="t-') == before.count('<tr id="t-') + 1
    assert not home.exists() and not (run / "report").exists(), "nothing is left, nor written into the run"


@pytest.mark.servers
def test_files_are_for_those_who_know_the_address(run: Path) -> None:
    with live.serving(run) as (shown, url):
        shown.refresh()
        base = urlsplit(url).path.removesuffix("/report/index.html")
        assert urlsplit(url).hostname == "127.0.0.1"
        assert get(url)[0] == 200
        assert get(url, f"{base}/plan.json")[0] == 200
        (run.parent / "secret").write_text("secret")
        for path in (
            "/", "/report/index.html", f"{base[:-1]}x/report/index.html", f"{base}/trials/", f"{base}/../secret",
            f"{base}/%2e%2e/secret", f"{base}/report/../../secret", f"{base}/report/..%2f..%2fplan.json",
        ):  # fmt: skip
            status, text = get(url, path)
            assert status == 404 and "secret" not in text, path
        assert get(url, host="attacker.example:80")[0] == 404, "a name that leads here by its DNS"


@pytest.mark.servers
def test_what_changed_is_replaced_and_the_reader_stays(searched: Path, tmp_path: Path, chromium: Chromium) -> None:
    page.build(searched)
    text = (searched / "report/index.html").read_text(encoding="utf-8")
    script = (Path(live.__file__).parent / "templates/live.js").read_text(encoding="utf-8")
    bare = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    shown = tmp_path / "index.html"
    shown.write_text(text.replace("</body>", f"{STUBS}<script>{script}</script></body>"), encoding="utf-8")
    chromium.open(shown)
    seen = chromium.evaluate(PROBE % json.dumps(bare))
    assert chromium.problems == []
    assert seen == {
        "replaced": [False, True, True], "moved": 0, "open": True, "sorted": "ascending", "enlarge": True,
        "state": "Live: 7 trials, as of 12:00:00",
    }  # fmt: skip
