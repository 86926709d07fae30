"""The way to a host over SSH: where its sockets lie, and what it makes of answers that it does not expect."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

from loadstone.infrastructure.machines import ssh
from loadstone.model.errors import PreflightError


def test_a_socket_s_path_is_short_enough_whatever_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("long" * 15)))
    folder = ssh.sockets()
    assert folder.is_dir() and len(f"{folder}/12345678-{'c' * 40}.{'r' * 16}") < 108


@pytest.mark.parametrize("name", ["a b", "100%", "%n", "a:b", 'a"b'])
def test_what_ssh_reads_into_a_path_is_in_no_socket_s(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(tempfile, "tempdir", f"/tmp/{name}")
    assert ssh.sockets() == Path(f"/tmp/loadstone-ssh-{os.geteuid()}")


@pytest.mark.parametrize(
    ("start", "written"), [("echo 'Welcome to the lab'", "Welcome to the lab"), ("exit 0", ""), ("echo 7", "7")]
)
def test_a_login_that_writes_of_its_own_accord_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str, written: str
) -> None:
    login = tmp_path / "ssh"
    login.write_text(f'#!/bin/sh\n{start}\nfor last; do :; done\nexec sh -c "$last"\n')
    login.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(PreflightError, match=rf"host-1: its login writes of its own accord: '{written}.*\n.*bashrc"):
        ssh.Ssh("host-1").deliver(Path(sys.executable).resolve())


def test_a_changed_key_is_named_where_it_is_whatever_the_host_is_called() -> None:
    complaint = "\r\n".join([
        "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @",
        "Add correct host key in /home/ada/known hosts to get rid of this message.",
        "Offending ED25519 key in /home/ada/known hosts:12",
        "Host key verification failed.",
    ])  # fmt: skip
    message, remedy = ssh.Ssh("root@node-1").explain(complaint)
    assert message == "its host key has changed"
    assert remedy.endswith("delete its old key: line 12 of /home/ada/known hosts")


def test_a_complaint_that_is_not_known_is_reported_by_its_last_line() -> None:
    complaint = "percent_expand: unknown key %q\n\n \n"
    assert ssh.Ssh("node-1").explain(complaint) == ("percent_expand: unknown key %q", "")
