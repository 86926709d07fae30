"""This machine as a cluster: one client node and one worker node that share no cores where there are two."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from loadstone.infrastructure.base import NO_SOFTWARE, Finding, Infrastructure, Provision, Say
from loadstone.infrastructure.cores import format_cores
from loadstone.infrastructure.machines import this_machine
from loadstone.model.base import Finding as StudyFinding
from loadstone.model.cluster import Cluster, Node
from loadstone.model.errors import InputError
from loadstone.model.units import format_memory

if TYPE_CHECKING:
    from loadstone.model.records.node.machine import Facts

_ADDRESS = "127.0.0.1"
_LITTLE_MEMORY = 2 * 2**30
_LOOK_S = 0.3
_BUSY = 0.1
"""Share of all processors that others may use before it is worth a warning."""


def split_cores(cores: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The client's cores and the worker's: a quarter, at least one, for the client; a single core serves both.

    ``cores`` come in the order in which they are handed out.
    """
    if len(cores) == 1:
        return cores, cores
    first = max(1, len(cores) // 4)
    return tuple(sorted(cores[:first])), tuple(sorted(cores[first:]))


def by_neighbourhood(cores: tuple[int, ...], system: Path = Path("/sys/devices/system/cpu")) -> tuple[int, ...]:
    """The cores ordered by package and physical core, so that hardware threads of one core are side by side."""

    def place(core: int) -> tuple[int, int, int]:
        topology = system / f"cpu{core}" / "topology"
        try:
            package = int((topology / "physical_package_id").read_text())
            return package, int((topology / "core_id").read_text()), core
        except (OSError, ValueError):
            return 0, core, core

    return tuple(sorted(cores, key=place))


class Local(Infrastructure):
    """The client gets the first cores (where interrupts mostly land), the worker all others."""

    name = "local"
    software = frozenset({"process", NO_SOFTWARE})
    self_contained = True
    single_worker = True

    def __init__(self, cluster: Cluster, entry_name: str = "local") -> None:
        super().__init__(cluster, entry_name)

    @classmethod
    def objections(cls, cluster: Cluster) -> Iterator[StudyFinding]:
        if cluster.workers > 1:
            message = f"infrastructure 'local' has 1 worker, not {cluster.workers}"
            yield ("workers",), f"{message}; remove it, or set infrastructure: namespaces, which emulates hosts"

    @cached_property
    def _facts(self) -> Facts:
        """Facts of this machine, with the limits of the user's session."""
        return this_machine().facts()

    def preflight(self, software: str, managers: int) -> list[Finding]:
        findings = [Finding("cluster", "error", message, remedy) for message, remedy in self._not_possible(managers)]
        client, worker = self._split()
        if software == NO_SOFTWARE:
            findings.append(Finding("cores", "ok", f"client on {format_cores(self._facts.cpus)}"))
        elif client == worker:
            findings.append(
                Finding(
                    "cores",
                    "warning",
                    "only 1 core: the load generator shares it with the application and disturbs it",
                    "use a machine with at least 2 cores for results that count",
                )
            )
        else:
            message = f"client on {format_cores(client)}, worker on {format_cores(worker)}"
            findings.append(Finding("cores", "ok", message))
        quota, cores = self._facts.cpu_limit, len(self._facts.cpus)
        if quota is not None and quota < cores:
            message = f"a control group holds this session to {quota:g} CPUs although it sees {cores} cores"
            findings.append(Finding("cpu quota", "warning", message, "lift the quota of this container or session"))
        memory = self._memory()
        few = memory < _LITTLE_MEMORY
        findings.append(
            Finding("memory", "warning" if few else "ok", f"{format_memory(memory)} available",
                    "close other programs, or expect replicas to run out of memory" if few else "")
        )  # fmt: skip
        return [*findings, self._busy()]

    def _not_possible(self, managers: int) -> list[tuple[str, str]]:
        if managers == 0:
            return []
        message = f"infrastructure 'local' has no managers, but the study sets managers: {managers}"
        return [(message, "set cluster.managers: 0")]

    def _busy(self) -> Finding:
        import psutil  # slow to load, and only a preflight needs it

        # Not the load average: it remembers the run before this one.
        busy = psutil.cpu_percent(interval=_LOOK_S) / 100
        if busy > _BUSY:
            message = f"{busy:.0%} of the processors are busy: other programs disturb what is measured"
            return Finding("other load", "warning", message, "stop them, or take the machine's noise into account")
        return Finding("other load", "ok", f"{busy:.0%} of the processors are busy")

    def sketch(self, software: str, managers: int) -> list[Node]:
        for message, remedy in self._not_possible(managers):
            raise InputError(f"{message}; {remedy}")
        memory = self._memory()
        if software == NO_SOFTWARE:  # what is loaded was deployed elsewhere
            return [Node(name="client", role="client", address=_ADDRESS, cpus=self._facts.cpus, memory=memory)]
        client, worker = self._split()
        shared = client == worker
        return [
            Node(name="client", role="client", address=_ADDRESS, cpus=client, memory=memory, shared=shared),
            Node(name="worker-1", role="worker", address=_ADDRESS, cpus=worker, memory=memory, shared=shared),
        ]

    def provide(self, software: str, managers: int, say: Say) -> Provision:
        return Provision(tuple(self.sketch(software, managers)))

    def _split(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return split_cores(by_neighbourhood(self._facts.cpus))

    def _memory(self) -> int:
        """Bytes that are really to be had, in whole MiB."""
        available = self._facts.memory_available
        return min(available, self._facts.memory_limit or available) // 2**20 * 2**20

    def release(self) -> None:
        """Nothing was made."""
