"""Another user of the machine, who may do nothing, and what that user tries."""

from __future__ import annotations

import glob
import os
import subprocess

from loadstone.orchestration.base import Orchestrator


def as_stranger(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user who may do nothing."""
    return subprocess.run(
        command, user="nobody", group="nogroup", extra_groups=[], env={"PATH": os.defpath, **environment}, cwd="/",
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip


def query(address: str, statement: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """An SQL statement to a PostgreSQL at ``host:port``."""
    psql = sorted(glob.glob("/usr/lib/postgresql/*/bin/psql"))[-1]
    host, _, port = address.rpartition(":")
    return as_stranger(psql, "-w", "-h", host, "-p", port, "-U", "postgres", "-Atc", statement, **environment)


def refuse_a_stranger(orchestrator: Orchestrator) -> int:
    """Every PostgreSQL of a deployment demands its password, which no file of the run has; returns how many."""
    tried = 0
    for replica in orchestrator.deployment.replicas:
        if replica.software != "postgres":
            continue
        for address in orchestrator.addresses(replica.service, replica.main_port):
            refused = query(address, "CREATE TABLE t (line text); COPY t FROM PROGRAM 'id'; SELECT * FROM t")
            assert refused.returncode != 0 and "no password supplied" in refused.stderr, refused
            assert query(address, "SELECT 7", PGPASSWORD=orchestrator.password).stdout == "7\n"
            tried += 1
    kept = [file for file in orchestrator.folder.rglob("*") if file.is_file()]
    assert kept and not [file for file in kept if orchestrator.password in file.read_text(errors="replace")]
    return tried
