"""What this machine must have for emulated hosts, whatever runs on them."""

from __future__ import annotations

import os

from loadstone.infrastructure.base import Finding
from loadstone.infrastructure.machines import this_machine
from loadstone.infrastructure.namespaces.commands import impossible, missing
from loadstone.model.cluster import Link

_PROGRAMS = {
    "ip": "iproute2",
    "tc": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "setpriv": "util-linux",
}


def machine(link: Link | None) -> list[Finding]:
    """Rights, programs and parts of the kernel; what needs others to be there is tried only where they are."""
    if os.geteuid() != 0:
        return [Finding("root", "error", "only root can emulate hosts", "run it with sudo")]
    if findings := missing(_PROGRAMS):
        return findings
    if why := this_machine().facts().unlimited_because:
        findings.append(Finding("control groups", "error", why))
    setup = "mount -t tmpfs tmpfs /run && mkdir /run/a /run/b && echo probe >/proc/sys/kernel/hostname"
    if why := impossible(f"{setup} && mount -t overlay -o lowerdir=/etc,upperdir=/run/a,workdir=/run/b overlay /etc"):
        findings.append(
            Finding("namespaces", "error", f"namespaces with mounts of their own cannot be made here: {why}",
                    "run it on the machine itself, or in a privileged container")
        )  # fmt: skip
        return findings
    if why := impossible("ip link add probe type veth peer name eborp && ip link add switch type bridge"):
        findings.append(
            Finding("network", "error", f"this kernel has no veth or no bridge: {why}", "use a kernel that has both")
        )
    if why := impossible("ip rule add pref 1 to 198.18.0.0/15 iif lo uidrange 0-0 lookup main"):
        message = f"this kernel has no routing rules for users, which keep others out of the hosts' network: {why}"
        findings.append(Finding("rules", "error", message, "use a kernel with CONFIG_IP_MULTIPLE_TABLES"))
    return findings + _shaping(link or Link())


def _shaping(link: Link) -> list[Finding]:
    wanted = {
        "tbf": ("rate", link.rate, "rate 1mbit burst 16kb latency 50ms"),
        "netem": ("delay", link.delay, "delay 1ms"),
    }
    findings = []
    for kind, (key, value, options) in wanted.items():
        if value and (why := impossible(f"tc qdisc add dev lo root {kind} {options}")):
            message = f"cluster.link.{key} needs {kind}, which this kernel lacks: {why}"
            remedy = f"leave cluster.link.{key} out, or use a kernel with CONFIG_NET_SCH_{kind.upper()}"
            findings.append(Finding(f"link {key}", "error", message, remedy))
    return findings
