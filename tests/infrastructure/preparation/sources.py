"""A source of real packages for emulated hosts, which have no way to the distribution's servers."""

from __future__ import annotations

import email
import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

USE = """
rm -rf /etc/apt/sources.list.d /etc/apt/sources.list /var/lib/apt/lists
echo 'deb [trusted=yes] file:{folder} ./' >/etc/apt/sources.list
echo 'APT::Sandbox::User "root";' >/etc/apt/apt.conf.d/00test
echo force-unsafe-io >/etc/dpkg/dpkg.cfg.d/test
rm -f /var/lib/man-db/auto-update
"""
"""Shell lines by which a host uses a source and no other; what makes packages slow to install is left out."""
MEASURES = """
mkdir -p /etc/default
echo 'DAEMON_OPTS="-x"' >/etc/default/chrony
"""
"""Shell lines by which chrony measures a host's clock, which is this machine's, and sets nothing: the file is purged
with the package."""
WITHOUT_CHRONY = f"""
dpkg --purge --force-depends chrony >/dev/null 2>&1
{MEASURES}"""
_STATE = ("Status", "Conffiles", "Config-Version")
"""Fields of an installed package that a package's file does not have."""


def fetched(folder: Path, packages: Sequence[str], newer: Sequence[str] = ()) -> Path:
    """A folder with packages of this machine's release and their index; the test is skipped without a network.

    What is installed here is packed from its files, whatever the distribution's mirror has by now. ``newer``: packages
    installed here of which the source has a later version too.
    """
    folder.mkdir()
    there = [package for package in packages if _installed(package)]
    if lacking := sorted(set(packages) - set(there)):
        _download(folder, lacking)
    for package in there:
        _pack(folder, package)
    for package in filter(_installed, newer):
        _pack(folder, package, "+later")
    return _indexed(folder)


def needed(folder: Path, installed: bytes, packages: Sequence[str]) -> Path:
    """The same with packages and all that they need where ``installed``, dpkg's status there, is what there is."""
    (folder / "partial").mkdir(parents=True)
    (status := folder / "status").write_bytes(installed)
    settings = [f"Dir::State::status={status}", f"Dir::Cache::archives={folder}", "APT::Sandbox::User=root"]
    options = [word for setting in settings for word in ("-o", setting)]
    command = ["apt-get", "-q", "-y", *options, "install", "--no-install-recommends", "--download-only", *packages]
    _or_skip(command)
    status.unlink()
    return _indexed(folder)


def _indexed(folder: Path) -> Path:
    stanzas = []
    for file in sorted(folder.glob("*.deb")):
        fields, digest = _run("dpkg-deb", "-f", str(file)), hashlib.sha256(file.read_bytes()).hexdigest()
        stanzas.append(f"{fields}Filename: ./{file.name}\nSize: {file.stat().st_size}\nSHA256: {digest}\n")
    (folder / "Packages").write_text("\n".join(stanzas))
    return folder


def _download(folder: Path, packages: Sequence[str]) -> None:
    _or_skip(["apt-get", "download", "-q", *packages], folder)


def _or_skip(command: list[str], folder: Path | None = None) -> None:
    """Run what downloads packages, a second time with new lists; the test is skipped where they cannot be had."""
    if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
        subprocess.run(["apt-get", "update", "-q"], capture_output=True, check=False)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"packages cannot be had: {done.stderr.splitlines()[-1:]}")


def _pack(folder: Path, package: str, suffix: str = "") -> None:
    """Pack an installed package from its files and scripts; ``suffix`` is added to its version."""
    fields = email.message_from_string(_run("dpkg-query", "-s", package))
    version = fields["Version"] + suffix
    root = folder / f"{package}{suffix}"
    listed = [path for path in map(Path, _run("dpkg-query", "-L", package).splitlines()) if path.is_absolute()]
    folders = {above for path in listed for above in path.parents}  # with what are links by now: /lib
    for path in listed:
        if path not in folders and os.path.lexists(path):
            (copy := root / path.relative_to("/")).parent.mkdir(parents=True, exist_ok=True)
            copy.mkdir() if path.is_dir() and not path.is_symlink() else shutil.copy2(path, copy, follow_symlinks=False)
    control = root / "DEBIAN"
    control.mkdir()
    for script in map(Path, _run("dpkg-query", "--control-path", package).split()):
        shutil.copy2(script, control / script.suffix[1:])
    settings = [line.split()[0] for line in (fields["Conffiles"] or "").splitlines() if line.strip()]
    (control / "conffiles").write_text("".join(f"{file}\n" for file in settings if (root / file[1:]).exists()))
    kept = {**{name: value for name, value in fields.items() if name not in _STATE}, "Version": version}
    (control / "control").write_text("".join(f"{name}: {value}\n" for name, value in kept.items()))
    _run("dpkg-deb", "--build", "-Znone", "--root-owner-group", str(root), str(folder / f"{package}{suffix}.deb"))
    shutil.rmtree(root)


def _installed(package: str) -> bool:
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status}", package]
    return subprocess.run(query, capture_output=True, text=True, check=False).stdout == "installed"


def _run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
