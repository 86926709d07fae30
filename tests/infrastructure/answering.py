"""A server of made-up answers, for clients of HTTP APIs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any]


class Answering:
    """``answers`` by path without its query; another path does not exist. ``received``: all requests, with headers."""

    def __init__(self, answers: dict[str, Answer]) -> None:
        self.answers = answers
        self.received: list[tuple[str, dict[str, str]]] = []
        self.address = ""


@contextmanager
def answering(answers: dict[str, Answer]) -> Iterator[Answering]:
    """Serve on a free loopback port: texts as they are, everything else as JSON."""
    state = Answering(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.received.append((f"{self.command} {self.path}", dict(self.headers)))
            status, content = state.answers.get(self.path.split("?")[0], (404, "not found"))
            body = (content if isinstance(content, str) else json.dumps(content)).encode()
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_DELETE = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
