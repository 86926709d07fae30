"""A wheel that carries the stone binary, installed where there is no checkout and no Go."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from loadstone.infrastructure.machines.delivery import architecture

ROOT = Path(__file__).resolve().parents[1]
PROCESSOR = {"x86_64": "amd64", "aarch64": "arm64"}[architecture(os.uname().machine)]


def wheel(folder: Path) -> Path:
    environment = {**os.environ, "LOADSTONE_WHEEL": PROCESSOR, "SOURCE_DATE_EPOCH": "1750000000"}
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, env=environment, check=True)
    [made] = folder.glob("*.whl")
    return made


@pytest.mark.long
def test_a_wheel_needs_no_checkout(tmp_path: Path) -> None:
    first, second = wheel(tmp_path / "first"), wheel(tmp_path / "second")
    assert "manylinux" in first.name
    digests = {hashlib.sha256(made.read_bytes()).hexdigest() for made in (first, second)}
    assert len(digests) == 1, "the same sources give the same bytes"
    home = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    python = home / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", str(first)], check=True)
    # What it depends on is borrowed: this environment's packages come after its own, and without their .pth files.
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(
            [sysconfig.get_paths(vars={"base": str(home)})["purelib"], sysconfig.get_paths()["purelib"]]
        ),
    }
    found = subprocess.run(
        [python, "-c", "from loadstone.infrastructure import binary as b; print(b.stone_binary(), b.compose_loader())"],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    stone, compose = found.stdout.split()
    assert all(Path(program).is_relative_to(home) and os.access(program, os.X_OK) for program in (stone, compose))
    version = subprocess.run([stone, "version"], capture_output=True, text=True, check=True).stdout
    assert version.startswith("stone 0.")
    (tmp_path / "study.yaml").write_text(
        "version: 1\nname: first\napplication: hotel-reservation\nload: {rates: [10], slo: {p99: 1s}}\n"
    )
    plan = subprocess.run(
        [home / "bin" / "loadstone", "validate", "study.yaml"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert plan.returncode == 0, plan.stdout + plan.stderr
