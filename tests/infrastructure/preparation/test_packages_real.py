"""The module that installs packages, with the real apt-get and dpkg in layers over this machine's file system."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from loadstone.infrastructure.preparation.playing import PLAYBOOKS
from tests.infrastructure.preparation import sources

pytestmark = [
    pytest.mark.root,
    pytest.mark.docker,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]

LAYERS = """
for folder in etc usr var; do
  mkdir -p {root}/$folder/upper {root}/$folder/work
  mount -t overlay -o lowerdir=/$folder,upperdir={root}/$folder/upper,workdir={root}/$folder/work overlay /$folder
done
rm -f /usr/sbin/policy-rc.d
mount -t tmpfs run /run
mkdir -p /var/lib/loadstone
mount -t tmpfs record /var/lib/loadstone
"""
REMOVED = """
cat >>/var/lib/dpkg/status <<END
Package: chrony
Status: deinstall ok config-files
Maintainer: Ada <ada@example.org>
Architecture: all
Version: 1
Conffiles:
 /etc/default/chrony 0123456789abcdef0123456789abcdef
 /etc/init.d/chrony 0123456789abcdef0123456789abcdef
Description: removed

END
printf '/etc/default/chrony\\n/etc/init.d/chrony\\n' >/var/lib/dpkg/info/chrony.list
"""
"""As if chrony had been removed before, with its settings left there; its script has been deleted by someone since."""
MODULE = f"""
import runpy
import ansible.module_utils
ansible.module_utils.__path__.append("{PLAYBOOKS}/module_utils")
runpy.run_path("{PLAYBOOKS}/library/loadstone_packages.py", run_name="__main__")
"""
PREPARED = '{"ANSIBLE_MODULE_ARGS": {"names": ["chrony"], "serving": ["chrony"]}}'
UNDONE = '{"ANSIBLE_MODULE_ARGS": {"state": "restored"}}'
LOOK = """
dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\\n'
for file in /etc/default/chrony /etc/init.d/chrony; do [ ! -e $file ] || echo $file; done
"""

MODULE_COMMAND = shlex.join([sys.executable, "-c", MODULE])
TIMESYNCD = "systemd-timesyncd"
"""The package that chrony displaces."""


def twice(folder: Path, source: Path, before: str = "") -> list[set[str]]:
    """Prepare and undo twice, with a source of packages; ``before``: shell lines. What there was before and after each:
    packages with their states and versions, and files of chrony."""
    lines = LAYERS.format(root=folder) + sources.USE.format(folder=source)
    lines += sources.WITHOUT_CHRONY + before + f"( {LOOK} ) >{folder}/state-0\n"
    for step, arguments in enumerate([PREPARED, UNDONE, PREPARED, UNDONE], start=1):
        lines += f"echo '{arguments}' | {MODULE_COMMAND} >{folder}/answer-{step}\n( {LOOK} ) >{folder}/state-{step}\n"
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", lines]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    answers = [file.read_text() for file in sorted(folder.glob("answer-*"))]
    assert done.returncode == 0, "\n".join([done.stderr, *answers])
    assert [json.loads(answer)["changed"] for answer in answers] == [True] * 4
    return [set((folder / f"state-{step}").read_text().splitlines()) for step in range(5)]


def packages(state: set[str]) -> set[str]:
    return {line for line in state if line.startswith("installed ")}


@pytest.fixture
def version() -> str:
    """The version of the package that chrony displaces."""
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", TIMESYNCD]
    status, _, version = subprocess.run(query, capture_output=True, text=True, check=False).stdout.partition(" ")
    if status != "installed":
        pytest.skip(f"needs {TIMESYNCD}")
    return version


def test_what_was_removed_comes_back_in_its_version(tmp_path: Path, version: str) -> None:
    source = sources.fetched(tmp_path / "debs", ["chrony", TIMESYNCD], newer=[TIMESYNCD])
    before, prepared, undone, again, undone_again = map(packages, twice(tmp_path, source))
    assert before - prepared == {f"installed {TIMESYNCD} {version}"}
    assert [line.split()[1] for line in prepared - before] == ["chrony"]
    assert undone == undone_again == before and again == prepared


def test_a_version_that_no_source_has_any_more_comes_back_as_the_newest(tmp_path: Path, version: str) -> None:
    source = sources.fetched(tmp_path / "debs", ["chrony"], newer=[TIMESYNCD])
    before, _, undone, _, undone_again = map(packages, twice(tmp_path, source))
    assert undone ^ before == {f"installed {TIMESYNCD} {version}", f"installed {TIMESYNCD} {version}+later"}
    assert undone_again == undone


def test_a_package_that_had_been_removed_has_its_script_and_leaves_its_settings(tmp_path: Path) -> None:
    source = sources.fetched(tmp_path / "debs", ["chrony", TIMESYNCD])
    before, prepared, undone, again, undone_again = twice(tmp_path, source, REMOVED)
    assert "config-files chrony 1" in before and "/etc/init.d/chrony" not in before
    assert "/etc/init.d/chrony" in prepared & again
    for state in (undone, undone_again):
        assert "/etc/default/chrony" in state and any(line.startswith("config-files chrony ") for line in state)
