"""A node of a Nomad cluster that was there before, in the allocation that waits on it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.infrastructure.machines.exec import CONTAINER, Exec, output
from loadstone.infrastructure.machines.faults import MachineLost


@dataclass(frozen=True)
class ByNomad(Exec):
    """``address`` is the API's; ``job`` is the deployment's. NOMAD_TOKEN counts as for Nomad's own command line."""

    client = "nomad"
    node: str
    address: str
    namespace: str = "default"
    job: str = ""

    def command(self, argv: Sequence[str]) -> list[str]:
        where = [f"-address={self.address}", f"-namespace={self.namespace}"]
        listed = json.loads(output(["nomad", "job", "allocs", *where, "-json", self.job]))
        running = [allocation for allocation in listed if allocation["ClientStatus"] == "running"]
        found = [str(allocation["ID"]) for allocation in running if allocation["NodeName"] == self.node]
        if not found:
            raise MachineLost(f"{self.node}: no allocation of {self.job} runs there")
        return ["nomad", "alloc", "exec", *where, "-i=true", "-t=false", "-task", CONTAINER, found[0], *argv]
