"""A source of real packages for emulated hosts, which have no way to the distribution's servers."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

USE = """
rm -rf /etc/apt/sources.list.d /etc/apt/sources.list /var/lib/apt/lists
echo 'deb [trusted=yes] file:{folder} ./' >/etc/apt/sources.list
echo 'APT::Sandbox::User "root";' >/etc/apt/apt.conf.d/00test
"""
"""Shell lines by which a host uses a source and no other."""
MEASURES = """
mkdir -p /etc/default
echo 'DAEMON_OPTS="-x"' >/etc/default/chrony
"""
"""Shell lines by which chrony measures a host's clock, which is this machine's, and sets nothing: the file is purged
with the package."""
WITHOUT_CHRONY = f"""
dpkg --purge --force-depends chrony >/dev/null 2>&1
{MEASURES}"""


def fetched(folder: Path, packages: Sequence[str]) -> Path:
    """A folder with the packages of this machine's release and their index; the test is skipped without a network."""
    folder.mkdir()
    command = ["apt-get", "download", "-q", *packages]
    if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
        subprocess.run(["apt-get", "update", "-q"], capture_output=True, check=False)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"packages cannot be had: {done.stderr.splitlines()[-1:]}")
    if "systemd-timesyncd" in packages and not _gives_back(folder, "systemd-timesyncd"):
        pytest.skip("the release has moved on since this machine was installed: what is removed cannot be given back")
    stanzas = []
    for file in sorted(folder.glob("*.deb")):
        fields = subprocess.run(["dpkg-deb", "-f", file], capture_output=True, text=True, check=True).stdout
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        stanzas.append(f"{fields}Filename: ./{file.name}\nSize: {file.stat().st_size}\nSHA256: {digest}\n")
    (folder / "Packages").write_text("\n".join(stanzas))
    return folder


def _gives_back(folder: Path, package: str) -> bool:
    """Whether the folder has a package in the version that is installed here: a newer one needs newer others."""
    query = ["dpkg-query", "-W", "-f", "${Version}", package]
    there = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    return not there or any(folder.glob(f"{package}_{there}_*.deb"))
