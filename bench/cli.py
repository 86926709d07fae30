"""CPU that the command line takes until it answers, as ratios to ``python -c pass`` (python -m bench cli).

Commands that compute nothing: the help, a completion, the check of a study, the help of each verb, which imports its
module. All are measured in turns, so that a busy machine slows them alike; the first round only fills caches, that of
compiled modules too, which an installed package has.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.common import ROOT, Row, report
from loadstone.cli.main import VERBS

LOADSTONE = [str(Path(sys.executable).with_name("loadstone"))]
ROUNDS = 7
PYTHON = "python -c pass"
COMPLETION = "completion of an option"
COMMANDS = {
    PYTHON: [sys.executable, "-c", "pass"],
    "--version": [*LOADSTONE, "--version"],
    "--help": [*LOADSTONE, "--help"],
    COMPLETION: LOADSTONE,
    "validate STUDY": [*LOADSTONE, "validate", str(ROOT / "studies" / "first-light.yaml")],
    "plan STUDY": [*LOADSTONE, "plan", str(ROOT / "studies" / "first-light.yaml")],
    **{f"{verb} --help": [*LOADSTONE, verb, "--help"] for verb in VERBS},
}
COMPLETED = {"_LOADSTONE_COMPLETE": "complete_bash", "COMP_WORDS": "loadstone run --", "COMP_CWORD": "2"}
MOST_S = {"--help": 0.3, "validate STUDY": 0.6}


def cpu(name: str, compiled: str) -> float:
    """CPU seconds of one command and all its processes; ``compiled`` is the folder of compiled modules."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    env |= {"PYTHONPYCACHEPREFIX": compiled, **(COMPLETED if name == COMPLETION else {})}
    subprocess.run(COMMANDS[name], cwd=ROOT, env=env, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def row(name: str, seconds: list[float], python: float) -> Row:
    value = statistics.median(seconds)
    most = MOST_S.get(name)
    return Row(
        f"loadstone {name}",
        "s of CPU",
        value,
        min(seconds),
        max(seconds),
        peer=PYTHON,
        peer_value=python,
        ratio=value / python,
        target=None if most is None else f"at most {most:g} s",
        holds=None if most is None else value <= most,
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as compiled:
        rounds = [{name: cpu(name, compiled) for name in COMMANDS} for _ in range(1 + ROUNDS)][1:]
    python = statistics.median(each[PYTHON] for each in rounds)
    rows = [row(name, [each[name] for each in rounds], python) for name in COMMANDS if name != PYTHON]
    report("cli", rows, [f"medians of {ROUNDS} rounds; Python {sys.version.split()[0]}"])


if __name__ == "__main__":
    main()
