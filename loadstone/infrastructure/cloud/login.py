"""How made machines are logged in to: a key of their own, a configuration for ssh, and an inventory for `hosts`.

All lie in the folder of the deployment's journal entry, which only its user may read, and vanish with the machines.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.cloud.service import Made
from loadstone.infrastructure.machines import Machine, MachineLost, connect, in_parallel, transport
from loadstone.infrastructure.machines.ssh import PATIENCE, quoted
from loadstone.infrastructure.preparation import connections
from loadstone.model import yaml12
from loadstone.model.cluster import Reach
from loadstone.model.document import Document
from loadstone.model.errors import DeploymentError, LoadstoneError, PreflightError
from loadstone.model.inventory import Inventory

INVENTORY = "hosts.yaml"
_CONFIG = "ssh_config"
_KEY = "id_ed25519"
_EVERY_S = 3.0


def public_key(folder: Path) -> str:
    """The deployment's public key, made where there is none yet. Raises PreflightError without ssh-keygen."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    private = folder / _KEY
    if not private.with_suffix(".pub").exists():
        private.unlink(missing_ok=True)
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "loadstone", "-f", str(private)]
        try:
            subprocesses.run(command, stdin=subprocess.DEVNULL, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise PreflightError(f"no key can be made for the machines: {error}", "install openssh-client") from None
    return private.with_suffix(".pub").read_text(encoding="utf-8").strip()


def write(folder: Path, machines: Sequence[Made], usual_login: str, owner: str) -> Path:
    """Write the configuration of ssh and the inventory, whose path is returned.

    The first key that a machine shows is remembered in a file of the deployment; another one is refused from then on.
    """
    first = next((made for made in machines if made.outside), None)
    if first is None:
        raise DeploymentError("no machine has an address that can be reached from here", "see the provider's network")
    lines = []
    config = shlex.quote(str(folder / _CONFIG)).replace("%", "%%")
    for made in machines:
        lines += [
            f"Host {made.name}",
            f"  HostName {made.outside or made.address}",
            f"  HostKeyAlias {made.name}",
            f"  Port {made.port}",
            f"  User {made.login or usual_login}",
            f"  IdentityFile {quoted(made.key or folder / _KEY)}",
            *([] if made.outside else [f"  ProxyCommand ssh -F {config} -W %h:%p {first.name}"]),
        ]
    general = {
        "IdentitiesOnly": "yes",
        "UserKnownHostsFile": quoted(folder / "known_hosts"),
        "StrictHostKeyChecking": "accept-new",
        **PATIENCE,  # of the jump too: an ssh whose jump host vanishes while it connects would wait for hours
    }
    lines += ["Host *", *(f"  {key} {value}" for key, value in general.items())]
    _write(folder / _CONFIG, "\n".join(lines) + "\n")
    hosts = {
        made.name: {"address": made.address, "roles": [made.name.rpartition("-")[0]], "owner": owner}
        for made in machines
    }
    inventory = {"version": 1, "ssh": {"config": str(folder / _CONFIG)}, "hosts": hosts}
    _write(folder / INVENTORY, yaml12.dump(inventory))
    return folder / INVENTORY


def close(folder: Path, names: Sequence[str]) -> None:
    """End the connections to machines that will be removed: ssh keeps each for a while."""

    def end(name: str) -> None:
        _machine(folder, name).close()
        transport(_reach(folder, name)).close()  # also the connections of a process that was killed

    if (folder / _CONFIG).exists():
        if (folder / INVENTORY).exists():
            connections.close(connections.prefix(Document.read(folder / INVENTORY).parse(Inventory)))
        in_parallel(end, names)


def wait_until_reached(folder: Path, names: Sequence[str], within_s: float, say: Callable[[str], None]) -> None:
    """Return once all machines take logins. Raises DeploymentError with those that do not, and what they answer."""
    deadline = time.monotonic() + within_s

    def reached(name: str) -> str:
        machine = _machine(folder, name)
        while True:
            try:
                machine.facts()
                return ""
            except (MachineLost, PreflightError) as error:  # it boots, or its login is yet to be made
                if time.monotonic() > deadline:
                    return error.first_line.removeprefix(f"{name}: ")
            except LoadstoneError as error:
                return error.first_line.removeprefix(f"{name}: ")
            time.sleep(_EVERY_S)

    say(f"waiting until {len(names)} machines take logins")
    troubles = dict(zip(names, in_parallel(reached, names), strict=True))
    if lost := {name: why for name, why in troubles.items() if why}:
        lines = "; ".join(f"{name}: {why}" for name, why in lost.items())
        raise DeploymentError(
            f"machines never answered: {lines}",
            "see their console; the image must have SSH, and the login sudo without a password (instances.login)",
        )


def _machine(folder: Path, name: str) -> Machine:
    return connect(name, _reach(folder, name))


def _reach(folder: Path, name: str) -> Reach:
    return Reach(transport="ssh", options={"host": name, "config": str(folder / _CONFIG)})


def _write(file: Path, text: str) -> None:
    partial = file.with_suffix(".partial")
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as opened:
        opened.write(text)
    partial.replace(file)
