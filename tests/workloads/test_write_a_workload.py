"""The workloads of the guide are sent as they stand, and what arrives is what the guide says."""

from __future__ import annotations

import http.server
import json
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest

from loadstone.infrastructure.binary import stone_binary
from loadstone.model.document import Document
from loadstone.model.workload import Workload, operation_plan

GUIDE = Path(__file__).parents[2] / "docs/how-to/write-a-workload.md"
EXAMPLES: list[str] = re.findall(r"^```yaml\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
TITLES = ["Ponyo", "Up, up and away", 'The "Third" Man']
ANSWER = {"access": {"token": "t-1"}, "features": [{"type": "Feature"}]}


class Echo(http.server.BaseHTTPRequestHandler):
    """Notes each request, and answers what all examples expect."""

    protocol_version = "HTTP/1.1"
    seen: ClassVar[list[tuple[str, str, str, str]]] = []

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.seen.append((self.command, self.path, body, self.headers.get("Authorization") or ""))
        text = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_POST = do_GET

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.fixture
def seen() -> Iterator[tuple[str, list[tuple[str, str, str, str]]]]:
    Echo.seen = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}", Echo.seen
        server.shutdown()


def send(text: str, target: str, folder: Path) -> dict[str, Any]:
    """Sends an example as the built-in driver would, some forty arrivals of it; returns the summary."""
    (folder / "titles.csv").write_text(
        "id,title\n" + "".join(f'{n},"{t.replace(chr(34), chr(34) * 2)}"\n' for n, t in enumerate(TITLES))
    )
    workload = Document(text, folder / "application.yaml").parse(Workload)
    operations = [operation_plan(name, operation) for name, operation in workload.operations.items()]
    for step in (step for operation in operations for step in operation.get("steps", [])):
        step.pop("think", None)  # the pauses are of seconds
    plan = {
        "target": f"http://{target}",
        "connections": 4,
        "arrival": {"process": "constant", "rate": 40},
        "duration_s": 1,
        "timeout_s": 30,
        "seed": 1,
        "operations": operations,
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    command = [str(stone_binary()), "load", "--plan", str(folder / "plan.json"), "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return summary


@pytest.mark.parametrize("text", EXAMPLES, ids=lambda text: text.split("operations:\n  ")[1].split(":")[0])
def test_an_example_of_the_guide_completes(text: str, seen: tuple[str, Any], tmp_path: Path) -> None:
    target, requests = seen
    summary = send(text, target, tmp_path)
    assert summary["errors"] == []
    assert summary["counts"]["completed"] == summary["counts"]["sent"] == len(requests) > 0


def example(word: str) -> str:
    (text,) = (text for text in EXAMPLES if word in text)
    return text


def test_a_post_is_the_published_one(seen: tuple[str, Any], tmp_path: Path) -> None:
    target, requests = seen
    send(example("compose-post"), target, tmp_path)
    form = re.compile(
        r"username=username_(\d+)&user_id=\1&text=[a-zA-Z0-9]{256}((?: @username_\d+){1,6})(?: http://[a-zA-Z0-9]{64}){1,6}"
        r'&media_ids=\[((?:"\d{18}",?){1,5})\]&media_types=\[((?:"png",?){1,5})\]&post_type=0'
    )
    for _, _, body, _ in requests:
        match = form.fullmatch(body)
        assert match is not None, body
        user, mentions, ids, types = match.groups()
        assert f"@username_{user}" not in mentions.split()
        assert ids.count(",") == types.count(",")


def test_values_of_a_file_arrive_whole(seen: tuple[str, Any], tmp_path: Path) -> None:
    target, requests = seen
    send(example("titles.csv"), target, tmp_path)
    queries = [parse_qs(urlsplit(path).query) for _, path, _, _ in requests]
    assert {query["title"][0] for query in queries} == set(TITLES)
    ids = sorted(int(query["id"][0]) for query in queries)
    assert ids == list(range(1000, 1000 + len(ids)))


def test_a_session_keeps_its_guest_and_its_token(seen: tuple[str, Any], tmp_path: Path) -> None:
    target, requests = seen
    summary = send(example("visit:"), target, tmp_path)
    assert [operation["name"] for operation in summary["operations"]] == ["visit.login", "visit.search", "visit.book"]
    paths = [urlsplit(path) for _, path, _, _ in requests]
    guests = sorted(parse_qs(path.query)["name"][0] for path in paths if path.path == "/login")
    booked = sorted(f"guest_{parse_qs(path.query)['guest'][0]}" for path in paths if path.path == "/book")
    assert guests == booked != []
    assert {token for _, path, _, token in requests if not path.startswith("/login")} == {"Bearer t-1"}
