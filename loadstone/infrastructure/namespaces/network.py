"""The network of emulated hosts: a switch in its own network namespace, a link to each host and one to this machine.

The switch is a bridge that no firewall of this machine sees (Docker, for one, sets FORWARD to DROP). In the root
namespace only the end of one link appears, with an address and the route that comes with it, and routing rules that
let root use this route, and the user who became root: other users of this machine, and other machines that send through
it, are refused. No setting is changed.
"""

from __future__ import annotations

import contextlib
import ipaddress
import itertools
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from loadstone.infrastructure.locks import locked
from loadstone.infrastructure.namespaces.commands import run
from loadstone.model.base import plural
from loadstone.model.errors import DeploymentError, PreflightError

RESERVED = IPv4Network("198.18.0.0/15")
"""Reserved for network benchmarks (RFC 2544), so it conflicts with no real network and no orchestrator's default."""

_NAMESPACES = Path("/run/netns")
_LOCK = Path("/run/loadstone/emulated.lock")
_LOCK_WITHIN_S = 60.0
"""Hosts are claimed in a second."""
_UPLINK = "uplink"
SWITCH = "switch"
_FIRST_RULE, _RULES = 1_000, 30_000
"""Preferences of routing rules: behind this machine's own addresses (0), before its main table (32766)."""
_SMALLEST_PREFIX = 8
_BURST_S = 0.002
_SMALLEST_BURST = 16 * 1024
_QUEUE_S = 0.05


def subnet_for(hosts: int, used: Iterable[IPv4Network]) -> IPv4Network:
    """The first subnet of RESERVED with room for so many hosts and this machine that overlaps none in use.

    Raises PreflightError if there is none.
    """
    # + the network's own address, this machine's, the switch's and the broadcast
    prefix = min(24, 32 - (hosts + 3).bit_length())
    taken = [network for network in used if network.overlaps(RESERVED)]
    for subnet in RESERVED.subnets(new_prefix=prefix):
        if not any(subnet.overlaps(network) for network in taken):
            return subnet
    raise PreflightError(
        f"no subnet for {plural(hosts, 'host')} is free in {RESERVED}",
        "`ip route` shows what has them; `loadstone down` removes emulated hosts that were left",
    )


def used_subnets() -> list[IPv4Network]:
    """What this machine has routes to or addresses in; the default route and those that stand for it aside."""
    routes = json.loads(run("ip", "-j", "-4", "route", "show", "table", "all") or "[]")
    addresses = json.loads(run("ip", "-j", "-4", "address") or "[]")
    texts = [route["dst"] for route in routes if route["dst"] != "default"]
    texts += [f"{info['local']}/{info['prefixlen']}" for link in addresses for info in link["addr_info"]]
    networks = [ipaddress.IPv4Network(text, strict=False) for text in texts]
    return [network for network in networks if network.prefixlen >= _SMALLEST_PREFIX]


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Held from the choice of a free subnet until ``Network.claim``: other processes that create hosts wait."""
    with locked(_LOCK, _LOCK_WITHIN_S):
        yield


def shaping(device: str, rate: float | None, delay: float | None) -> list[str]:
    """The lines for ``tc -batch`` that shape what leaves a device: a token bucket, behind a delay if there is one."""
    lines, place = [], "root"
    if delay:
        lines.append(f"qdisc add dev {device} root handle 1: netem delay {round(delay * 1e6)}us limit 100000")
        place = "parent 1:1"
    if rate:
        burst = max(_SMALLEST_BURST, round(rate / 8 * _BURST_S))
        shape = f"tbf rate {round(rate)}bit burst {burst}b latency {round(_QUEUE_S * 1e3)}ms"
        lines.append(f"qdisc add dev {device} {place} handle 10: {shape}")
    return lines


@dataclass(frozen=True)
class Network:
    """The network of one cluster. The same data finds it again later."""

    cluster: str
    """Namespaces carry this name: ``<cluster>`` is the switch's, ``<cluster>-<host>`` a host's."""
    interface: str
    """The end of the link that is in the root namespace; at most 15 characters."""
    subnet: IPv4Network

    @property
    def client(self) -> str:
        """This machine's address in it."""
        return str(self.subnet[1])

    @property
    def switch(self) -> str:
        """The switch's address."""
        return str(self.subnet[-2])

    def address(self, number: int) -> IPv4Address:
        """The address of a host, counted from 0."""
        return self.subnet[2 + number]

    def namespace(self, host: str = "") -> str:
        """The path of a host's network namespace; without a host, the switch's."""
        return str(_NAMESPACES / (self._of(host) if host else self.cluster))

    def claim(self) -> None:
        """Make the switch and the link to it: from now on the subnet is in use. Rules that a killed desk left go."""
        _ip(*(f"rule delete {rule}" for rule in self._rules_there()))
        _ip(
            f"netns add {self.cluster}",
            f"link add {self.interface} type veth peer name {_UPLINK} netns {self.cluster}",
            f"address add {self.client}/{self.subnet.prefixlen} dev {self.interface}",
            *(f"rule add {self._rule} iif lo uidrange {user}-{user} lookup main" for user in _admitted()),
            f"rule add {self._rule} prohibit",
            f"link set {self.interface} up",
        )
        _ip(
            "link set lo up",
            f"link add {SWITCH} type bridge",
            f"address add {self.switch}/{self.subnet.prefixlen} dev {SWITCH}",
            f"link set {_UPLINK} master {SWITCH} up",
            f"link set {SWITCH} up",
            namespace=self.cluster,
        )

    def connect(self, hosts: list[str], rate: float | None = None, delay: float | None = None) -> None:
        """Make the namespace and the link of each host, in the order of their addresses.

        ``rate``: bits per second of each link, both ways; ``delay``: seconds added to each packet that a host sends.
        """
        _ip(*(f"netns add {self._of(host)}" for host in hosts))
        links = (
            (f"link add {host} type veth peer name eth0 netns {self._of(host)}", f"link set {host} master {SWITCH} up")
            for host in hosts
        )
        _ip(*itertools.chain(*links), namespace=self.cluster)
        # Towards the host the switch shapes, from the host its own end; a delay is added once, to what it sends.
        _tc(self.cluster, [line for host in hosts for line in shaping(host, rate, None)])
        for number, host in enumerate(hosts):
            _ip(
                f"address add {self.address(number)}/{self.subnet.prefixlen} dev eth0",
                "link set lo up",
                "link set eth0 up",
                f"route add default via {self.client}",
                namespace=self._of(host),
            )
            _tc(self._of(host), shaping("eth0", rate, delay))

    def remove(self) -> None:
        """Delete the links and the namespaces, whichever of them are there."""
        link = Path("/sys/class/net", self.interface)
        if link.exists():
            try:
                run("ip", "link", "delete", self.interface)
            except DeploymentError:  # the kernel removes it, a little later, with the namespace of its other end
                if link.exists():
                    raise
        for namespace in [*_NAMESPACES.glob(f"{self.cluster}-*"), *_NAMESPACES.glob(self.cluster)]:
            run("ip", "netns", "delete", namespace.name)
        _ip(*(f"rule delete {rule}" for rule in self._rules_there() if rule == self._rule))

    @property
    def _rule(self) -> str:
        """What tells the routing rules of this cluster from all others."""
        return f"pref {_FIRST_RULE + zlib.crc32(self.cluster.encode()) % _RULES} to {self.subnet}"

    def _rules_there(self) -> list[str]:
        """Each routing rule about the subnet, of this cluster or of an earlier one that had it."""
        rules = json.loads(run("ip", "-j", "-4", "rule", "show") or "[]")
        numbers = range(_FIRST_RULE, _FIRST_RULE + _RULES)
        found = [rule for rule in rules if rule["priority"] in numbers]
        subnet = str(self.subnet)
        return [
            f"pref {rule['priority']} to {subnet}"
            for rule in found
            if f"{rule.get('dst')}/{rule.get('dstlen')}" == subnet
        ]

    def _of(self, host: str) -> str:
        return f"{self.cluster}-{host}"


def _admitted() -> list[str]:
    """The numbers of the users who reach the hosts: root, and the user who became root by ``sudo``."""
    return list(dict.fromkeys(["0", os.environ.get("SUDO_UID", "0")]))


def _ip(*lines: str, namespace: str = "") -> None:
    where = ("-n", namespace) if namespace else ()
    if lines:
        run("ip", *where, "-batch", "-", given="\n".join(lines) + "\n")


def _tc(namespace: str, lines: list[str]) -> None:
    if lines:
        run("tc", "-n", namespace, "-batch", "-", given="\n".join(lines) + "\n")
