"""The network of machines: the one that they share, which ports are open, and the address by which they are reached."""

from __future__ import annotations

import time
from typing import Any

from openstack import exceptions

from loadstone.infrastructure.cloud.chameleon.session import explained
from loadstone.infrastructure.cloud.pauses import Pauses
from loadstone.model.base import did_you_mean
from loadstone.model.errors import DeploymentError, PreflightError

_DETACHED_S = 120.0


class Networking:
    """The network of the machines of one token, which names their security group and describes their address."""

    def __init__(self, connection: Any, token: str) -> None:
        self._network = connection.network
        self._connection = connection
        self._token = token

    def chosen(self, name: str | None) -> Any:
        """The network of that name, or the only one. Raises PreflightError where it is not there, or not certain."""
        with explained("its networks", self._connection):
            inner = [each for each in self._network.networks() if not each.is_router_external]
        names = sorted(each.name for each in inner)
        if name is None and len(inner) != 1:
            raise PreflightError(
                f"there are {len(inner)} networks: {', '.join(names) or 'none'}",
                "name one in cluster.instances.network" if inner else "make one with a router to the outside",
            )
        found = next((each for each in inner if name in (None, each.name, each.id)), None)
        if found is None:
            raise PreflightError(
                f"no network {name!r}{did_you_mean(str(name), names)}", "see cluster.instances.network"
            )
        return found

    def room(self) -> int | None:
        """How many more addresses the project may have; None without a limit."""
        with explained("its quota of addresses", self._connection):
            quota = self._network.get_quota(self._connection.current_project_id, details=True).floating_ips
            if not isinstance(quota, dict) or quota["limit"] < 0:
                return None
            return int(quota["limit"] - quota["used"] - quota.get("reserved", 0))

    def group(self) -> str:
        """The id of the security group, made where it is not there: from outside SSH alone, between its members all."""
        with explained("the security group", self._connection):
            found = next(self._network.security_groups(name=self._token), None)
            if found is None:
                about = "Loadstone: SSH from outside, all between the machines of one study"
                found = self._network.create_security_group(name=self._token, description=about)
            common = {"security_group_id": found.id, "direction": "ingress", "ether_type": "IPv4"}
            ssh = {"protocol": "tcp", "port_range_min": 22, "port_range_max": 22, "remote_ip_prefix": "0.0.0.0/0"}
            there = [rule for rule in found.security_group_rules if rule["direction"] == "ingress"]
            if not any(rule["port_range_min"] == 22 for rule in there):
                self._network.create_security_group_rule(**common, **ssh)
            if not any(rule["remote_group_id"] == found.id for rule in there):
                self._network.create_security_group_rule(**common, remote_group_id=found.id)
            return str(found.id)

    def address(self, server: Any) -> str:
        """The address by which a server is reached from outside, made where it has none."""
        with explained("the floating address", self._connection):
            mine = next(iter(self._addresses()), None)
            if mine is not None and mine.port_id:
                return str(mine.floating_ip_address)
            port = next(self._network.ports(device_id=server.id), None)
            outside = next(iter(self._network.networks(is_router_external=True)), None)
            if port is None or outside is None:
                raise DeploymentError(
                    f"{server.name} cannot get an address: "
                    + ("the site has no external network" if port is not None else "it has no port in the network"),
                    "see cluster.instances.network, and that a router joins it to the outside",
                )
            if mine is None:
                mine = self._network.create_ip(floating_network_id=outside.id, port_id=port.id, description=self._token)
            else:
                mine = self._network.update_ip(mine, port_id=port.id)
            return str(mine.floating_ip_address)

    def remove(self) -> None:
        """Give back the address, then remove the group, once no port has it any more."""
        with explained("the network", self._connection):
            for address in self._addresses():
                self._network.delete_ip(address)
            deadline, pauses = time.monotonic() + _DETACHED_S, Pauses()
            for group in list(self._network.security_groups(name=self._token)):
                while True:
                    try:
                        self._network.delete_security_group(group)
                        break
                    except exceptions.ConflictException:
                        if time.monotonic() > deadline:
                            raise
                        pauses.wait()

    def _addresses(self) -> list[Any]:
        return [each for each in self._network.ips(description=self._token) if each.description == self._token]
