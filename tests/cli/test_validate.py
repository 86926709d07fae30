"""``loadstone validate`` as a user meets it: exit code 2, one clear message for each mistake, no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.model.wrong_files import cases, table

ROOT = Path(__file__).parents[2]
LOADSTONE = Path(sys.executable).with_name("loadstone")


def validate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LOADSTONE, "validate", *arguments], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize(
    "name",
    [
        "a negative rate",
        "an unknown key with a near miss",
        "an SLO without a percentile",
        "several mistakes at once",
        "an open bracket",
    ],
)
def test_a_wrong_study_ends_with_exit_code_2_and_the_messages_of_the_table(name: str, tmp_path: Path) -> None:
    case = next(case for case in cases(table("wrong-studies.txt")) if case.name == name)
    (tmp_path / "study.yaml").write_text(case.text)
    ended = validate(tmp_path, "study.yaml")
    assert ended.returncode == 2
    assert ended.stderr.splitlines() == [f"error: {case.messages[0]}", *case.messages[1:]]
    assert ended.stdout == ""


def test_a_wrong_override_is_named(tmp_path: Path) -> None:
    ended = validate(ROOT, "studies/first-light.yaml", "--set", "trial.duration=3")
    assert ended.returncode == 2
    assert "--set trial.duration=3: trial.duration: 3 has no unit" in ended.stderr


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    ended = validate(tmp_path, "nowhere.yaml")
    assert (ended.returncode, ended.stderr) == (2, "error: nowhere.yaml: cannot be read: No such file or directory\n")


STUDIES = sorted(file for file in (ROOT / "studies").rglob("*.yaml") if file.parent.name != "published")


@pytest.mark.parametrize("study", STUDIES, ids=lambda path: path.stem)
def test_every_study_that_comes_with_loadstone_is_right(study: Path) -> None:
    ended = validate(ROOT, str(study))
    assert ended.returncode == 0, ended.stderr


def test_compose_files_with_tags_and_of_others_are_applications(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(
        'services:\n  web:\n    image: nginx:1.25\n    ports: !override ["8080:80"]\n    labels: !reset null\n'
    )
    (tmp_path / "compose.yaml").write_text("include: [web.yaml]\n")
    for name in ("web.yaml", "compose.yaml"):
        ended = validate(tmp_path, name)
        assert ended.returncode == 0, ended.stderr
        assert "image: nginx:1.25" in ended.stdout


@pytest.mark.parametrize("option", [("--set", "load.timeout=1s"), ("--scale", "here")])
def test_an_application_takes_no_options_of_studies(option: tuple[str, str]) -> None:
    ended = validate(ROOT, "loadstone/applications/shop/application.yaml", *option)
    assert (ended.returncode, ended.stderr) == (2, f"error: {option[0]} is for studies; this is an application\n")
