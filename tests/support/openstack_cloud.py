"""An imitation of an OpenStack cloud: Keystone, Nova, Glance, Neutron and Blazar, as far as Loadstone speaks to them.

Written from the published API references. Its states advance with each look, and it can be made to fail in any call.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

PASSWORD = "open-sesame-7f3a"
SERVICES = {"identity": "v3", "compute": "v2.1", "image": "v2", "network": "v2.0", "reservation": "v1"}


class Refusal(Exception):
    """An answer that is an error: status and message."""


@dataclass
class Fault:
    """``status`` and message for calls of a method whose path matches; the first ``after`` succeed, then ``times``."""

    method: str
    path: str
    status: int
    message: str
    times: int = 1_000_000
    after: int = 0
    delay: float = 0.0


def in_turn(network: str, first: int) -> Callable[[str, str], str]:
    """An address of its own for each server, whatever it is called."""
    numbers = itertools.count(first)
    return lambda name, key: f"{network}.{next(numbers)}"


@dataclass
class OpenStackCloud:
    """What it has; ``servers`` and the rest are by id. ``boots`` names the address that a new server gets."""

    servers: dict[str, dict[str, Any]] = field(default_factory=dict)
    leases: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    addresses: dict[str, dict[str, Any]] = field(default_factory=dict)
    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    instances: int = 10
    free_hosts: int = 4
    floating: int = 2
    looks_until_active: int = 2
    project: str = "loadstone-test"
    valid: bool = True
    """Whether tokens are accepted."""
    broken: str = ""
    """What Nova says of each new server, which becomes an ERROR."""
    boots: Callable[[str, str], str] = field(default_factory=lambda: in_turn("10.9.0", 1))
    url: str = ""
    before: Callable[[str, str], None] = lambda method, path: None
    """Called with method and path before each answer."""

    def held(self) -> list[str]:
        """All that a project would pay for or have to remove."""
        kinds = (self.servers, self.leases, self.groups, self.addresses, self.keys)
        return [str(each.get("name") or each.get("description")) for kind in kinds for each in kind.values()]

    def clouds_yaml(self, folder: Path, password: str = PASSWORD) -> Path:
        """The credentials as users have them."""
        auth = {"auth_url": f"{self.url}/identity/v3", "username": "ada", "password": password}
        auth |= {"project_name": self.project, "user_domain_name": "Default", "project_domain_name": "Default"}
        file = folder / "clouds.yaml"
        file.write_text(json.dumps({"clouds": {"chi": {"auth": auth, "region_name": "RegionOne"}}}))
        return file

    def answer(self, method: str, target: str, body: Any, token: str | None) -> tuple[int, Any]:
        """Status and body."""
        self.calls.append((method, target))
        self.before(method, target)
        for fault in self.faults:
            if fault.method == method and re.search(fault.path, target) and fault.times > 0:
                if fault.after > 0:
                    fault.after -= 1
                    continue
                fault.times -= 1
                time.sleep(fault.delay)
                if fault.status:
                    return fault.status, {"error": {"message": fault.message, "code": fault.status}}
        url = urlsplit(target)
        service, _, path = url.path.strip("/").partition("/")
        version, _, path = path.partition("/")
        if not version or not path:
            return self._versions(service)
        if (service, path) != ("identity", "auth/tokens") and not (self.valid and token == "token"):
            return 401, {"error": {"code": 401, "message": "The request you have made requires authentication."}}
        try:
            handle: Callable[..., tuple[int, Any]] = getattr(self, f"_{service}")
            return handle(method, path, body, {key: value[0] for key, value in parse_qs(url.query).items()})
        except Refusal as error:
            status, message = error.args
            return status, {"error": {"code": status, "message": message}}

    def _versions(self, service: str) -> tuple[int, Any]:
        number = SERVICES[service]
        link = [{"rel": "self", "href": f"{self.url}/{service}/{number}/"}]
        version = {"id": f"{number}.0" if service in ("identity", "compute", "image") else number, "links": link}
        version |= {"status": "CURRENT", "version": "2.90", "min_version": "2.1"} if service == "compute" else {}
        version["status"] = "CURRENT"
        if service == "identity":
            version = {**version, "status": "stable", "id": "v3.14"}
        return 200, {"version": version} if service in ("compute", "identity") else {"versions": [version]}

    def _identity(self, method: str, path: str, body: Any, query: dict[str, str]) -> tuple[int, Any]:
        if method != "POST":
            raise Refusal(404, "not imitated")
        given = body["auth"]
        password = given["identity"].get("password", {}).get("user", {}).get("password")
        project = given.get("scope", {}).get("project", {}).get("name")
        if password != PASSWORD or not self.valid or project != self.project:
            raise Refusal(401, "The request you have made requires authentication.")
        catalog = [
            {
                "type": service,
                "name": service,
                "id": service,
                "endpoints": [
                    {"interface": "public", "region": "RegionOne", "region_id": "RegionOne", "id": service,
                     "url": f"{self.url}/{service}/{number}" if service in ("compute", "reservation", "identity")
                     else f"{self.url}/{service}"}
                ],
            }
            for service, number in SERVICES.items()
        ]  # fmt: skip
        domain = {"id": "default", "name": "Default"}
        return 201, {
            "token": {
                "catalog": catalog,
                "project": {"id": "p1", "name": self.project, "domain": domain},
                "user": {"id": "u1", "name": "ada", "domain": domain},
                "roles": [{"id": "r1", "name": "member"}],
                "methods": ["password"],
                "issued_at": "2026-01-01T00:00:00.000000Z",
                "expires_at": "2099-01-01T00:00:00.000000Z",
            }
        }

    def _compute(self, method: str, path: str, body: Any, query: dict[str, str]) -> tuple[int, Any]:
        if path.startswith("flavors"):
            sizes = {"m1.small": (2, 4096), "baremetal": (48, 196608)}
            listed = [
                {"id": name, "name": name, "vcpus": cpus, "ram": ram, "disk": 20, "links": []}
                for name, (cpus, ram) in sizes.items()
            ]
            return 200, {"flavors": listed}
        if path.startswith("limits"):
            used = len(self.servers)
            limits = {"maxTotalInstances": self.instances, "totalInstancesUsed": used, "maxTotalCores": 100}
            limits |= {"totalCoresUsed": 2 * used, "maxTotalRAMSize": -1, "totalRAMUsed": 0}
            return 200, {"limits": {"absolute": limits, "rate": []}}
        if path.startswith("os-keypairs"):
            return self._keypairs(method, path, body)
        return self._servers(method, path, body)

    def _keypairs(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        name = path.partition("/")[2]
        if method == "POST":
            self.keys[body["keypair"]["name"]] = body["keypair"]
            return 200, {"keypair": body["keypair"]}
        if name and name not in self.keys:
            raise Refusal(404, "no such key")
        if method == "DELETE":
            del self.keys[name]
            return 202, None
        return 200, {"keypair": self.keys[name]} if name else {"keypairs": [{"keypair": k} for k in self.keys.values()]}

    def _servers(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if method == "POST":
            return 202, {"server": self._boot(body["server"], body.get("OS-SCH-HNT:scheduler_hints") or {})}
        for server in list(self.servers.values()):
            if server["status"] == "BUILD":
                server["looks"] += 1
                if server["looks"] >= self.looks_until_active:
                    server["status"] = "ERROR" if self.broken else "ACTIVE"
                    server["fault"] = {"message": self.broken, "code": 500} if self.broken else None
            elif server["OS-EXT-STS:task_state"] == "deleting":
                server["looks"] += 1
                if server["looks"] >= self.looks_until_active:
                    del self.servers[server["id"]]
        if path == "servers/detail":
            return 200, {"servers": list(self.servers.values())}
        key = path.partition("/")[2]
        if key not in self.servers:
            raise Refusal(404, "no such server")
        server = self.servers[key]
        if method == "DELETE":
            server |= {"OS-EXT-STS:task_state": "deleting", "status": "ACTIVE", "looks": 0}
            return 204, None
        return 200, {"server": server}

    def _boot(self, wanted: dict[str, Any], hints: dict[str, str]) -> dict[str, Any]:
        if len(self.servers) >= self.instances:
            raise Refusal(403, "Quota exceeded for instances: Requested 1, but already used all")
        if wanted["flavorRef"] == "baremetal" and "reservation" not in hints:
            raise Refusal(400, "bare metal needs a reservation")
        if not [group for group in self.groups.values() if group["name"] == wanted["security_groups"][0]["name"]]:
            raise Refusal(400, "no such security group")
        server = {
            **{key: wanted[key] for key in ("name", "metadata", "key_name")},
            "id": str(uuid.uuid4()),
            "status": "BUILD",
            "looks": 0,
            "OS-EXT-STS:task_state": None,
            "reservation": hints.get("reservation", ""),
            "security_groups": wanted["security_groups"],
        }
        address = self.boots(wanted["name"], self.keys[wanted["key_name"]]["public_key"])
        server["addresses"] = {"sharednet1": [{"addr": address, "version": 4, "OS-EXT-IPS:type": "fixed"}]}
        self.servers[server["id"]] = server
        return server

    def _image(self, method: str, path: str, body: Any, query: dict[str, str]) -> tuple[int, Any]:
        images = [{"id": "image-1", "name": "CC-Ubuntu24.04", "status": "active"}]
        if path != "images":
            raise Refusal(404, "no such image")
        return 200, {"images": [each for each in images if query.get("name") in (None, each["name"])]}

    def _network(self, method: str, path: str, body: Any, query: dict[str, str]) -> tuple[int, Any]:
        kind, _, key = path.partition("/")
        if kind == "networks":
            nets = [
                {"id": "net-1", "name": "sharednet1", "router:external": False},
                {"id": "net-2", "name": "public", "router:external": True},
            ]
            wanted = query.get("router:external")
            return 200, {"networks": [net for net in nets if wanted in (None, str(net["router:external"]))]}
        if kind == "quotas":
            used = len(self.addresses)
            return 200, {"quota": {"floatingip": {"limit": self.floating, "used": used, "reserved": 0}}}
        if kind == "ports":
            server = self.servers.get(query.get("device_id", ""))
            port = {"id": f"port-{query.get('device_id')}", "device_id": query.get("device_id")}
            return 200, {"ports": [port] if server is not None else []}
        if kind == "floatingips":
            return self._kept("floatingip", self.addresses, method, key, body, query)
        if kind == "security-groups":
            if method == "DELETE" and key in self.groups:
                name = self.groups[key]["name"]
                if any(name == each["security_groups"][0]["name"] for each in self.servers.values()):
                    raise Refusal(409, f"Security Group {key} in use.")
            return self._kept("security_group", self.groups, method, key, body, query)
        if kind == "security-group-rules":
            rule = {"port_range_min": None, "remote_group_id": None, "id": str(uuid.uuid4())}
            rule |= body["security_group_rule"]
            self.groups[str(rule["security_group_id"])]["security_group_rules"].append(rule)
            return 201, {"security_group_rule": rule}
        raise Refusal(404, f"{path} is not imitated")

    def _kept(
        self, noun: str, kept: dict[str, Any], method: str, key: str, body: Any, query: dict[str, str]
    ) -> tuple[int, Any]:
        if method == "POST":
            made = {"id": str(uuid.uuid4()), **body[noun]}
            if noun == "security_group":
                made["security_group_rules"] = []
            else:
                if len(kept) >= self.floating:
                    raise Refusal(409, "Quota exceeded for resources: ['floatingip'].")
                server = self.servers[made["port_id"].removeprefix("port-")]
                made["floating_ip_address"] = server["addresses"]["sharednet1"][0]["addr"]
            kept[made["id"]] = made
            return 201, {noun: made}
        if key and key not in kept:
            raise Refusal(404, f"no {noun} {key}")
        if method == "DELETE":
            del kept[key]
            return 204, None
        matching = [
            each
            for each in kept.values()
            if all(each.get(k) == query[k] for k in ("name", "description") if k in query)
        ]
        return 200, {noun: kept[key]} if key else {f"{noun}s": matching}

    def _reservation(self, method: str, path: str, body: Any, query: dict[str, str]) -> tuple[int, Any]:
        kind, _, key = path.partition("/")
        if kind == "os-hosts":
            facts = {"node_type": "compute_cascadelake_r", "vcpus": 96, "memory_mb": 196608}
            return 200, {"hosts": [{"id": str(number), **facts} for number in range(4)]}
        if method == "POST":
            wanted = body["reservations"][0]
            if json.loads(wanted["resource_properties"]) != ["=", "$node_type", "compute_cascadelake_r"]:
                raise Refusal(400, "unknown resource properties")
            if sum(lease["count"] for lease in self.leases.values()) + wanted["min"] > self.free_hosts:
                raise Refusal(400, "Not enough hosts available")
            made = {**body, "id": str(uuid.uuid4()), "status": "STARTING", "count": wanted["min"], "looks": 0}
            made["reservations"] = [{**wanted, "id": str(uuid.uuid4())}]
            self.leases[made["id"]] = made
            return 201, {"lease": made}
        if key and key not in self.leases:
            raise Refusal(404, "no such lease")
        if method == "DELETE":
            del self.leases[key]
            return 200, None
        if key:
            lease = self.leases[key]
            lease["looks"] += 1
            lease["status"] = "ACTIVE" if lease["looks"] >= self.looks_until_active else "STARTING"
            return 200, {"lease": lease}
        return 200, {"leases": list(self.leases.values())}


@contextlib.contextmanager
def openstack_cloud(**settings: Any) -> Iterator[OpenStackCloud]:
    """It, on a port of loopback."""
    cloud = OpenStackCloud(**settings)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            with lock:
                status, found = cloud.answer(self.command, self.path, body, self.headers.get("X-Auth-Token"))
            data = b"" if found is None else json.dumps(found).encode()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                if self.path.endswith("/auth/tokens"):
                    self.send_header("X-Subject-Token", "token")
                self.end_headers()
                self.wfile.write(data)

        do_GET = do_POST = do_DELETE = do_PUT = _any

        def log_message(self, *_: Any) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    cloud.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield cloud
    finally:
        server.shutdown()
        server.server_close()
