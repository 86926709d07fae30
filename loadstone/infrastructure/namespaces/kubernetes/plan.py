"""Names, addresses and files of one Kubernetes cluster on emulated hosts; makes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from loadstone.infrastructure.namespaces.host import Host

PODS = IPv4Network("10.244.0.0/14")
"""The addresses of pods, a /24 for each node; only the cluster's own hosts have routes to them."""
SERVICES = IPv4Network("10.96.0.0/16")
API_PORT = 6443
DNS_READY_PORT = 8181
_RESOLVERS = 3
"""As many name servers as a resolver asks (resolv.conf(5))."""


@dataclass(frozen=True)
class Plan:
    """One cluster: its hosts, its folder, and the binary that holds all of Kubernetes' programs."""

    managers: tuple[Host, ...]
    workers: tuple[Host, ...]
    folder: Path
    binary: Path

    @property
    def hosts(self) -> tuple[Host, ...]:
        """All of them."""
        return self.managers + self.workers

    @property
    def domain_servers(self) -> list[str]:
        """Who answers for the names of services."""
        return [host.address for host in self.managers[:_RESOLVERS]]

    @property
    def admin_files(self) -> tuple[Path, ...]:
        """The administrator's kubeconfig by manager: any API server will do."""
        return tuple(self.kubeconfig("admin", host) for host in self.managers)

    def kubeconfig(self, user: str, host: Host) -> Path:
        """The file with which a program on ``host`` speaks to an API server; the administrator's is for here."""
        return self.folder / f"{user}-{host.name}.kubeconfig"

    def server(self, host: Host) -> str:
        """The API server that programs on a host speak to: its own, the only one, or one that is alive."""
        if host in self.managers:
            return f"https://{host.address}:{API_PORT}"
        only = self.managers[0].address if len(self.managers) == 1 else "127.0.0.1"
        return f"https://{only}:{API_PORT}"

    def pods_of(self, worker: Host) -> IPv4Network:
        """The addresses of the pods on a worker."""
        size = 24 - PODS.prefixlen
        assert len(self.workers) <= 2**size
        return IPv4Network((int(PODS.network_address) + (self.workers.index(worker) << 8), 24))

    def command(self, program: str, *arguments: str, **flags: Any) -> list[str]:
        """The command line of one of Kubernetes' programs; ``secure_port=6443`` is ``--secure-port=6443``."""
        named = [f"--{name.replace('_', '-')}={value}" for name, value in flags.items()]
        return [str(self.binary), program, *arguments, *named]


def fill(template: str, file: Path, **values: Any) -> Path:
    """Write a file from its template."""
    file.write_text(_templates().get_template(template).render(values), encoding="utf-8")
    return file


@cache
def _templates() -> Environment:
    loader = PackageLoader(__package__ or "", "templates")
    return Environment(loader=loader, undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True)
