"""Child processes and their deadlines."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from loadstone.infrastructure.subprocesses import OutOfTime, Watchdog, child, run, start, stop
from tests.support.users import wait

ROOT = Path(__file__).parents[2]
HANGS = ["sh", "-c", "trap '' TERM; sleep 100 & echo $!; wait"]
"""Starts a process that keeps its output open, and does not end by itself."""


def ended(process: psutil.Process) -> bool:
    """Whether a process is gone, or waits for its parent to take notice."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def without_deadline(source: str) -> list[int]:
    """The lines of calls that start or await a process and may last for ever."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of, name = ast.unparse(node.func.value), node.func.attr
            runs = of == "subprocess" and name in ("run", "check_output", "check_call", "call")
            if runs and not any(keyword.arg == "timeout" for keyword in node.keywords):
                found.append(node.lineno)
    return found


def test_no_command_is_run_without_a_deadline() -> None:
    assert without_deadline("import subprocess\nsubprocess.run(['true'], check=True)") == [2]
    files = sorted((ROOT / "loadstone").rglob("*.py"))
    assert len(files) > 300
    found = [f"{file}:{line}" for file in files for line in without_deadline(file.read_text())]
    assert found == [], "use loadstone.infrastructure.subprocesses.run"


def test_a_command_that_hangs_is_killed_and_named() -> None:
    with pytest.raises(OutOfTime, match=r"`sleep 100` did not end within 0\.2 s"):
        run(["sleep", "100"], 0.2)
    assert run(["sh", "-c", "echo out; exit 3"]).stdout == "out\n"


def test_outputs_in_another_encoding_are_text_as_well() -> None:
    done = run(["sh", "-c", r"printf 'gr\374n'; printf 'gr\374n' >&2"])
    assert done.stdout == done.stderr == "gr\ufffdn"
    with start(["sh", "-c", r"printf 'gr\374n' >&2"], stderr=subprocess.PIPE) as process:
        assert process.stderr is not None and process.stderr.read() == "gr\ufffdn"


def test_a_child_that_outlives_its_deadline_is_killed_with_what_it_started() -> None:
    with (
        pytest.raises(OutOfTime, match="did not end within 1 s"),
        child(HANGS, within_s=1.0, stdout=subprocess.PIPE) as process,
    ):
        assert process.stdout is not None
        below = psutil.Process(int(process.stdout.readline()))
        assert process.stdout.read() == ""  # at the end of all that had it open
    wait(lambda: ended(below))


def test_stop_ends_what_a_child_started_too() -> None:
    process = start(HANGS, stdout=subprocess.PIPE)
    assert process.stdout is not None
    below = psutil.Process(int(process.stdout.readline()))
    stop(process)
    assert process.stdout.read() == ""
    wait(lambda: ended(below))


STARTS = {
    "seeder": "from loadstone.applications import stone_seed as s; s.stone_seed(Path(program), 'shop', {}, (), print)",
    "docker": "from loadstone.infrastructure.docker_api import Engine; Engine('unix:///nowhere').run(program)",
    "instrument": "from loadstone.infrastructure.subprocesses import start; start([program]).wait()",
}


@pytest.mark.parametrize("starts", STARTS.values(), ids=STARTS)
def test_a_desk_that_is_killed_takes_its_commands_along(starts: str, tmp_path: Path) -> None:
    program, written = tmp_path / "program", tmp_path / "program.pid"
    program.write_text('#!/bin/sh\necho $$ >"$0.new"; mv "$0.new" "$0.pid"; exec sleep 1000\n')
    program.chmod(0o755)
    code = f"import sys; from pathlib import Path; program = sys.argv[1]; {starts}"
    desk = subprocess.Popen([sys.executable, "-c", code, str(program)], cwd=ROOT)
    wait(lambda: written.exists() or desk.poll() is not None)
    command = psutil.Process(int(written.read_text()))
    desk.kill()
    desk.wait()
    wait(lambda: ended(command), 60)


def test_progress_gives_a_process_its_time_again() -> None:
    steps = "import time\nfor i in range(12): print(i, flush=True); time.sleep(0.5)"
    process = start([sys.executable, "-c", steps], stdout=subprocess.PIPE)
    with process, Watchdog(process, 5) as watchdog:
        assert process.stdout is not None
        began = time.monotonic()
        for _ in process.stdout:
            watchdog.renew()
        assert process.wait() == 0
    assert time.monotonic() - began > 5 and not watchdog.expired
