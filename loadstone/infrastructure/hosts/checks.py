"""What stands in the way of using a host, and what of it may disturb."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.infrastructure import journal
from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.hosts.claims import CLAIM, WHEN_USED
from loadstone.infrastructure.machines import Machine, MachineLost, in_parallel
from loadstone.infrastructure.software import preflight
from loadstone.infrastructure.software.base import Software
from loadstone.model.errors import LoadstoneError
from loadstone.model.inventory import InventoryHost
from loadstone.model.records.node.machine import Facts
from loadstone.model.units import format_memory

_Trouble = tuple[str, str]
"""What is wrong, and the remedy."""
_LEAST_DISK = 2**30
_MOST_OFFSET_S = 1.0
_PORT = 20_000
_FIREWALLS = r"""
{ iptables-save 2>/dev/null | sed -n 's/^:ufw-user-input .*/ufw/p'
  nft list tables 2>/dev/null | sed -n 's/.* \(firewalld\)$/\1/p'; } | sort -u
"""
"""Prints the firewalls whose rules are in force."""


def look(name: str, machine: Machine, host: InventoryHost, listed: str) -> list[Finding]:
    """All that stands in the way of using a host, else what it is; ``listed``: where its address is.

    An error that ``stops`` is of a host that does not answer, or that another study uses.
    """
    try:
        facts = machine.facts()
        found = _others(name, machine)
        wrong = [*_lacking(facts), *_clock(machine), *_address(machine, host.address, listed)]
    except LoadstoneError as error:
        return [Finding(name, "error", *explained(name, error, host))]
    found += [Finding(name, "error", message, remedy, stops=False) for message, remedy in wrong]
    size = f"{len(facts.cpus)} cores, {format_memory(facts.memory_available // 2**20 * 2**20)} available"
    return found or [Finding(name, "ok", f"{facts.os}, {facts.arch}, {size}")]


def _others(name: str, machine: Machine) -> list[Finding]:
    used = [each for each in machine.deployments() if each.deployment not in _ours()]
    if not used:
        return []
    claim = next((each for each in used if each.deployment == CLAIM), used[0])
    return [Finding(name, "error", f"another study uses this host: {claim.owner}", WHEN_USED)]


def _lacking(facts: Facts) -> Iterator[_Trouble]:
    if facts.unlimited_because:
        message = f"limits cannot be set there: {facts.unlimited_because}"
        yield message, "mount its control groups, with cpu, cpuset and memory"
    free = min(facts.disks.values(), default=0)
    if free < _LEAST_DISK:
        folder = min(facts.disks, key=lambda path: facts.disks[path])
        message = f"its disk is full: {folder} has {format_memory(free // 2**20 * 2**20)} left"
        yield message, f"make room: {format_memory(_LEAST_DISK)} at least"


def _clock(machine: Machine) -> Iterator[_Trouble]:
    offset = machine.clock_offset_s()
    if abs(offset) > _MOST_OFFSET_S:
        way = "ahead of" if offset > 0 else "behind"
        message = f"its clock is {abs(offset):.1f} s {way} this machine's"
        yield message, "set both by NTP, such as chrony, and wait until they agree"


def _address(machine: Machine, address: str, listed: str) -> Iterator[_Trouble]:
    try:
        machine.ports(address, [_PORT])
    except MachineLost:
        raise
    except LoadstoneError:
        message = f"it has no address {address} on which replicas could listen"
        yield message, f"correct `address` in {listed}"


def explained(name: str, error: LoadstoneError, host: InventoryHost) -> tuple[str, str]:
    """What is wrong with a host that failed so, with its owner and without its name; and the remedy."""
    return f"{error.message.removeprefix(f'{name}: ')}{f' (ask {host.owner})' if host.owner else ''}", error.remedy


def software(kind: Software, managers: Sequence[Machine], workers: Sequence[Machine], install: bool) -> list[Finding]:
    """What hosts lack for software, what of theirs gets in its way, and whether it has the memory that it needs.

    ``install``: missing packages of the distribution will be installed.
    """
    machines = [*managers, *workers]

    def remedy(name: str, package: str) -> str:
        return f"sudo apt-get install -y {package} on {name}, or set cluster.install: true, which does that"

    found = preflight.findings(kind, machines, remedy, install)
    facts = in_parallel(lambda machine: machine.facts(), machines)
    for number, (machine, has) in enumerate(zip(machines, facts, strict=True)):
        manages = number < len(managers)
        room = preflight.memory(kind, manages, not manages, has.memory_available, f"{machine.name}: {kind.name} needs")
        found += [room] if room.level == "error" else []
        if has.swap:
            message = f"{machine.name}: swap is on: what is swapped out answers a thousand times slower"
            found.append(Finding("swap", "warning", message, "turn it off there: sudo swapoff --all"))
    return [*found, *kind.conflicts(machines), *_firewalls(machines)]


def _firewalls(machines: Sequence[Machine]) -> list[Finding]:
    active = in_parallel(lambda machine: machine.run(["sh", "-c", _FIREWALLS]).stdout.split(), machines)
    return [
        Finding(
            "firewall",
            "warning",
            f"{machine.name}: the firewall {firewall} is active: it may drop what nodes send to each other",
            "open what the study needs: `loadstone prepare hosts.yaml --for STUDY`, or stop it while studies run there",
        )
        for machine, firewalls in zip(machines, active, strict=True)
        for firewall in firewalls
    ]


def _ours() -> set[str]:
    """What journals of hosts call our own deployments."""
    return {str(entry.facts.get("name") or CLAIM) for entry in journal.entries()}
