"""A machine of a cluster that was there before: its node runs in a container, attached by the cluster's own client.

Nothing listens for it. Where a container waits on each worker (``orchestration/agent.py``) the node is started into it;
else the container is the node's own and ends with the channel. Each software brings its own way (``Software.inside``).
"""

from __future__ import annotations

import shutil
import subprocess
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from loadstone import plugins
from loadstone.infrastructure import subprocesses
from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.machines.faults import MachineLost
from loadstone.infrastructure.machines.transport import Transport
from loadstone.model.errors import PreflightError

MOUNTS = {"/proc": "/host/proc", "/sys": "/host/sys"}
"""What a container sees of its node, read-only: folders of the container by folder of the node."""
CONTAINER = "loadstone-agent"
"""The container that waits; also the name of its job, pods and labels."""
ROLE = "loadstone.role"
"""The label of a node that is a ``client``: it generates load, and runs no replicas."""
_OPTIONS = (
    *("--proc", "/host/proc", "--sys", "/host/sys", "--cgroup", "/host/sys/fs/cgroup"),
    *("--state", "/tmp/loadstone"),  # never written: nothing is deployed through it
)
_PROGRAM = "/stone"
_WITHIN_S = 30.0


@dataclass(frozen=True)
class Exec(Transport, ABC):
    """Options beyond those that find the cluster are known once something is deployed there."""

    client: ClassVar[str]
    """The command line that must be installed here."""
    waits: ClassVar[bool] = True
    """Whether a container waits on each node; else each command has a container of its own."""

    def deliver(self, program: Path) -> str:
        if program != stone_binary():  # which is in the image
            raise PreflightError(
                f"{program} cannot be copied into a container of the cluster",
                "use a dataset that the application makes, or let a machine beside the cluster generate the load",
            )
        return _PROGRAM

    def node_options(self) -> list[str]:
        return list(_OPTIONS)


def kind(software: str) -> type[Exec]:
    """The way into the nodes of a cluster of this software; raises PreflightError where it has none."""
    found: type[Exec] | None = plugins.find("software", software).inside
    if found is None:
        raise PreflightError(f"software {software!r} has no way into its nodes (Software.inside)", "reach them by ssh")
    return found


def of_software(software: str, **options: str) -> Exec:
    """The transport to a machine of a cluster of this software."""
    return kind(software)(**options)


def missing_client(software: str) -> str:
    """The command line that is needed and not installed here; empty if it is."""
    client = kind(software).client
    return "" if shutil.which(client) else client


def output(command: Sequence[str]) -> str:
    """The output of a cluster's client; raises MachineLost with its complaint."""
    name = " ".join(word for word in command if word != "env" and not word.startswith("KUBECONFIG="))
    try:
        done = subprocesses.run(command, _WITHIN_S, stdin=subprocess.DEVNULL)
    except subprocesses.OutOfTime:
        raise MachineLost(f"`{name}` did not answer within {_WITHIN_S:g} s") from None
    except OSError as error:
        raise MachineLost(f"`{name}` cannot be started: {error.strerror}") from None
    if done.returncode != 0:
        complaint = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise MachineLost(f"`{name}` failed: {complaint}")
    return done.stdout
