"""Names, addresses and command lines of one Kubernetes cluster; makes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Network
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from loadstone.infrastructure.software.base import Member

PODS = IPv4Network("10.244.0.0/14")
"""The addresses of pods, a /24 for each node; only the cluster's own members have routes to them."""
SERVICES = IPv4Network("10.96.0.0/16")
API_PORT = 6443
DNS_READY_PORT = 8181
BRIDGE = "cni0"
"""The link that joins the pods of a node: a name by which ``software.footprint`` knows whose it is."""
_RESOLVERS = 3
"""A resolver uses as many name servers (resolv.conf(5))."""


@dataclass(frozen=True)
class ClusterPlan:
    """One cluster: its members, and by member's name the path there of the binary that holds all programs."""

    managers: tuple[Member, ...]
    workers: tuple[Member, ...]
    binaries: Mapping[str, str]

    @property
    def members(self) -> tuple[Member, ...]:
        """All of them."""
        return self.managers + self.workers

    @property
    def domain_servers(self) -> list[str]:
        """The addresses that answer for the names of services."""
        return [member.address for member in self.managers[:_RESOLVERS]]

    def server(self, member: Member) -> str:
        """The API server that programs on a member speak to: its own, the only one, or one that is alive."""
        if member.role == "manager":
            return f"https://{member.address}:{API_PORT}"
        only = self.managers[0].address if len(self.managers) == 1 else "127.0.0.1"
        return f"https://{only}:{API_PORT}"

    def pods_of(self, worker: Member) -> IPv4Network:
        """The addresses of the pods on a worker."""
        size = 24 - PODS.prefixlen
        assert len(self.workers) <= 2**size
        number = [member.name for member in self.workers].index(worker.name)
        return IPv4Network((int(PODS.network_address) + (number << 8), 24))

    def command(self, member: Member, program: str, *arguments: str, **flags: Any) -> list[str]:
        """The command line of one of Kubernetes' programs; ``secure_port=6443`` is ``--secure-port=6443``."""
        named = [f"--{name.replace('_', '-')}={value}" for name, value in flags.items()]
        return [self.binaries[member.name], program, *arguments, *named]


def write(member: Member, name: str, template: str, /, **values: Any) -> str:
    """Write a member's file from its template; returns its path there."""
    return member.write(name, fill(template, **values))


def fill(template: str, /, **values: Any) -> str:
    """The text of a template."""
    return _templates().get_template(template).render(values)


@cache
def _templates() -> Environment:
    loader = PackageLoader(__package__ or "", "templates")
    return Environment(loader=loader, undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True)
