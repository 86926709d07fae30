"""Another user of the machine, who may do nothing, and what that user tries."""

from __future__ import annotations

import glob
import os
import subprocess
from collections.abc import Sequence

from loadstone.orchestration.base import Orchestrator
from tests.support import groups


def as_stranger(*command: str, user: str = "nobody", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user who may do nothing."""
    group = {"nobody": "nogroup"}.get(user, user)
    return subprocess.run(
        command, user=user, group=group, extra_groups=[], env={"PATH": os.defpath, **environment}, cwd="/",
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def query(
    address: str, statement: str, inside: Sequence[str] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """An SQL statement to a PostgreSQL at ``host:port``; ``inside``: as root, by a command that enters its network."""
    psql = sorted(glob.glob("/usr/lib/postgresql/*/bin/psql"))[-1]
    host, _, port = address.rpartition(":")
    command = (*inside, psql, "-w", "-h", host, "-p", port, "-U", "postgres", "-Atc", statement)
    return as_stranger(*command, user="root" if inside else "nobody", **environment)


def inside(container: str) -> list[str]:
    """The command line that enters the network of a container of this machine, whose id that is."""
    return ["nsenter", f"--net=/proc/{min(groups.processes(groups.of_container(container)))}/ns/net", "--"]


def refuse_a_stranger(orchestrator: Orchestrator, inside: Sequence[str] = ()) -> int:
    """Every PostgreSQL of a deployment demands its password, which no file of the run has; returns how many.

    ``inside``: a command that enters its network.
    """
    tried = 0
    for replica in orchestrator.deployment.replicas:
        if replica.software != "postgres":
            continue
        for address in orchestrator.inner(replica.service, replica.main_port):
            refused = query(address, "CREATE TABLE t (line text); COPY t FROM PROGRAM 'id'; SELECT * FROM t", inside)
            assert refused.returncode != 0 and "no password supplied" in refused.stderr, refused
            assert query(address, "SELECT 7", inside, PGPASSWORD=orchestrator.password).stdout == "7\n"
            tried += 1
    kept = [file for file in orchestrator.folder.rglob("*") if file.is_file()]
    assert kept and not [file for file in kept if orchestrator.password in file.read_text(errors="replace")]
    return tried


CONNECT = """
import socket, sys
for address in sys.argv[1:]:
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), 5).close()
        print(address, "reached")
    except OSError as error:
        print(address, error.strerror)
"""
"""Prints what becomes of a connection to each address."""


def connections(addresses: list[str], user: str = "nobody", inside: Sequence[str] = ()) -> dict[str, str]:
    """What becomes of a user's connection to each ``host:port``: ``reached``, or the kernel's error."""
    lines = as_stranger(*inside, "/usr/bin/python3", "-c", CONNECT, *addresses, user=user).stdout.splitlines()
    return dict(line.split(" ", 1) for line in lines)
