"""Another user of the machine tries every port that listens, every file and lock of a run, which does not notice."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.campaign import studies
from tests.support.strangers import as_stranger
from tests.support.users import User, wait

pytestmark = [pytest.mark.system, pytest.mark.root, pytest.mark.long, pytest.mark.timeout(900)]

KNOCK = """
import socket, sys
noise = [b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n",
         b"POST /trials HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 2\\r\\n\\r\\n{}",
         bytes(range(256)) * 16, b"\\0" * 4096, b'{"verb": "put", "path": "/etc/x"}\\n', b""]
for address in sys.argv[1:]:
    host, _, port = address.rpartition(":")
    for sent in noise:
        try:
            with socket.create_connection((host, int(port)), 2) as connection:
                connection.settimeout(0.2)
                connection.sendall(sent)
                print(address, repr(connection.recv(300)))
        except OSError as error:
            print(address, type(error).__name__)
"""
"""What every port is sent; prints each answer."""
TAKE = """
import fcntl, os, sys
for path in sys.argv[1:]:
    for name, flags in (("read", os.O_RDONLY), ("write", os.O_WRONLY), ("both", os.O_RDWR)):
        try:
            descriptor = os.open(path, flags | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            print("locked", name, path)
        except OSError:
            print("opened", name, path)
    if os.path.isdir(path) and os.access(path, os.W_OK):
        print("writable", "folder", path)
"""
"""Opens and locks paths; prints what it could do."""

LOCKS = re.compile(r"lock[^/]*$|/deployments$|/deployments/[^/]+$|/trials$")
"""What Loadstone locks."""


def listening(user: User) -> dict[str, str]:
    """Where processes of this run listen, and which process does."""
    found = {}
    for process in psutil.process_iter(["name", "cmdline"]):
        try:
            its = str(user.home) in " ".join(process.info["cmdline"] or []) + str(process.open_files())
            sockets = process.net_connections("tcp") if its else []
        except psutil.Error:
            continue
        for each in sockets:
            if each.status == psutil.CONN_LISTEN:
                found[f"{each.laddr.ip}:{each.laddr.port}"] = process.info["name"]
    return found


def test_another_user_reads_and_stops_nothing(user: User) -> None:
    studies.write(user, [20, 30], trial={"duration": "15s"})
    process = studies.start(user)
    wait(lambda: any(user.home.glob("results/*/*/trials/*/load.json")) or process.poll() is not None)
    ports = listening(user)
    assert {"stone", "postgres"} <= set(ports.values()), ports
    answers = as_stranger("python3", "-c", KNOCK, *ports).stdout
    assert answers.count("\n") == 6 * len(ports)
    (entry,) = user.home.glob("state/*.json")
    password = json.loads(entry.read_text())["facts"]["password"]
    assert password not in answers
    roots = [*(user.home / name for name in ("state", "data", "tmp", "results")), Path("/run/loadstone")]
    paths = [str(path) for root in roots for path in [root, *root.rglob("*")]]
    taken = [line.split(" ", 2) for line in as_stranger("python3", "-c", TAKE, *paths).stdout.splitlines()]
    assert [each for each in taken if each[0] == "writable" or each[1] != "read"] == []
    # What can be read can be locked, which blocks nothing where Loadstone does not lock it.
    assert [path for what, _, path in taken if what == "locked" and LOCKS.search(path)] == []
    searched = ["grep", "-rlsF", password, str(user.home)]
    secret = subprocess.run(searched, capture_output=True, text=True, check=False).stdout.split()
    readable = {path for _, _, path in taken}
    assert secret and not readable & set(secret), readable & set(secret)
    assert process.wait(300) == 0, (user.home / "log").read_text()
    assert [verdict for verdict, _ in studies.verdicts(user)] == ["held", "held"]
    print(f"another user: {len(ports)} ports x 6, {len(paths)} paths x 3: nothing read, written or blocked; "
          f"{len(readable)} public files")  # fmt: skip
