"""A Docker engine on a member: started with settings of its own, reached by a socket in the member's folder."""

from __future__ import annotations

import json
from collections.abc import Sequence

from loadstone.infrastructure.base import Finding, Say
from loadstone.infrastructure.docker_api import Engine
from loadstone.infrastructure.machines import Machine, in_parallel
from loadstone.infrastructure.software.base import Member, await_until
from loadstone.model.base import plural

DAEMON = "dockerd"
TOOLS = {DAEMON: "docker.io", "containerd": "containerd", "runc": "runc", "iptables": "iptables", "ip": "iproute2"}
_SOCKET = "docker.sock"
_READY_WITHIN_S = 120.0
_ANSWER_WITHIN_S = 10
_LISTENS = r"grep -qE ' 00010000 .* (/var)?/run/docker\.sock$' /proc/net/unix"
"""The kernel lists sockets by network namespace: this finds those of the machine's own, not of other members."""


def conflicts(machines: Sequence[Machine]) -> list[Finding]:
    """The machines that run an engine of their own."""
    used = [machine for machine in machines if machine.run(["sh", "-c", _LISTENS]).code == 0]
    return [
        Finding(
            "docker",
            "error",
            f"{machine.name}: a Docker engine of its own listens at /var/run/docker.sock;"
            " two engines would overwrite each other's firewall rules",
            "stop it while studies run there: sudo systemctl stop docker.service docker.socket",
        )
        for machine in used
    ]


def start(members: Sequence[Member], registry: str, say: Say, **more: object) -> None:
    """Start the engine of each member and wait until all answer.

    ``registry``: a ``host:port`` to trust without TLS, or empty; ``more``: settings of the daemon, ``_`` for each
    ``-``. Raises DeploymentError with an engine's last lines.
    """
    say(f"starting {plural(len(members), 'Docker engine')}")
    others = {key.replace("_", "-"): value for key, value in more.items()}

    def spawn(member: Member) -> None:
        text = json.dumps(settings(member, registry) | others, indent=1)
        member.spawn(DAEMON, [DAEMON, "--config-file", member.write("docker.json", text)])

    in_parallel(spawn, members)
    for member in members:
        await_until([member], f"the Docker engine of {member.name}", lambda: trouble(member), _READY_WITHIN_S)  # noqa: B023


def settings(member: Member, registry: str) -> dict[str, object]:
    """The configuration of an engine: nothing of the machine's own engine is read or written."""
    return {
        "data-root": str(member.folder / "docker"),
        "exec-root": "/run/docker",  # the member's own /run
        "pidfile": "/run/docker.pid",
        "hosts": [endpoint(member)],
        "cgroup-parent": f"/{member.containers}",
        "exec-opts": ["native.cgroupdriver=cgroupfs"],  # systemd, where there is one, is out of reach
        "insecure-registries": [registry] if registry else [],
        "log-level": "warn",
        "log-opts": {"max-size": "20m"},
    }


def endpoint(member: Member) -> str:
    """Where the engine of a member answers, on the member."""
    return f"unix://{member.folder / _SOCKET}"


def url(member: Member) -> str:
    """Where the engine of a member answers, from here."""
    return f"unix://{member.socket(_SOCKET)}"


def trouble(member: Member) -> str:
    """Why the engine of a member does not answer now; empty if it does."""
    why = Engine(url(member)).silence(_ANSWER_WITHIN_S)
    return "its engine does not answer" if why else ""
