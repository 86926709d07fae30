"""``hosts.yaml``: machines that a user has, and logs in to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from loadstone.model.base import Finding, Matches, Model

_OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
HostName = Annotated[str, Matches(r"\w([\w.@-]{0,62}\w)?", "letters, digits, '.', '_', '-' and '@', at most 64")]
HostRole = Annotated[str, Matches("manager|worker|client", "manager, worker or client")]


class InventoryHost(Model):
    """A host: a login is all that is needed to measure on it."""

    login: str | None = None
    """The destination for ssh: ``root@192.0.2.7``, or a name of its configuration; by default the host's name."""
    address: Annotated[str, Matches(rf"{_OCTET}(\.{_OCTET}){{3}}", "an IPv4 address, such as 10.0.0.7")]
    """In the network that the cluster's nodes share; replicas listen there."""
    roles: Annotated[list[HostRole], Field(min_length=1)] = ["worker"]
    """A ``client`` generates load; where no host does, the machine that starts the study."""
    owner: str = ""
    """Its contact, shown with its errors."""


class SshOptions(Model):
    """How ssh is started."""

    config: str | None = None
    """A configuration file instead of the user's own; by default ``$LOADSTONE_SSH_CONFIG``."""


class Inventory(Model):
    """The hosts by name; nodes have these names."""

    version: Literal[1] = 1
    ssh: SshOptions = SshOptions()
    hosts: Annotated[dict[HostName, InventoryHost], Field(min_length=1)]

    def findings(self) -> Iterator[Finding]:
        """What would make two nodes of one machine, or two machines of one name."""
        first: dict[str, str] = {}
        for name, host in self.hosts.items():
            if (other := first.setdefault(host.address, name)) != name:
                yield (
                    ("hosts", name),
                    f"{host.address} is the address of {other}; list each machine once, with its roles",
                )
        if "client" in self.hosts and not any("client" in host.roles for host in self.hosts.values()):
            message = "the machine that starts the study generates the load, and is called so; choose another name"
            yield ("hosts", "client"), message
