"""A run of a study that a benchmark needs: made once, and gone on with where it was stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from bench.common import ROOT
from loadstone.experiments import runs


def finished(name: str, wanted: dict[str, Any], folder: Path) -> Path:
    """The folder of the finished run; it is begun, or gone on with, where it must be."""
    file, results = folder / f"{name}.yaml", folder / name
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(yaml.safe_dump(wanted, sort_keys=False))
    run = runs.newest(results, wanted["name"])
    if run is None or not (run / runs.OUTCOME).exists():
        print(f"{name}: {'measuring' if run is None else 'going on'}", flush=True)
        command = [str(Path(sys.executable).with_name("loadstone")), "run", "--results", str(results)]
        environment = {**os.environ, "LOADSTONE_STONE": str(ROOT / ".build/stone")}
        done = subprocess.run([*command, *(["--resume", str(run)] if run else [str(file)])], env=environment)
        run = runs.newest(results, wanted["name"])
        if run is None or not (run / runs.OUTCOME).exists():
            sys.exit(f"{name}: loadstone run exited with {done.returncode}; the same command goes on")
    return run
