"""What cluster software makes in the network namespace of a machine that has other users, and how it is taken back.

Links, firewall rules and settings are recorded before anything is started. Afterwards only that is removed which was
not there and carries a name that Docker, Kubernetes, CNI plugins or Nomad give: a rule that another program has added
meanwhile stays.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_interface

from loadstone.infrastructure.machines import Machine
from loadstone.model.errors import DeploymentError

ENGINES_OWN = "/var/lib/docker"
"""Where Docker's engine keeps what its networks need, wherever its ``data-root`` is."""
_FILE = "before.txt"
_LINK = re.compile(r"docker0|docker_gwbridge|br-[0-9a-f]{12}|(veth|vx-|ov-)\S+|cni\S*|nomad|kube-\S+")
_CHAIN = re.compile(r"DOCKER\S*|KUBE-\S+|CNI-\S+|NOMAD-\S+")
_KNOBS = (
    "ipv4/ip_forward",
    "ipv4/conf/all/route_localnet",
    "ipv6/conf/all/forwarding",
    "ipv6/conf/default/forwarding",
    "bridge/bridge-nf-call-iptables",
    "bridge/bridge-nf-call-ip6tables",
    "netfilter/nf_conntrack_max",
    "netfilter/nf_conntrack_tcp_be_liberal",
    "netfilter/nf_conntrack_tcp_timeout_close_wait",
    "netfilter/nf_conntrack_tcp_timeout_established",
)
_LIST = f"""
for folder in {ENGINES_OWN}; do [ ! -d $folder ] || echo "folder $folder"; done
sed -n 's/^ *\\([^ :]*\\):.*/link \\1/p' /proc/net/dev
ip -o address show 2>/dev/null | while read -r _ link _ address _; do echo "address $link $address"; done
cd /proc/sys/net
for knob in {" ".join(_KNOBS)}; do [ ! -r $knob ] || echo "knob $knob $(cat $knob)"; done
for program in iptables ip6tables; do
  if command -v $program-save >/dev/null; then $program-save | sed "s/^/$program /"; fi
done
"""
"""One line a thing: ``link docker0``, ``address docker0 172.17.0.1/16``, ``knob ipv4/ip_forward 1``, or
``iptables -A FORWARD -j DOCKER-USER``."""
_RULES = ("iptables", "ip6tables")
Subnet = IPv4Network | IPv6Network


@dataclass(frozen=True)
class Removal:
    """What is to be done about everything that was left."""

    links: tuple[str, ...]
    knobs: tuple[tuple[str, str], ...]
    """Below ``/proc/sys/net``, with the values of before."""
    rules: dict[str, str]
    """By program (``iptables``), the input of its ``-restore --noflush``."""
    folders: tuple[str, ...]
    """Empty ones, on which something was mounted."""


def record(machine: Machine, deployment: str) -> None:
    """Keep what a machine has now in a deployment's folder, unless that was done before."""
    file = _file(machine, deployment)
    if machine.run(["test", "-e", file]).code:
        machine.put(machine.output(["sh", "-ec", _LIST]).encode(), file)


def sweep(machine: Machine, deployment: str) -> None:
    """Remove what a deployment's daemons, which have ended, left outside of their room. May be called twice."""
    file = _file(machine, deployment)
    if machine.run(["test", "-e", file]).code:
        return
    removal = difference(machine.get(file).decode(), machine.output(["sh", "-ec", _LIST]))
    for link in removal.links:  # the kernel may remove one meanwhile, with the other end of a pair
        machine.run(["ip", "link", "delete", link])
    for program, rules in removal.rules.items():
        machine.output([f"{program}-restore", "--noflush"], given=rules.encode())
    for knob, value in removal.knobs:
        machine.output(["tee", f"/proc/sys/net/{knob}"], given=f"{value}\n".encode())
    for folder in removal.folders:
        machine.run(["rmdir", folder])


def difference(before: str, after: str) -> Removal:
    """What of ``after`` is to be removed or set back, both as listed on the machine."""
    was, now = _by_kind(before), _by_kind(after)
    values = dict(line.split(maxsplit=1) for line in was["knob"])
    changed = (line.split(maxsplit=1) for line in now["knob"] if line not in was["knob"])
    links = [link for link in now["link"] if link not in was["link"] and _LINK.fullmatch(link)]
    addresses = (line.split() for line in now["address"])
    subnets = [ip_interface(address).network for link, address in addresses if link in links]
    rules = {program: _rules(was[program], now[program], subnets) for program in _RULES}
    return Removal(
        tuple(links),
        tuple((knob, values[knob]) for knob, _ in changed if knob in values),
        {program: text for program, text in rules.items() if text},
        tuple(folder for folder in now["folder"] if folder not in was["folder"]),
    )


def _by_kind(listed: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {kind: [] for kind in ("folder", "link", "address", "knob", *_RULES)}
    for line in listed.splitlines():
        kind, _, rest = line.partition(" ")
        found[kind].append(rest)
    return found


def _rules(before: list[str], after: list[str], subnets: Sequence[Subnet]) -> str:
    """The restore script that undoes what was added to a firewall; empty if nothing was."""
    was, now = dict(_tables(before)), dict(_tables(after))
    return "".join(_table(name, was.get(name, []), lines, subnets) for name, lines in now.items())


def _tables(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    name, table = "", list[str]()
    for line in lines:
        if line.startswith("*"):
            name, table = line[1:], []
        elif line == "COMMIT":
            yield name, table
        elif not line.startswith("#"):
            table.append(line)


def _table(name: str, before: list[str], after: list[str], subnets: Sequence[Subnet]) -> str:
    was, now = _chains(before), _chains(after)
    ours = [chain for chain in now if chain not in was and _CHAIN.fullmatch(chain)]
    old = Counter(line for line in before if line.startswith("-A"))
    lines = []
    for line in after:
        if not line.startswith("-A") or line.split()[1] in ours:
            continue
        if old[line]:
            old[line] -= 1
        elif _is_ours(line, ours, subnets):
            lines.append(f"-D{line[2:]}")
    lines += [f":{chain} {was[chain]}" for chain, policy in now.items() if was.get(chain, policy) != policy]
    lines += [f"-F {chain}" for chain in ours] + [f"-X {chain}" for chain in ours]
    return "\n".join([f"*{name}", *lines, "COMMIT", ""]) if lines else ""


def _chains(table: list[str]) -> dict[str, str]:
    """The policy by chain; ``-`` for one that is not built in."""
    return {line.split()[0][1:]: line.split()[1] for line in table if line.startswith(":")}


def _is_ours(rule: str, chains: Sequence[str], subnets: Sequence[Subnet]) -> bool:
    """Whether a rule of a shared chain leads to one of ours, or is about a link or a subnet of our daemons alone."""
    for option, value in itertools.pairwise(shlex.split(rule)):  # a comment is one word
        if option in ("-j", "-g") and value in chains:
            return True
        if option in ("-i", "-o") and _LINK.fullmatch(value):
            return True
        if option in ("-s", "-d") and _is_within(ip_interface(value).network, subnets):
            return True
    return False


def _is_within(addresses: Subnet, subnets: Sequence[Subnet]) -> bool:
    return any(addresses.version == each.version and addresses.subnet_of(each) for each in subnets)  # type: ignore[arg-type]


def _file(machine: Machine, deployment: str) -> str:
    found = machine.deployment(deployment)
    if found is None:
        raise DeploymentError(f"{machine.name}: the journal of this machine has no deployment {deployment!r}")
    return f"{found.folder}/{_FILE}"
