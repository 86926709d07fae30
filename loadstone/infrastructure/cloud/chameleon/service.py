"""Machines of an OpenStack cloud: Nova's servers, on bare metal that is leased first where the type is a node type."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from loadstone.infrastructure.base import Finding, Say
from loadstone.infrastructure.cloud.chameleon import session
from loadstone.infrastructure.cloud.chameleon.leases import Leases
from loadstone.infrastructure.cloud.chameleon.network import Networking
from loadstone.infrastructure.cloud.pauses import Pauses, wait_long
from loadstone.infrastructure.cloud.service import CloudService, Made, Size
from loadstone.model.base import did_you_mean
from loadstone.model.errors import DeploymentError, PreflightError

_IMAGE = "CC-Ubuntu24.04"
_BARE_METAL = "baremetal"
_TAG = "loadstone"
_BUILT_S = 3600.0
_GONE_S = 900.0
_FAILURES = 5
"""Answers in a row that are errors of the cloud, while nothing is requested but news."""


class OpenStack(CloudService):
    """Servers carry the token in their metadata; key, group and lease are called by it."""

    usual_login = "cc"
    leases = True

    @cached_property
    def _connection(self) -> Any:
        return session.connect(self.wanted.site)

    def where(self) -> str:
        with session.explained(self.wanted.site or "OpenStack", self._connection):
            self._connection.config.get_session().get_token()
            project = self._connection.current_project
            region = self._connection.config.get_region_name()
            return f"project {project.name or project.id} at {self._connection.name}{f' ({region})' if region else ''}"

    def check(self, count: int) -> list[Finding]:
        found = []
        for what in (self._image, self._kind, lambda: self._networking.chosen(self.wanted.network)):
            try:
                what()
            except PreflightError as error:
                found.append(Finding("chameleon", "error", error.message, error.remedy))
        return found or self._quota(count)

    def size(self) -> Size | None:
        flavor, leased = self._kind()
        facts = self._leases.free(str(self.wanted.type)) if leased else None
        if facts is not None:
            return Size(int(facts["vcpus"]), int(facts["memory_mb"]) * 2**20)
        return Size(flavor.vcpus, flavor.ram * 2**20)

    def price(self) -> tuple[float, str] | None:
        """Chameleon charges a service unit for each hour of a machine of bare metal."""
        given = super().price()
        return given or ((1.0, "SU") if self._kind()[1] else None)

    def make(self, names: Sequence[str], public_key: str, until: datetime, say: Say) -> list[Made]:
        there = self._servers()
        if missing := [name for name in names if self._full(name) not in there]:
            self._request(missing, public_key, until, say)
        servers = self._built([self._full(name) for name in names], say)
        outside = self._networking.address(servers[self._full(names[0])])
        return [
            Made(name, _address(servers[self._full(name)]), outside if number == 0 else "")
            for number, name in enumerate(names)
        ]

    def remove(self) -> None:
        deadline, pauses = time.monotonic() + _GONE_S, Pauses()
        while servers := self._servers():
            for server in servers.values():
                if server.task_state != "deleting":
                    with session.explained(server.name, self._connection):
                        self._connection.compute.delete_server(server, ignore_missing=True)
            if time.monotonic() > deadline:
                raise DeploymentError(
                    f"{', '.join(servers)} cannot be deleted", "delete them in the site's web interface, or try again"
                )
            pauses.wait()
        self._networking.remove()
        with session.explained("the key", self._connection):
            self._connection.compute.delete_keypair(self.token, ignore_missing=True)
        if self._leases_there:
            self._leases.end()

    def _request(self, names: Sequence[str], public_key: str, until: datetime, say: Say) -> None:
        image, (flavor, leased) = self._image(), self._kind()
        network = self._networking.chosen(self.wanted.network)
        self._networking.group()
        with session.explained("the key", self._connection):
            if self._connection.compute.find_keypair(self.token) is None:
                self._connection.compute.create_keypair(name=self.token, public_key=public_key)
        hints = {}
        if leased:
            hints["scheduler_hints"] = {"reservation": self._leases.take(str(self.wanted.type), len(names), until, say)}
        for name in names:
            say(f"requesting {name}")
            with session.explained(name, self._connection):
                self._connection.compute.create_server(
                    name=self._full(name),
                    image_id=image.id,
                    flavor_id=flavor.id,
                    networks=[{"uuid": network.id}],
                    key_name=self.token,
                    security_groups=[{"name": self.token}],
                    metadata={_TAG: self.token},
                    **hints,
                )

    def _built(self, wanted: Sequence[str], say: Say) -> dict[str, Any]:
        """The servers of these names, once all run. Raises where one failed, with what the cloud says of it."""
        say(f"waiting for {len(wanted)} machines")
        deadline, pauses = time.monotonic() + _BUILT_S, Pauses()
        while True:
            servers = self._servers()
            for name in wanted:
                if name not in servers or servers[name].status in ("ERROR", "DELETED"):
                    why = str((servers[name].fault or {}).get("message", "")) if name in servers else "it is gone"
                    kind = PreflightError if "No valid host" in why else DeploymentError
                    remedy = session.NO_MACHINES if kind is PreflightError else "see the site's web interface"
                    raise kind(f"{name} could not be made: {why.splitlines()[0] if why else 'no reason given'}", remedy)
            if all(servers[name].status == "ACTIVE" and _address(servers[name]) for name in wanted):
                return servers
            if time.monotonic() > deadline:
                late = ", ".join(name for name in wanted if servers[name].status != "ACTIVE")
                raise DeploymentError(f"{late} did not start within {_BUILT_S / 60:g} minutes", "try again")
            pauses.wait()

    def _servers(self) -> dict[str, Any]:
        """All that carry the token, by name; an answer that is the cloud's own error is waited out."""
        for failures in range(1, _FAILURES + 1):
            try:
                with session.explained("its servers", self._connection):
                    listed = self._connection.compute.servers(details=True)
                    return {each.name: each for each in listed if each.metadata.get(_TAG) == self.token}
            except DeploymentError:
                if failures == _FAILURES:
                    raise
                wait_long()
        raise AssertionError

    def _full(self, name: str) -> str:
        return f"{self.token}-{name}"

    def _image(self) -> Any:
        name = self.wanted.image or _IMAGE
        with session.explained("its images", self._connection):
            found = self._connection.image.find_image(name)
        if found is None:
            remedy = "name one in cluster.instances.image: `openstack image list` shows them"
            raise PreflightError(f"no image {name!r} in {self._connection.name}", remedy)
        return found

    def _kind(self) -> tuple[Any, bool]:
        """The flavour, and whether its machine is leased: where the type is no flavour, but a node type."""
        name = str(self.wanted.type)
        with session.explained("its flavours", self._connection):
            flavors = {each.name: each for each in self._connection.compute.flavors()}
        if name in flavors:
            return flavors[name], False
        types = self._leases.types() if self._leases_there else []
        if name in types and _BARE_METAL in flavors:
            return flavors[_BARE_METAL], True
        known = did_you_mean(name, [*flavors, *types])
        raise PreflightError(f"no flavour or node type {name!r}{known}", "correct cluster.instances.type")

    def _quota(self, count: int) -> list[Finding]:
        with session.explained("its quota", self._connection):
            limits = self._connection.compute.get_limits().absolute
        flavor, leased = self._kind()
        needs = [("instances", count, limits.instances, limits.instances_used)]
        if not leased:
            needs += [
                ("cores", count * flavor.vcpus, limits.total_cores, limits.total_cores_used),
                ("MiB of memory", count * flavor.ram, limits.total_ram, limits.total_ram_used),
            ]
        remedy = "give back what you do not need, ask for a larger quota, or set fewer cluster.workers"
        found = [
            Finding("quota", "error", f"{needed} {what} are needed, the project has {limit - used} left", remedy)
            for what, needed, limit, used in needs
            if limit is not None and limit >= 0 and needed > limit - used
        ]
        if count and self._networking.room() == 0:
            message = "a floating address is needed, the project has none left"
            found.append(Finding("quota", "error", message, "release one: `openstack floating ip list`"))
        return found

    @property
    def _leases_there(self) -> bool:
        with session.explained("its services", self._connection):
            return bool(self._connection.config.get_session().get_endpoint(service_type="reservation"))

    @cached_property
    def _leases(self) -> Leases:
        return Leases(self._connection, self.token)

    @cached_property
    def _networking(self) -> Networking:
        return Networking(self._connection, self.token)


def _address(server: Any) -> str:
    """Its address in the network that all share; empty before it has one."""
    listed = [each for addresses in (server.addresses or {}).values() for each in addresses]
    fixed = (each["addr"] for each in listed if each["version"] == 4 and each.get("OS-EXT-IPS:type") != "floating")
    return str(next(fixed, ""))
