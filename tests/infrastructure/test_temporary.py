"""Temporary folders of killed processes are removed, and no others."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from loadstone.infrastructure import temporary

KILLED = """
import os, signal, sys
from pathlib import Path
from loadstone.infrastructure import temporary
folder = temporary.directory("pki", Path(sys.argv[1]))
Path(folder.name, "ca.key").touch()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False, timeout=60)
    [left] = tmp_path.iterdir()
    (tmp_path / "loadstone-other").mkdir()
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / left.name[:-1]).symlink_to(target)
    with temporary.directory("pki", tmp_path) as live:
        assert temporary.sweep(tmp_path) == [left]
        assert Path(live).is_dir() and target.is_dir() and not left.exists()
    assert temporary.sweep(tmp_path) == []


def test_what_another_process_removes_meanwhile_is_no_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with temporary.directory("image", tmp_path) as live:
        boot = Path(live).name.split("-")[3]
        old = [tmp_path / Path(live).name.replace(boot, digits) for digits in ("00000000", "00000001")]
        for folder in old:
            folder.mkdir()
        monkeypatch.setattr(Path, "iterdir", lambda _: iter([tmp_path / f"{old[0].name}gone", *old]))
        assert temporary.sweep(tmp_path) == old


def test_a_folder_of_another_boot_is_left_over(tmp_path: Path) -> None:
    with temporary.directory("image", tmp_path) as live:
        boot = Path(live).name.split("-")[3]
        old = tmp_path / Path(live).name.replace(boot, "00000000")
        old.mkdir()
        assert temporary.sweep(tmp_path) == [old]


def test_a_folder_of_another_machine_that_shares_the_parent_stays(tmp_path: Path) -> None:
    with temporary.directory("image", tmp_path) as live:
        host, boot = Path(live).name.split("-")[2:4]
        there = tmp_path / Path(live).name.replace(host, "0" * len(host)).replace(boot, "00000000")
        there.mkdir()
        assert temporary.sweep(tmp_path) == []
        assert there.is_dir()


@pytest.mark.root
def test_the_folder_of_a_process_that_a_container_cannot_see_stays(tmp_path: Path) -> None:
    sweep = "from loadstone.infrastructure import temporary; temporary.sweep()"
    inside = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", sweep]
    with temporary.directory("ansible", tmp_path) as live:
        subprocess.run(inside, env={**os.environ, "TMPDIR": str(tmp_path)}, check=True, timeout=60)
        assert Path(live).is_dir()


KEYS = """
import os, signal, sys
from loadstone.infrastructure.kubernetes_api import KubernetesApi
api = KubernetesApi([sys.argv[1]])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_no_key_of_a_kubeconfig(tmp_path: Path) -> None:
    places = tmp_path / "tmp"
    places.mkdir()
    secret = base64.b64encode(b"secret").decode()
    kubeconfig = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"client-certificate-data": secret, "client-key-data": secret}}],
    }
    (tmp_path / "config").write_text(json.dumps(kubeconfig))
    environment = {**os.environ, "TMPDIR": str(places)}
    subprocess.run([sys.executable, "-c", KEYS, tmp_path / "config"], env=environment, check=False, timeout=60)
    assert [path for path in places.rglob("*") if path.is_file()]
    temporary.sweep(places)
    assert list(places.iterdir()) == []
