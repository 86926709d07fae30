"""The file that lists a study's hosts is checked with the study."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import RunCommand

STUDY = (Path(__file__).parents[2] / "studies" / "first-light.yaml").read_text()
LINE = 1 + STUDY.splitlines().index("cluster: {infrastructure: local}")


def study(folder: Path, infrastructure: str, file: str) -> str:
    there = f"{{infrastructure: {infrastructure}, inventory: {file}}}"
    (folder / "study.yaml").write_text(STUDY.replace("{infrastructure: local}", there))
    return "study.yaml"


@pytest.mark.parametrize("verb", ["validate", "plan"])
def test_a_missing_or_wrong_inventory_is_an_error(say: RunCommand, tmp_path: Path, verb: str) -> None:
    place = f"study.yaml:{LINE}: cluster.inventory"
    code, _, complaint = say(verb, study(tmp_path, "hosts", "hosts.yaml"))
    assert code == 2
    assert complaint == f"error: {place}: hosts.yaml: cannot be read: No such file or directory\n"
    (tmp_path / "hosts.yaml").write_text("version: 1\nhosts: {a: {address: 10.0.0.300}}\nfoo: 1\n")
    code, _, complaint = say(verb, "study.yaml")
    assert code == 2
    assert complaint.splitlines() == [
        f"error: {place}: hosts.yaml:2: hosts.a.address: '10.0.0.300' cannot be used; "
        "use an IPv4 address, such as 10.0.0.7",
        f"{place}: hosts.yaml:3: foo: unknown key 'foo'; known: hosts, ssh, version",
    ]
    (tmp_path / "hosts.yaml").write_text("version: 1\nhosts: {a: {address: 10.0.0.3}}\n")
    assert say(verb, "study.yaml")[0] == 0


@pytest.mark.parametrize("verb", ["validate", "plan"])
def test_the_manifest_of_an_experiment_may_be_yet_to_come(say: RunCommand, tmp_path: Path, verb: str) -> None:
    assert say(verb, study(tmp_path, "cloudlab", "manifest.xml"))[0] == 0
    (tmp_path / "manifest.xml").write_text("no XML")
    code, _, complaint = say(verb, "study.yaml")
    assert code == 2 and f"study.yaml:{LINE}: cluster.inventory: manifest.xml: not XML" in complaint
