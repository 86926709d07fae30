"""The start of the command line: version, completion, and what it imports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import loadstone
from loadstone.cli.main import VERBS
from tests.cli.conftest import RunCommand

STUDY = str(Path(__file__).parents[2] / "studies" / "first-light.yaml")
IMPORTED = """
import json, sys
from loadstone.cli.main import run_command
code = run_command(sys.argv[1:])
print("\\n" + json.dumps(sorted(sys.modules)))
sys.exit(code)
"""


def imported(*arguments: str) -> set[str]:
    """The modules that a command has imported when it ends."""
    ended = subprocess.run([sys.executable, "-c", IMPORTED, *arguments], capture_output=True, text=True, check=True)
    return set(json.loads(ended.stdout.splitlines()[-1]))


def test_the_version_is_printed(say: RunCommand) -> None:
    assert say("--version") == (0, f"loadstone {loadstone.__version__}\n", "")


def test_the_overview_imports_no_verb() -> None:
    modules = imported("--help")
    assert not [verb for verb in VERBS if f"loadstone.cli.{verb}" in modules]
    assert not {"pydantic", "yaml", "loadstone.experiments"} & modules


def test_a_check_imports_no_clients_and_no_tables() -> None:
    modules = imported("validate", STUDY)
    assert "loadstone.model.study" in modules
    assert (
        not {"docker", "kubernetes", "matplotlib", "numba", "numpy", "psutil", "pyarrow", "requests", "scipy"} & modules
    )
    records = {name for name in modules if name.startswith("loadstone.model.records.")}
    assert records <= {"loadstone.model.records.base", "loadstone.model.records.audit"}


@pytest.mark.parametrize("verb", ["run", "init", "report", "history"])
def test_the_help_of_a_verb_imports_nothing_that_computes(verb: str) -> None:
    assert not {"matplotlib", "numba", "numpy", "pyarrow", "scipy"} & imported(verb, "--help")


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_the_help_shows_one_pair_of_brackets_and_no_type_of_flags(say: RunCommand, verb: str) -> None:
    code, text, _ = say(*filter(None, [verb]), "--help")
    assert code == 0 and "Usage: loadstone" in text
    assert "[[" not in text and "<bool>" not in text


def test_a_run_and_its_report_import_late_what_takes_a_second_and_few_need() -> None:
    late = {"numba", "ruptures", "scipy.optimize", "scipy.stats"}
    code = "import sys, loadstone.cli.running, loadstone.report.page; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not late & set(ended.stdout.split())


def test_an_option_before_the_verb_hides_no_verb(say: RunCommand, tmp_path: Path) -> None:
    code, text, _ = say("--allow-path", str(tmp_path), "validate", STUDY)
    assert code == 0 and "is valid" in text


@pytest.mark.parametrize(
    ("shell", "typed", "expected"),
    [
        ("bash", {"COMP_WORDS": "loadstone re", "COMP_CWORD": "1"}, ["restore", "report", "render"]),
        ("bash", {"COMP_WORDS": "loadstone run --em", "COMP_CWORD": "2"}, ["--emulated-ok"]),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "loadstone run --em"}, ["--emulated-ok"]),
        (
            "fish",
            {"_TYPER_COMPLETE_ARGS": "loadstone run --em", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
            ["--emulated-ok"],
        ),
    ],
)
def test_verbs_and_their_options_are_completed(
    say: RunCommand, monkeypatch: pytest.MonkeyPatch, shell: str, typed: dict[str, str], expected: list[str]
) -> None:
    monkeypatch.setenv("_LOADSTONE_COMPLETE", f"complete_{shell}")
    for name, value in typed.items():
        monkeypatch.setenv(name, value)
    code, text, _ = say()
    assert code == 0
    assert all(word in text for word in expected) and "validate" not in text


@pytest.mark.parametrize(
    ("shell", "line"), [("bash", "COMPREPLY="), ("zsh", "#compdef loadstone"), ("fish", "complete ")]
)
def test_the_script_of_the_user_s_shell_is_printed(
    say: RunCommand, monkeypatch: pytest.MonkeyPatch, shell: str, line: str
) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: (shell, f"/bin/{shell}"))
    code, text, _ = say("--show-completion")
    assert code == 0 and "_LOADSTONE_COMPLETE" in text and line in text


def test_a_wrong_name_is_no_error_while_completing(say: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = {"_LOADSTONE_COMPLETE": "complete_bash", "COMP_WORDS": "loadstone rum --", "COMP_CWORD": "2"}
    for name, value in typed.items():
        monkeypatch.setenv(name, value)
    code, text, complaint = say()
    assert (code, complaint) == (0, "") and "--resume" not in text
