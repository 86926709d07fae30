"""A server that someone else deployed: a study of it from ``init`` to the report, and what it cannot have."""

from __future__ import annotations

import http.server
import json
import shutil
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.orchestration import external
from tests.cli.conftest import RunCommand
from tests.support.servers import Server

SEEN: Counter[tuple[str, str, str, str]] = Counter()
"""Requests by method, path, ``Host`` and body."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        SEEN[self.command, self.path, self.headers["Host"], body] += 1
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.fixture
def port() -> Iterator[int]:
    SEEN.clear()
    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def study(port: int, more: str = "", host: str = "127.0.0.1") -> str:
    return f"""version: 1
name: theirs
application: http://{host}:{port}
workloads:
  mix:
    operations:
      home: {{path: /}}
      buy: {{method: POST, path: /cart, headers: {{X-Shop: tea}}, body: '{{"sku": 1}}'}}
load: {{rates: [40], slo: {{p99: 2s}}, lateness: 5s}}
trial: {{warmup: 200ms, duration: 1s}}
{more}"""


@pytest.mark.servers
def test_a_server_is_loaded_and_what_was_not_observed_is_reported(say: RunCommand, tmp_path: Path, port: int) -> None:
    (tmp_path / "study.yaml").write_text(study(port))
    code, _, complaint = say("run", "study.yaml", "--shared-ok")
    assert code == 0, complaint
    assert f"http://127.0.0.1:{port} is deployed by someone else: its limits, placement, versions" in complaint
    assert {key[:2] for key in SEEN} == {("GET", "/"), ("POST", "/cart")}
    assert {key[3] for key in SEEN} == {"", '{"sku": 1}'}
    (folder,) = (tmp_path / "results" / "theirs").iterdir()
    (trial,) = (folder / "trials").iterdir()
    audit = json.loads((trial / "audit.json").read_text())
    assert {(row["what"], row["effective"]) for row in audit} == {
        *((what, "not observed") for what in ("cpu", "memory", "cores", "node", "image")),
        ("environment", "unknown"),
    }
    row = json.loads((trial / "trial.json").read_text())["row"]
    assert (row["verdict"], row["environment"], row["documents"]) == ("held", "unknown", None)
    page = (folder / "report" / "index.html").read_text()
    first_screen = page[: page.index("<main")]
    assert "limits, placement and versions <strong>not observed</strong>" in first_screen
    assert "is deployed by someone else" in first_screen and "limits audited" not in page
    assert not (tmp_path / "state").exists() or not list((tmp_path / "state").rglob("*.json")), "no journal"


@pytest.mark.servers
def test_an_interrupted_run_goes_on(say: RunCommand, tmp_path: Path, port: int) -> None:
    (tmp_path / "study.yaml").write_text(study(port))
    assert say("run", "study.yaml", "--shared-ok", "--set", "trial.repetitions=2")[0] == 0
    (folder,) = (tmp_path / "results" / "theirs").iterdir()
    shutil.rmtree(max((folder / "trials").iterdir()))  # as if it had been killed before the last trial
    (folder / "outcome.json").unlink()
    code, _, complaint = say("run", "--resume", str(folder), "--shared-ok")
    assert code == 0, complaint
    assert len(list((folder / "trials").iterdir())) == 2


@pytest.mark.servers
def test_the_study_that_init_writes_searches_a_capacity(say: RunCommand, tmp_path: Path, port: int) -> None:
    code, text, complaint = say("init", f"http://127.0.0.1:{port}/search?q=tea", "--p99", "1s")
    assert code == 0, complaint
    assert "searches the capacity under P99 <= 1s" in text
    written = (tmp_path / "study.yaml").read_text()
    assert f"application: http://127.0.0.1:{port}\n" in written and "path: /search?q=tea" in written
    quick = ("load.capacity.start=20", "load.capacity.highest=40", "load.capacity.bracket_duration=500ms")
    options = [part for text in (*quick, "trial.duration=2s", "trial.warmup=100ms") for part in ("--set", text)]
    code, text, complaint = say("run", "study.yaml", "--shared-ok", *options)
    assert "in every trial: its capacity lies above 40" in text, complaint
    assert {key[1] for key in SEEN} == {"/search?q=tea"}


@pytest.mark.servers
def test_all_addresses_of_a_name_are_loaded_under_that_name(
    say: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SEEN.clear()
    with Server(("127.0.0.1", 0), Handler) as first:
        port = first.server_address[1]
        with Server(("127.0.0.2", port), Handler) as second:
            for server in (first, second):
                threading.Thread(target=server.serve_forever, daemon=True).start()
            addresses = [(socket.AF_INET6, "::1"), (socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "127.0.0.2")]
            found = [(family, socket.SOCK_STREAM, 6, "", (ip, port)) for family, ip in addresses]
            monkeypatch.setattr(external.socket, "getaddrinfo", lambda *_, **__: found)
            (tmp_path / "study.yaml").write_text(study(port, host="shop.example"))
            code, _, complaint = say("run", "study.yaml", "--shared-ok")
            assert code == 0, complaint
            for server in (first, second):
                server.shutdown()
    assert {key[2] for key in SEEN} == {f"shop.example:{port}"}
    audit = json.loads(next((tmp_path / "results").rglob("audit.json")).read_text())
    assert {row["replica"] for row in audit} == {f"127.0.0.1:{port}", f"127.0.0.2:{port}"}


def test_where_nothing_answers_the_preflight_fails(say: RunCommand, tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        (tmp_path / "study.yaml").write_text(study(port))
        code, text, complaint = say("run", "study.yaml", "--shared-ok")
    assert (code, text) == (3, "")
    assert f"nothing answers at http://127.0.0.1:{port}: 127.0.0.1:{port} (Connection refused)" in complaint
    assert "start the server, or correct the address" in complaint


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            "factors: {scaling: [baseline, vertical]}",
            "is deployed by someone else, so 'scaling' cannot be set; remove it, or deploy the application",
        ),
        ("orchestrator: swarm", "orchestrator: http://127.0.0.1:80 is deployed by someone else, so 'orchestrator'"),
        ("cluster: {workers: 2}", "cluster.workers: http://127.0.0.1:80 is deployed by someone else"),
        ("resources: {web: {cpu: 1}}", "resources: http://127.0.0.1:80 is deployed by someone else, so 'resources'"),
        ("traces: {sample: 1%}", "so 'traces' cannot be set; remove it, or deploy the application: application: ./"),
        ("workload: mixd", "workload: server has no workload 'mixd'; did you mean 'mix'?"),
    ],
)
def test_what_needs_a_deployment_is_refused_with_a_remedy(
    say: RunCommand, tmp_path: Path, more: str, message: str
) -> None:
    (tmp_path / "study.yaml").write_text(study(80, more))
    code, _, complaint = say("validate", "study.yaml")
    assert code == 2 and message in complaint


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("http://", "'http://' is not an address; write it like http://127.0.0.1:8080"),
        ("http://me:secret@host", "send credentials in the header Authorization"),
        ("http://host:99999", "is not an address: Port out of range"),
    ],
)
def test_what_is_no_address_is_refused(say: RunCommand, tmp_path: Path, address: str, message: str) -> None:
    code, _, complaint = say("init", address)
    assert code == 2 and message in complaint and not (tmp_path / "study.yaml").exists()


def test_an_https_address_is_loaded_over_tls_under_its_name(tmp_path: Path) -> None:
    from tests.support.plans import read_plan

    (tmp_path / "study.yaml").write_text(study(8443, host="shop.example").replace("http://", "https://"))
    _, plan = read_plan(tmp_path / "study.yaml")
    assert plan.study.load.tls is not None and plan.study.load.tls.server_name == "shop.example"
