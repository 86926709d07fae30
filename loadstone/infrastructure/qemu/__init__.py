"""Virtual machines on this machine, beside emulated hosts: on the same switch and cores, one kind at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from loadstone.infrastructure.base import Finding, Infrastructure, Say
from loadstone.infrastructure.journal import JournalEntry
from loadstone.infrastructure.machines import this_machine
from loadstone.infrastructure.namespaces import Namespaces, nodes_of
from loadstone.infrastructure.namespaces.emulated import EmulatedHosts
from loadstone.infrastructure.qemu import accelerator, guests, image
from loadstone.infrastructure.qemu.guests import Guests
from loadstone.model.base import plural
from loadstone.model.cluster import Cluster, Node
from loadstone.model.errors import PreflightError
from loadstone.model.guest import Vm
from loadstone.model.units import format_memory

_KEPT = 2 * 2**30
"""Memory that guests leave to the machine."""
_LEAST = 256 * 2**20
"""That each of them needs where the study does not say."""


class _Hosts(Namespaces):
    """What the journal has as hosts of ``qemu``, whether or not guests stand for them."""

    name = "qemu"
    follows = frozenset()

    @classmethod
    def undo(cls, entry: JournalEntry) -> list[str]:
        guests.disconnect(EmulatedHosts.of(entry.facts))
        return super().undo(entry)


class Qemu(_Hosts):
    """Treatments in ``vm`` and ``vm-container`` run in guests, others on the emulated hosts that guests stand for."""

    makes: ClassVar[dict[str, frozenset[str]]] = {
        "vm": frozenset({"process"}),
        "vm-container": frozenset({"docker", "swarm"}),
    }

    def in_guests(self, vm: Vm) -> Infrastructure:
        return InGuests(self.cluster, self.entry_name, vm)


class InGuests(_Hosts):
    """One guest in place of each host. The journal has them as hosts, by which they are removed."""

    software = frozenset.union(*Qemu.makes.values())

    def __init__(self, cluster: Cluster, entry_name: str, vm: Vm) -> None:
        super().__init__(cluster, entry_name)
        self._vm = vm
        self._guests: Guests | None = None

    def preflight(self, software: str, managers: int) -> list[Finding]:
        findings = super().preflight(software, managers)
        for package in [*guests.missing(), *image.missing()]:
            message = f"{package} is not installed, which makes virtual machines"
            findings.append(Finding("qemu", "error", message, f"sudo apt-get install -y {package}"))
        if any(finding.level == "error" for finding in findings):
            return findings
        try:
            tried = accelerator.find(lambda _sentence: None)
        except PreflightError as error:
            return [*findings, Finding("qemu", "error", str(error))]
        if tried.why:
            findings.append(Finding("kvm", "warning", f"{tried.why}: guests are emulated by software, which is slow"))
        return [*findings, *self._too_much_memory(managers)]

    def _too_much_memory(self, managers: int) -> Iterator[Finding]:
        """An error where the guests do not fit into what this machine has free."""
        guests, each = managers + self.cluster.workers, self._vm.memory or _LEAST
        free = max(0, this_machine().facts().memory_available - (0 if self._vm.memory else _KEPT))
        if guests * each > free:
            wanted, left = format_memory(guests * each), format_memory(free // 2**20 * 2**20)
            message = f"virtual machines need {wanted} of memory, {left} is free for them"
            yield Finding("memory", "error", message, "set fewer cluster.workers or less vm.memory, or close programs")

    def sketch(self, software: str, managers: int) -> list[Node]:
        return self._as_guests(super().sketch(software, managers), None)

    def _as_guests(self, nodes: list[Node], emulated: EmulatedHosts | None) -> list[Node]:
        """The client, and guests in place of the others; as they would be without an ``emulated`` cluster."""
        client, *hosts = nodes
        facts = this_machine().facts()
        tried = accelerator.remembered()
        planned = Guests(
            emulated or EmulatedHosts("000000", "198.18.0.0/24", "", ()),
            self._vm,
            tried.accelerator if tried is not None else "kvm",
            facts.hypervisor.present,
            tuple(guests.sizes(hosts, facts.memory_available - _KEPT)),
        )
        self._guests = planned if emulated is not None else None
        return [client, *planned.made]

    def _boot(self, emulated: EmulatedHosts, say: Say) -> list[Node]:
        made = image.image(say)
        accelerator.find(say)  # whether or not preflight has tried it
        nodes = self._as_guests(nodes_of(emulated), emulated)
        emulated.start_switch()
        assert self._guests is not None
        count, guest = len(nodes) - 1, nodes[-1].guest
        say(f"booting {plural(count, 'virtual machine')} ({guest.accelerator if guest else ''})")
        self._guests.start(made)
        return nodes

    def _up(self, emulated: EmulatedHosts) -> set[str]:
        return self._guests.running() if self._guests is not None else set()
