"""Locks that another user can neither take nor trap, and whose holder is named."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from loadstone.infrastructure.locks import locked
from loadstone.infrastructure.namespaces.emulated import EmulatedHosts
from loadstone.model.errors import DeploymentError

HOLD = (
    "import fcntl, sys, time; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); time.sleep(60)"
)


def test_who_holds_a_lock_is_named(tmp_path: Path) -> None:
    file = tmp_path / "locks" / "lock"
    with locked(file, 0):
        pass
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    with subprocess.Popen([sys.executable, "-c", HOLD, str(file)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline()
        with pytest.raises(DeploymentError, match=rf"locked for 0\.2 s by process {other.pid} \("), locked(file, 0.2):
            pass
        other.kill()
    with locked(file, 10):
        pass


def test_nothing_that_lies_there_before_is_followed_or_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(DeploymentError, match="is not a file of user"), locked(tmp_path / "fifo", 0):
        pass
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path / "link", 0):
        pass
    assert not (tmp_path / "target").exists()


def test_a_forged_journal_entry_removes_no_folder(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("1")
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    for folder in ("precious", "link"):
        forged = EmulatedHosts("abcdef", "198.18.0.0/28", str(tmp_path / folder), (), state=str(tmp_path / "state"))
        with pytest.raises(DeploymentError, match="is not the folder of emulated-abcdef"):
            forged.remove()
    assert (tmp_path / "precious" / "file").read_text() == "1"


CLAIM = """
import os, resource, signal, sys
from loadstone.infrastructure.namespaces.emulated import EmulatedHosts
from loadstone.infrastructure.namespaces.network import Network
Network.claim = lambda network: os.kill(os.getpid(), signal.SIGKILL)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # a file can be made, and nothing be written to it
EmulatedHosts("abcdef", "198.18.0.0/28", sys.argv[1], (), state=sys.argv[1] + "-state").claim()
"""


def test_a_desk_killed_while_it_claims_a_folder_leaves_one_that_is_known(tmp_path: Path) -> None:
    folder = tmp_path / "emulated-abcdef"
    subprocess.run([sys.executable, "-B", "-c", CLAIM, folder], check=False, timeout=60)
    claimed = EmulatedHosts("abcdef", "198.18.0.0/28", str(folder), (), state=str(tmp_path / "state"))
    assert any(folder.iterdir())
    claimed.refuse_foreign()
    with pytest.raises(DeploymentError, match="is not the folder of emulated-fedcba"):
        replace(claimed, id="fedcba").refuse_foreign()
