"""The manifest of an experiment: what CloudLab shows as *Manifest* and GENI's tools write (RSpec version 3)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from pydantic import ValidationError

from loadstone.infrastructure import desk, inventories
from loadstone.model.errors import InputError, unreadable
from loadstone.model.inventory import Inventory

NAMESPACE = "http://www.geni.net/resources/rspec/3"
_LARGEST = 16 * 2**20


class Login(NamedTuple):
    """A way in, one for each member of the project."""

    user: str
    host: str
    port: int

    @property
    def destination(self) -> str:
        """As ssh takes it."""
        return f"{self.user}@{self.host}" if self.port == 22 else f"ssh://{self.user}@{self.host}:{self.port}"


class ManifestNode(NamedTuple):
    """A machine; ``address`` is that of its first interface in the experiment's network."""

    name: str
    address: str
    logins: list[Login]


class Manifest(NamedTuple):
    """The manifest of one experiment at one site."""

    file: str
    nodes: list[ManifestNode]
    expires: datetime | None


def read(file: str) -> Manifest:
    """Raises InputError where the file is no manifest, or has a node that no study could use."""
    try:
        data = Path(file).read_bytes()
        if len(data) > _LARGEST or b"<!DOCTYPE" in data or b"<!ENTITY" in data:  # entities could grow without end
            raise InputError(f"{file}: not a manifest: it is too large or declares entities")
        root = ElementTree.fromstring(data)
    except OSError as error:
        raise InputError(f"{file}: {unreadable(error)}; copy the experiment's manifest there") from None
    except ElementTree.ParseError as error:
        raise InputError(f"{file}: not XML: {error}") from None
    if root.tag != f"{{{NAMESPACE}}}rspec" or root.get("type") != "manifest":
        raise InputError(
            f"{file}: not a manifest but {root.get('type') or root.tag!r}; take what CloudLab shows as Manifest"
        )
    nodes = [_node(file, each) for each in root.iterfind(_of("node"))]
    if not nodes:
        raise InputError(f"{file}: the experiment has no nodes")
    return Manifest(file, nodes, _time(file, root.get("expires")))


def inventory(manifest: Manifest, login: str | None) -> Inventory:
    """As `hosts` takes it: roles by the names ``client-1``, ``manager-1``; all others are workers.

    ``login``: the user among those of the project; by default the one with this user's name, else the first.
    """
    hosts = {
        node.name: {
            "login": _chosen(manifest.file, node, login).destination,
            "address": node.address,
            "roles": [_role(node.name)],
        }
        for node in manifest.nodes
    }
    try:
        found = Inventory.model_validate({"hosts": hosts})
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{manifest.file}: {first['loc'][1]}: {first['msg'].removeprefix('Value error, ')}") from None
    return found.model_copy(update={"ssh": inventories.ssh_options()})


def _node(file: str, node: ElementTree.Element) -> ManifestNode:
    name = str(node.get("client_id"))
    addresses = [
        str(ip.get("address"))
        for ip in node.iterfind(f"{_of('interface')}/{_of('ip')}")
        if ip.get("type", "ipv4") == "ipv4"
    ]
    logins = [
        Login(str(each.get("username")), str(each.get("hostname")), _port(file, name, each))
        for each in node.iterfind(f"{_of('services')}/{_of('login')}")
        if each.get("username") and each.get("hostname")
    ]
    if not addresses:
        raise InputError(
            f"{file}: {name} has no interface with an IPv4 address; join the nodes by a link in the profile"
        )
    if not logins:
        raise InputError(
            f"{file}: {name} has no login; wait until the experiment is ready, then take its manifest again"
        )
    return ManifestNode(name, addresses[0], logins)


def _port(file: str, name: str, login: ElementTree.Element) -> int:
    written = login.get("port") or "22"
    if not (written.isascii() and written.isdigit()):
        raise InputError(f"{file}: {name} has a login at port {written!r}, which is no number")
    return int(written)


def _chosen(file: str, node: ManifestNode, wanted: str | None) -> Login:
    by_user = {login.user: login for login in node.logins}
    if wanted is not None and wanted not in by_user:
        raise InputError(f"{file}: {node.name} has no login {wanted!r}, but {', '.join(by_user)}")
    return by_user.get(wanted or desk.user(), node.logins[0])


def _role(name: str) -> str:
    return next((role for role in ("client", "manager") if name.startswith(role)), "worker")


def _time(file: str, written: str | None) -> datetime | None:
    if written is None:
        return None
    try:
        found = datetime.fromisoformat(written.replace("Z", "+00:00"))
    except ValueError:
        raise InputError(f"{file}: expires {written!r} is no time") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _of(tag: str) -> str:
    return f"{{{NAMESPACE}}}{tag}"
