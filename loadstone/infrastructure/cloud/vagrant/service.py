"""Machines of a Vagrantfile, by the program ``vagrant``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from loadstone.infrastructure.base import Finding, Say
from loadstone.infrastructure.cloud import program
from loadstone.infrastructure.cloud.service import CloudService, Made, Size
from loadstone.infrastructure.cloud.vagrant import vagrantfile
from loadstone.model.errors import DeploymentError

_UP_S = 3600.0
_DOWN_S = 900.0
_QUICK_S = 300.0


class VagrantMachines(CloudService):
    """Vagrant's own state is in the deployment's folder, and its machines are called by the token."""

    usual_login = "vagrant"

    @property
    def _provider(self) -> str:
        return self.wanted.site or vagrantfile.PROVIDERS[0]

    def where(self) -> str:
        program.find(["vagrant"], "install Vagrant, with vagrant-libvirt for libvirt")
        return f"{self._provider} on this machine"

    def check(self, count: int) -> list[Finding]:
        if count <= vagrantfile.MOST:
            return []
        message = f"{count} machines: the network has addresses for {vagrantfile.MOST}"
        return [Finding("vagrant", "error", message, "set fewer cluster.workers")]

    def size(self) -> Size:
        return Size(self.wanted.cpus, self.wanted.memory)

    def make(self, names: Sequence[str], public_key: str, until: datetime, say: Say) -> list[Made]:
        vagrant = program.find(["vagrant"], "install Vagrant")
        text = vagrantfile.text(names, self.wanted, self.token, self.token)
        (self.folder / "Vagrantfile").write_text(text, encoding="utf-8")
        say(f"vagrant up: {len(names)} machines by {self._provider}")
        program.run([vagrant, "up", f"--provider={self._provider}"], self.folder, _UP_S)
        reached = _hosts(program.output([vagrant, "ssh-config"], self.folder, _QUICK_S))
        if lacking := [name for name in names if name not in reached]:
            raise DeploymentError(f"vagrant made no {', '.join(lacking)}")
        return [
            Made(
                name,
                vagrantfile.address(number),
                reached[name]["HostName"],
                reached[name]["User"],
                int(reached[name].get("Port", 22)),
                reached[name].get("IdentityFile", ""),
            )
            for number, name in enumerate(names)
        ]

    def remove(self) -> None:
        if (self.folder / "Vagrantfile").exists():
            vagrant = program.find(["vagrant"], "install Vagrant, which made the machines")
            program.run([vagrant, "destroy", "--force"], self.folder, _DOWN_S)


def _hosts(config: str) -> dict[str, dict[str, str]]:
    """What ``vagrant ssh-config`` prints, by host."""
    found: dict[str, dict[str, str]] = {}
    for line in config.splitlines():
        match = re.match(r"(\s*)(\w+)\s+(.*\S)", line)
        if match is None:
            continue
        indent, key, value = match.groups()
        if not indent and key == "Host":
            found[value] = {}
        elif found:
            list(found.values())[-1].setdefault(key, value.strip('"'))
    return found
