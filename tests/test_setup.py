"""Setting a machine up, with a package manager that only records its calls."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = ("bash", "cat", "date", "dirname", "env", "grep", "mkdir", "sed", "tail", "true")
THERE = ("memcached", "redis-server", "postgres", "nginx", "prometheus", "docker", "dockerd", "docker-compose")
THERE += ("containerd", "runc", "docker-registry", "conntrack", "iptables", "ip", "tc", "haproxy", "openssl")
THERE += ("stress-ng",)
DEBIAN = "Maintainer: Debian Chromium Team <chromium@packages.debian.org>\nDescription: " + 20_000 * "browser "
"""Longer than a pipe holds, as the records of some versions of a package are."""
UBUNTU = "Maintainer: Ubuntu Developers <ubuntu@lists.ubuntu.com>\nOriginal-Maintainer: Someone <x@packages.debian.org>"
CNI, UNIT, SCRIPT = (
    Path("/usr/lib/cni/bridge"),
    Path("/lib/systemd/system/containerd.service"),
    "/etc/init.d/containerd",
)

pytestmark = pytest.mark.skipif(not CNI.exists(), reason="what `make setup` installs is not here")


class Machine:
    """A folder of commands, which is all the PATH there is; the user is not root, and ``sudo`` runs its command."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.called = folder, folder / "asked"
        for tool in TOOLS:
            (folder / tool).symlink_to(shutil.which(tool) or "")
        for name in (*THERE, "tee", "chmod", "rm"):
            self.command(name, "")
        self.command("id", "echo 1000")
        self.command("sudo", 'shift; "$@"')
        for name in ("systemctl", "update-rc.d"):
            self.command(name, f'echo "{name} $*" >>{self.called}')

    def command(self, name: str, does: str) -> None:
        (self.folder / name).write_text(f"#!/bin/sh\n{does}\n")
        (self.folder / name).chmod(0o755)

    def packages(self, installed: str, before: str, after: str) -> None:
        """What is known of Chromium before and after an update; installing makes one command."""
        self.command("apt-cache", f"[ -e {self.folder}/updated ] && printf '{after}' || printf '{before}'")
        made = f'*install*) printf "" >{self.folder}/{installed}; /bin/chmod 755 {self.folder}/{installed} ;;'
        does = f'echo "apt-get $*" >>{self.called}\ncase "$*" in *update*) : >{self.folder}/updated ;; {made} esac'
        self.command("apt-get", does)

    def set_up(self) -> tuple[list[str], str]:
        """The calls of apt-get, update-rc.d and systemctl, without options; and the output."""
        command = [ROOT / "scripts/setup-system.sh", "test"]
        done = subprocess.run(command, env={"PATH": str(self.folder)}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        lines = self.called.read_text().splitlines() if self.called.exists() else []
        return [
            " ".join(word for word in line.split() if word[0] != "-" and "=" not in word) for line in lines
        ], done.stderr


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("before", "after", "calls"),
    [
        ("", DEBIAN, ["apt-get update", "apt-get install chromium"]),
        (DEBIAN, DEBIAN, ["apt-get install chromium"]),
        ("", UBUNTU, ["apt-get update"]),
        (UBUNTU, UBUNTU, []),
        ("", "", ["apt-get update"]),
    ],
)
def test_chromium_is_installed_where_it_is_no_stub(machine: Machine, before: str, after: str, calls: list[str]) -> None:
    machine.packages("chromium", before, after)
    assert machine.set_up()[0] == calls


def copied(machine: Machine, script: str, *changes: tuple[str, str]) -> Path:
    """A script in a repository of its own, with parts replaced in all scripts: paths that are this machine's."""
    scripts = machine.folder / "repository/scripts"
    shutil.copytree(ROOT / "scripts", scripts, ignore=shutil.ignore_patterns("__pycache__"))
    for file in scripts.glob("*.sh"):
        for before, after in changes:
            file.write_text(file.read_text().replace(before, after))
    return scripts / script


def test_services_are_refused_only_while_the_set_up_runs(machine: Machine) -> None:
    machine.packages("docker-registry", "", "")
    (machine.folder / "docker-registry").unlink()
    policy = machine.folder / "policy"
    machine.command("tee", 'cat >"$1"')
    installs = (machine.folder / "apt-get").read_text().removeprefix("#!/bin/sh\n")
    machine.command("apt-get", f"/bin/sh {policy}; echo $? >{machine.folder}/during; {installs}")
    script = copied(machine, "setup-system.sh", ("policy=/usr/sbin/policy-rc.d", f"policy={policy}"))
    for _ in range(2):  # `rm` removes nothing here, as if the script were killed: the second replaces what is left
        done = subprocess.run([script, "test"], env={"PATH": str(machine.folder)}, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert (machine.folder / "during").read_text() == "101\n"
        assert subprocess.run(["/bin/sh", policy], timeout=60).returncode == 0
        (machine.folder / "docker-registry").unlink()


@pytest.mark.parametrize("processor", ["x86_64", "aarch64"])
def test_the_hint_to_install_go_verifies_the_archive_before_root_unpacks_it(machine: Machine, processor: str) -> None:
    machine.command("uname", f"echo {processor}")
    script = copied(machine, "setup-stone.sh", (":/usr/local/go/bin", ""), ("/usr/sbin:/sbin", ""))
    done = subprocess.run([script], env={"PATH": str(machine.folder)}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert re.search(r"'[0-9a-f]{64}  go\S+' \| sha256sum --check && sudo tar", done.stderr), done.stderr
    assert "| sudo" not in done.stderr


@pytest.mark.skipif(not UNIT.exists() or Path(SCRIPT).exists(), reason="containerd has more than a unit, or none")
def test_a_service_with_a_unit_alone_is_disabled_quietly(machine: Machine) -> None:
    machine.packages("containerd", UBUNTU, UBUNTU)
    (machine.folder / "containerd").unlink()
    calls, output = machine.set_up()
    assert calls == ["apt-get install containerd", "systemctl disable containerd.service"]
    assert output == "apt-get install containerd (services are neither started nor enabled)\n"
