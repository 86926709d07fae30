"""Hosts with a real sshd each: emulated ones, with folders of their own, and keys made for the test."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from loadstone.infrastructure.namespaces.emulated import EmulatedHosts
from loadstone.infrastructure.namespaces.host import Host
from loadstone.infrastructure.namespaces.network import one_at_a_time
from tests.support import groups as control_groups
from tests.support.daemons import Daemon

OWNER = "nobody"
"""A user that each host has, who is not root."""
SSHD = shutil.which("sshd", path="/usr/sbin:/usr/bin:/sbin")
MOUNTS = """
mkdir -p /run/sshd {own} /var/lib/loadstone
mount --bind {own} /var/lib/loadstone
"""
ROOT = """
for folder in usr var; do
  mkdir -p {root}/$folder/upper {root}/$folder/work
  mount -t overlay -o lowerdir=/$folder,upperdir={root}/$folder/upper,workdir={root}/$folder/work overlay /$folder
done
mkdir -p {root}/home
mount --bind {root}/home /root
rm -f /usr/sbin/policy-rc.d
"""
"""Layers of the host's own over this machine's programs: packages can be installed in it alone. It has a layer over
``/etc`` anyway."""
TRACES = """
ip -o link | sed 's/^[0-9]*: \\([^:@]*\\).*/link \\1/'
for program in iptables ip6tables; do
  $program-save | grep -E '^(-A|:[A-Z]*-|:DOCKER|:FORWARD DROP)' | sed 's/ [[].*//'
done
echo "forwards $(cat /proc/sys/net/ipv4/ip_forward)"
sed 's/^[^/]*/mount /' /proc/self/mountinfo | grep -Ev '/run/netns|^mount [^ ]+ /tmp/'
for pid in $(ip netns pids "$1"); do [ ! -r /proc/$pid/comm ] || echo "runs $(cat /proc/$pid/comm)"; done
ip route | sed 's/^/route /'
for folder in /etc/docker /etc/cni /run/docker* /run/containerd /var/lib/docker /var/lib/cni /var/lib/kubelet \\
  /var/log/pods; do
  [ ! -e $folder ] || echo "folder $folder"
done
"""
"""Left out is what differs between two equal states: counters, ids of mounts and processes, mounts of other clusters
and tests on this machine, which come and go on hosts as well."""

_SESSIONS_END_S = 600.0
"""A session of ssh ends a moment after its desk; the limit is for one that hangs."""


@dataclass
class SshHosts:
    """Names are ``worker-1`` and on; ``config`` is a configuration of ssh that knows them."""

    emulated: EmulatedHosts
    folder: Path
    config: Path

    @property
    def hosts(self) -> list[Host]:
        return self.emulated.hosts

    def own(self, name: str) -> Path:
        """What is ``/var/lib/loadstone`` on a host."""
        return self.folder / f"{name}-own"

    def inventory(self, **different: str) -> Path:
        """An inventory of all; ``different``: another line for a host, by its name with underscores."""
        lines = [f"ssh: {{config: {self.config}}}", "hosts:"]
        for host in self.hosts:
            usual = f"{{address: {host.address}, owner: {OWNER}}}"
            lines.append(f"  {host.name}: {different.get(host.name.replace('-', '_'), usual)}")
        file = self.folder / "hosts.yaml"
        file.write_text("\n".join(lines) + "\n")
        return file

    def cut(self, name: str, state: str = "down") -> None:
        """Take a host off the network, or bring it back (``up``)."""
        subprocess.run(["ip", "-n", self.emulated.cluster, "link", "set", name, state], check=True)

    def groups(self) -> set[str]:
        """The control groups that the hosts' journals name. They are this machine's own: sshd's logins see its root."""
        journals = (file for host in self.hosts for file in self.own(host.name).glob("deployments/*/deployment.json"))
        return {group for file in journals if (group := json.loads(file.read_text())["group"]) is not None}

    def left(self, groups: Iterable[str]) -> list[str]:
        """What is left on any host: folders of deployments, and those of control groups that were there before."""
        folders = [path for host in self.hosts for path in self.own(host.name).glob("deployments/*")]
        made = [path for group in groups for path in control_groups.folders(group)]
        return [str(path) for path in folders + made]

    def traces(self, name: str) -> set[str]:
        """Links, routes, firewall rules, settings, mounts, programs that run and folders of daemons on a host."""
        host = next(host for host in self.hosts if host.name == name)
        listed = host.run(["sh", "-ec", TRACES, "traces", f"{self.emulated.cluster}-{name}"])
        listed.check_returncode()
        return set(listed.stdout.splitlines())

    def differences(self, before: Mapping[str, set[str]]) -> dict[str, set[str]]:
        """What differs on each host from the traces that it had before, once all that ends by itself has ended."""
        deadline = time.monotonic() + _SESSIONS_END_S
        while True:
            found = {name: self.traces(name) ^ traces for name, traces in before.items()}
            if not any(found.values()) or time.monotonic() > deadline:
                return {name: traces for name, traces in found.items() if traces}
            time.sleep(0.5)

    def clear(self) -> None:
        """End what a test that failed has left running on hosts."""
        for group in self.groups():
            control_groups.remove(group)


@contextlib.contextmanager
def ssh_hosts(count: int = 3, own_roots: bool = False, more: str = "") -> Iterator[SshHosts]:
    """Hosts that can be logged in to; gone at the end. ``own_roots``: packages can be installed on each alone;
    ``more``: shell lines that each runs before its sshd starts."""
    folder = Path(tempfile.mkdtemp(prefix="loadstone-ssh-test-"))
    folder.chmod(0o755)
    with one_at_a_time():
        emulated = EmulatedHosts.planned([f"worker-{n + 1}" for n in range(count)], folder / "clusters")
        emulated = emulated.claim()
    made = SshHosts(emulated, folder, folder / "ssh_config")
    try:
        emulated.make()
        for key in ("login", "host"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(folder / key)]
            subprocess.run(command, check=True)
        shutil.copy(folder / "login.pub", folder / "authorized_keys")
        (folder / "sshd_config").write_text(
            f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized_keys\nStrictModes no\nUsePAM no\n"
            "PermitRootLogin prohibit-password\nPasswordAuthentication no\nPidFile none\n"
        )
        key = " ".join((folder / "host.pub").read_text().split()[:2])
        known = "".join(f"{host.address} {key}\n" for host in emulated.hosts)
        (folder / "known_hosts").write_text(known)
        entries = [f"Host {host.name}\n  HostName {host.address}\n  User root\n" for host in emulated.hosts]
        general = (
            f"Host *\n  IdentityFile {folder}/login\n  IdentitiesOnly yes\n  UserKnownHostsFile {folder}/known_hosts\n"
        )
        made.config.write_text("".join(entries) + general)
        for host in emulated.hosts:
            root = ROOT.format(root=folder / f"{host.name}-root") if own_roots else ""
            mounts = root + MOUNTS.format(own=folder / f"{host.name}-own") + more
            sshd = Daemon(host, "sshd", [str(SSHD), "-D", "-e", "-f", str(folder / "sshd_config")], mounts=mounts)
            _listens(host, sshd)
        yield made
    finally:
        made.clear()
        emulated.remove()
        shutil.rmtree(folder, ignore_errors=True)


def _listens(host: Host, sshd: Daemon) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            socket.create_connection((host.address, 22), 1).close()
            return
        except OSError:
            assert time.monotonic() < deadline and sshd.alive(), sshd.log()
            time.sleep(0.05)
