"""The stand-in for CouchDB answers as an independent server of the same protocol does: PouchDB's, of npm.

That server is not CouchDB either. Left out is where it differs from CouchDB's documentation: it has no ``_up``, takes
any name of a database, deletes one that is not there, and answers 500 to an unknown ``_member``.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from loadstone.infrastructure.binary import stone_binary
from tests.support.servers import free_port
from tests.support.users import wait

pytestmark = [pytest.mark.servers, pytest.mark.long]

PACKAGES = ("express@4.21.2", "express-pouchdb@4.2.0", "pouchdb-core@7.3.1", "pouchdb-adapter-memory@7.3.1")
SERVER = """\
const PouchDB = require('pouchdb-core').plugin(require('pouchdb-adapter-memory')).defaults({adapter: 'memory'});
const databases = require('express-pouchdb')(PouchDB, {mode: 'minimumForPouchDB', inMemoryConfig: true});
require('express')().use('/', databases).listen(Number(process.argv[2]), '127.0.0.1');
"""
REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", "/x", None),
    ("POST", "/x", {}),
    ("PUT", "/x", None),
    ("PUT", "/x", None),
    ("GET", "/x", None),
    ("POST", "/x", {"a": 1, "b": [1, {"c": "é"}]}),
    ("PUT", "/x/d", {"a": 1}),
    ("GET", "/x/d", None),
    ("GET", "/x/none", None),
    ("PUT", "/x/d", {"a": 2}),
    ("POST", "/x", {"_id": "d", "a": 2}),
    ("PUT", "/x/d", {"_rev": "1-00000000000000000000000000000000", "a": 2}),
    ("PUT", "/x/d", {"_rev": "REVISION", "a": 2}),
    ("PUT", "/x/d?rev=REVISION", {"a": 3}),
    ("GET", "/x/d", None),
    ("POST", "/x", '{"a":'),
    ("POST", "/x", []),
    ("PUT", "/x/e", '{"a":'),
    ("PUT", "/x/e", "[]"),
    ("GET", "/x/e", None),
    ("POST", "/x/_bulk_docs", {"docs": [{"_id": "b"}, {"_id": "a", "v": 1}, {"_id": "c"}, {"_id": "a"}]}),
    ("POST", "/x/_all_docs?include_docs=true", {"keys": ["a", "none", "d"]}),
    ("GET", "/x", None),
    ("DELETE", "/x", None),
    ("GET", "/x", None),
    ("PUT", "/y", None),
    ("POST", "/y/_bulk_docs", {"docs": [{"_id": "b"}, {"_id": "a", "v": 1}, {"_id": "c"}]}),
    ("GET", "/y/_all_docs", None),
    ("GET", "/y/_all_docs?skip=1&limit=1", None),
    ("GET", "/y/_all_docs?limit=1&include_docs=true", None),
    ("GET", "/y/_changes", None),
    ("GET", "/y/_changes?since=1&limit=1", None),
]
"""Method, path and body; REVISION is that of the last document in an answer."""
UNLIKE = {
    "reason",
    "adapter",
    "auto_compaction",
    "backend_adapter",
    "doc_del_count",
    "instance_start_time",
    "offset",
    "pending",
}
"""Members that no service reads; the words of a reason differ."""
COUNTED = {"seq", "last_seq", "update_seq"}
"""Numbers or texts, as CouchDB's versions have them."""


@contextmanager
def served(*command: str | Path) -> Iterator[None]:
    """A process that is killed at the end."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()


def answers(port: int) -> list[tuple[str, int, Any]]:
    """What a server answers to all requests in their order: request, status and content."""
    wait(lambda: ask(port, "GET", "/", None) is not None, 60)
    found, revision = [], ""
    for method, path, body in REQUESTS:
        text = None if body is None else body if isinstance(body, str) else json.dumps(body)
        filled = [part and part.replace("REVISION", revision) for part in (path, text)]
        answer = ask(port, method, str(filled[0]), filled[1])
        assert answer is not None
        status, content = answer
        if isinstance(content, dict):
            revision = content.get("rev") or content.get("_rev") or revision
        found.append((f"{method} {path} {text or ''}", status, comparable(content)))
    return found


def ask(port: int, method: str, path: str, body: str | None) -> tuple[int, Any] | None:
    """Status and content of an answer; None where nothing listens."""
    data = None if body is None else body.encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=data, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
    except urllib.error.URLError:
        return None


def comparable(content: Any) -> Any:
    """Without what differs between any two servers: of revisions the number stays, of ids that a server makes none."""
    if isinstance(content, list):
        return [comparable(each) for each in content]
    if not isinstance(content, dict):
        return content
    found = {name: comparable(value) for name, value in content.items() if name not in UNLIKE}
    for name, value in found.items():
        if name in ("rev", "_rev"):
            found[name] = str(value).partition("-")[0]
        elif name in ("id", "_id", "key") and len(str(value)) > 30:
            found[name] = "made"
        elif name in COUNTED:
            found[name] = str(value)
    return found


def test_it_answers_as_pouchdb_does(tmp_path: Path) -> None:
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("needs node and npm")
    install = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *PACKAGES]
    done = subprocess.run(install, cwd=tmp_path, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"npm cannot install PouchDB: {done.stderr[-200:]}")
    (tmp_path / "server.js").write_text(SERVER)
    mine, theirs = free_port(), free_port()
    with (
        served(stone_binary(), "couchdb", "--listen", f"127.0.0.1:{mine}"),
        served("node", tmp_path / "server.js", str(theirs)),
    ):
        for answer, expected in zip(answers(mine), answers(theirs), strict=True):
            assert answer == expected
