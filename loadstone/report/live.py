"""The report of a run while it runs: a page on loopback that is written anew when a trial has finished."""

from __future__ import annotations

import json
import secrets
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from loadstone.report import content as contents
from loadstone.report import page, rendering

LOOK_S = 1.0
"""How often the run folder is looked at."""
KEEP_ALIVE_S = 10.0
_WAITING = "<!doctype html><meta charset=utf-8><title>Loadstone</title><body><header></header></body>"
"""The page until a first report is written."""
SHARE = 0.25
"""The largest share of the time in which the page is being written."""


class LivePage:
    """The newest report of a run, in a folder of its own, and the events of those who read it."""

    def __init__(self, run_folder: Path) -> None:
        self.run = run_folder.absolute()
        self._home = Path(tempfile.mkdtemp(prefix="loadstone-watch-"))
        self._changed = threading.Condition()
        self._events: list[tuple[str, dict[str, Any]]] = []
        self._seen: Any = None
        self.report = self._home / "0"

    def close(self) -> None:
        """Remove the report; the run folder is never written to."""
        shutil.rmtree(self._home, ignore_errors=True)

    def refresh(self) -> bool:
        """Write the report anew if a trial has finished since; whether it was."""
        table = self.run / "trials.parquet"
        seen = table.stat().st_mtime_ns if table.exists() else None
        if seen == self._seen and self.report.exists():
            return False
        page.refuse_links(self.run)
        content = contents.gather(self.run)
        target = self._home / str(len(self._events) + 1)
        target.mkdir()
        page.write(content, target)
        old, self.report, self._seen = self.report, target, seen
        shutil.rmtree(old, ignore_errors=True)
        self._tell("report", trials=len(content.run.trials), time=time.strftime("%H:%M:%S"))
        return True

    def follow(self, running: Callable[[], bool]) -> None:
        """Refresh until the run has ended, and once more; raises InputError where the run cannot be read."""
        while running():
            began = time.monotonic()
            if self.refresh():
                rested = time.monotonic() + (time.monotonic() - began) * (1 / SHARE - 1)
                while running() and time.monotonic() < rested:
                    time.sleep(LOOK_S)
            time.sleep(LOOK_S)
        self.refresh()
        self._tell("end", text="The run has ended; this page stays as it is.")
        time.sleep(LOOK_S)  # for the last events to arrive

    def events(self, after: int) -> Iterator[tuple[str, dict[str, Any]] | None]:
        """Events from the newest that is known on, each once; None where nothing happened for a while."""
        while True:
            with self._changed:
                if len(self._events) <= after:
                    self._changed.wait(KEEP_ALIVE_S)
                news = self._events[after:]
            after += len(news)
            yield from news
            if not news:
                yield None

    @property
    def count(self) -> int:
        """How many events there were."""
        return len(self._events)

    def _tell(self, kind: str, **data: Any) -> None:
        with self._changed:
            self._events.append((kind, data))
            self._changed.notify_all()


class _Handler(SimpleHTTPRequestHandler):
    """Files of the report and of the run, and the stream of events, to those who know the token."""

    protocol_version = "HTTP/1.0"
    server: LiveServer

    def do_GET(self) -> None:
        path = self._path()
        if path is None:
            self.send_error(HTTPStatus.NOT_FOUND)
        elif path == "report/events":
            self._send_events()
        elif path == "report/index.html":
            self._send_page()
        else:
            super().do_GET()

    def do_HEAD(self) -> None:
        self.send_error(HTTPStatus.METHOD_NOT_ALLOWED)

    def _path(self) -> str | None:
        """The path below the token; None for another address or a name that is not of this machine."""
        host = (self.headers.get("Host") or "").rpartition(":")[0]
        start = f"/{self.server.token}/"
        path = unquote(urlsplit(self.path).path)
        known = secrets.compare_digest(path[: len(start)].encode(), start.encode())
        if host not in ("127.0.0.1", "localhost") or not known:
            return None
        return path[len(start) :]

    def translate_path(self, path: str) -> str:
        """The file of an address: below the newest report, else below the run folder."""
        rest = self._path() or ""
        base = self.server.page.report if rest.startswith("report/") else self.server.page.run
        found = (base / rest.removeprefix("report/")).resolve()
        return str(found if found.is_relative_to(base.resolve()) else base / "nothing")

    def list_directory(self, path: Any) -> None:
        self.send_error(HTTPStatus.NOT_FOUND)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is for the run."""

    def _send_page(self) -> None:
        index = self.server.page.report / "index.html"
        text = index.read_text(encoding="utf-8") if index.exists() else _WAITING
        script = rendering.render("live.html.j2", {}, {})
        data = text.replace("</body>", f"{script}</body>").encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _send_events(self) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        live = self.server.page
        try:
            for event in live.events(max(0, live.count - 1)):
                text = ": still here\n\n" if event is None else f"event: {event[0]}\ndata: {json.dumps(event[1])}\n\n"
                self.wfile.write(text.encode())
                self.wfile.flush()
        except OSError:  # the reader has gone
            return


class LiveServer(ThreadingHTTPServer):
    """Serves a live page on a random port of loopback, below a random token."""

    daemon_threads = True

    def __init__(self, live: LivePage) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.page = live
        self.token = secrets.token_urlsafe(16)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing where the reader has gone, as one who closes the page: the terminal is for the run."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.server_address[1]}/{self.token}/report/index.html"


@contextmanager
def serving(run_folder: Path) -> Iterator[tuple[LivePage, str]]:
    """The live page of a run folder, with its address; both are gone at the end of the block."""
    live = LivePage(run_folder)
    try:
        with LiveServer(live) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                yield live, server.url
            finally:
                server.shutdown()
    finally:
        live.close()
