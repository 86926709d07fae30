"""The built-in driver: ``stone load``, open loop, latency from the intended send time."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import IO, Any

from loadstone.infrastructure.binary import stone_binary, stone_version
from loadstone.model.study import Load
from loadstone.model.trial import Trial
from loadstone.model.workload import Workload
from loadstone.workloads.base import Driver, DriverError, Progress

_STOP_GRACE_S = 3.0


def load_plan(
    trial: Trial, workload: Workload, load: Load, targets: list[str], cpus: tuple[int, ...]
) -> dict[str, Any]:
    """The plan file of ``stone load`` for one trial; pure."""
    plan: dict[str, Any] = {
        "target": f"http://{targets[0]}",
        "replicas": targets[1:],
        "connections": load.connections,
        "threads": load.threads,
        "arrival": {"process": load.arrival, "rate": trial.rate},
        "warmup_s": trial.warmup_s,
        "duration_s": trial.duration_s,
        "timeout_s": load.timeout,
        "drain_s": load.drain or load.timeout,
        "seed": trial.seed,
        "wait": load.wait,
        "cpus": list(cpus),
        "operations": [
            {"name": name, **operation.model_dump(mode="json", by_alias=True, exclude_none=True)}
            for name, operation in workload.operations.items()
        ],
    }
    if load.objective is not None:
        percentile, limit_ms = load.objective.strictest
        plan["slo"] = {"percentile": percentile, "latency_ms": limit_ms}
        # A fixed rate is asked for to see what happens there; only a search may cut a lost trial short.
        plan["abort"] = trial.phase != "fixed"
    return plan


class Stone(Driver):
    """Runs ``stone load`` as a child that dies with us, even if we are killed."""

    name = "stone"

    def version(self) -> str:
        return stone_version()

    def run(
        self,
        trial: Trial,
        workload: Workload,
        load: Load,
        targets: list[str],
        cpus: tuple[int, ...],
        folder: Path,
        progress: Progress,
    ) -> dict[str, Any]:
        plan_file = folder / "load.json"
        plan_file.write_text(json.dumps(load_plan(trial, workload, load, targets, cpus), indent=1))
        command = [str(stone_binary()), "load", "--plan", str(plan_file), "--out", str(folder), "--progress"]
        if setpriv := shutil.which("setpriv"):
            command = [setpriv, "--pdeathsig", "KILL", "--", *command]
        with tempfile.TemporaryFile("w+") as said:
            with subprocess.Popen(
                command, stdout=said, stderr=subprocess.PIPE, text=True, start_new_session=True
            ) as process:
                try:
                    words = _relay(process.stderr, progress)
                    code = process.wait()
                except BaseException:
                    _stop(process)
                    raise
            said.seek(0)
            words += said.read()
        if code != 0:
            raise DriverError(f"stone load exited with {code}: {words.strip()[-500:] or 'it said nothing'}")
        try:
            summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
        except (OSError, ValueError) as error:
            raise DriverError(f"stone load left no readable summary: {error}") from None
        return summary


def _relay(lines: IO[str] | None, progress: Progress) -> str:
    """Pass progress lines on; return all other lines, which are the generator's words."""
    words = []
    for line in lines or ():
        if line.startswith("{"):
            with contextlib.suppress(ValueError):
                progress(json.loads(line))
                continue
        words.append(line)
    return "".join(words)


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
