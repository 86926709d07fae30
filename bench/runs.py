"""A run of a study that a benchmark needs: made once, and gone on with where it was stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
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
        print(f"{wanted['name']}: {'measuring' if run is None else 'going on'}", flush=True)
        command = [str(Path(sys.executable).with_name("loadstone")), "run", "--results", str(results)]
        environment = {**os.environ, "LOADSTONE_STONE": str(ROOT / ".build/stone")}
        code = exit_code([*command, *(["--resume", str(run)] if run else [str(file)])], environment)
        run = runs.newest(results, wanted["name"])
        # A search that ended without a breaking point is an outcome, too.
        if run is None or not (run / runs.OUTCOME).exists():
            sys.exit(f"{wanted['name']}: loadstone run exited with {code}; the same command goes on")
    return run


def exit_code(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command and return its exit code. An interruption is passed on to it, and its cleanup awaited.

    ``subprocess.run`` would kill it instead. The command has a process group of its own, so that Ctrl-C does not reach
    it twice: a second signal ends ``loadstone run`` without cleanup.
    """
    with subprocess.Popen(command, env=environment, process_group=0) as process:
        try:
            return process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
