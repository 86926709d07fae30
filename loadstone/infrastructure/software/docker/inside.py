"""The machine of an engine that was there before, in containers that the engine makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.infrastructure.machines.exec import MOUNTS, Exec

_LABEL = "loadstone.node"


@dataclass(frozen=True)
class ByDocker(Exec):
    """``url`` is the engine's; ``image`` has stone. The container bears no label of a deployment: it outlives them."""

    client = "docker"
    waits = False
    url: str
    image: str = ""

    def command(self, argv: Sequence[str]) -> list[str]:
        volumes = (f"--volume={folder}:{seen}:ro" for folder, seen in MOUNTS.items())
        # Of the node's own network it only needs the clock's daemon, which answers on the loopback interface.
        limits = ("--read-only", "--tmpfs=/tmp", "--cap-drop=ALL", "--network=host")
        run = ["docker", "--host", self.url, "run", "--rm", "--interactive", f"--label={_LABEL}", *volumes, *limits]
        return [*run, f"--entrypoint={argv[0]}", self.image, *argv[1:]]
