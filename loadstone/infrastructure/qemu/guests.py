"""The guests of one cluster: a QEMU for each host, on the switch of emulated hosts, in a control group of its own.

Each is a process in the journal of this machine's node, and what it has on disk is in the cluster's folder: they go
with the cluster, whatever ended it.
"""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from loadstone.infrastructure.machines import MachineLost, connect, this_machine
from loadstone.infrastructure.machines.ssh import Ssh, quoted
from loadstone.infrastructure.namespaces.commands import run
from loadstone.infrastructure.namespaces.emulated import EmulatedHosts
from loadstone.infrastructure.namespaces.network import SWITCH
from loadstone.infrastructure.qemu import monitor
from loadstone.infrastructure.qemu.image import Image
from loadstone.model.cluster import Node, Reach
from loadstone.model.errors import DeploymentError, PreflightError
from loadstone.model.guest import Accelerator, Guest, Vm
from loadstone.model.records.node.deployments import NodeLimits, SpawnArgs

QEMU = "qemu-system-x86_64"
_CONFIG, _DISK = "ssh_config", "disk"
_UP_WITHIN_S = {"kvm": 120.0, "tcg": 600.0}
_LOOK_S = 1.0
_LAST_LINES = 15


@dataclass(frozen=True)
class Guests:
    """Those of a cluster, as they are wanted; ``nodes``: the hosts that they stand for, with cores and memory.

    ``nested``: this machine, on which they run, is a virtual one.
    """

    emulated: EmulatedHosts
    vm: Vm
    accelerator: Accelerator
    nested: bool
    nodes: tuple[Node, ...]

    @property
    def folder(self) -> Path:
        return Path(self.emulated.hosts_folder)

    @cached_property
    def made(self) -> list[Node]:
        """The guests as nodes."""
        return [self._node(node) for node in self.nodes]

    def start(self, image: Image) -> None:
        """Start all side by side and wait until they can be logged in to."""
        self._make_keys()
        for node in self.made:
            self._start(node, image)
        for node in self.made:
            self._await(node)

    def running(self) -> set[str]:
        """The names of the guests whose QEMU runs."""
        found = this_machine(self.emulated.state).deployment(self.emulated.cluster)
        return {process.name for process in found.processes if process.alive} if found is not None else set()

    def _node(self, node: Node) -> Node:
        cpus = self.vm.cpus or len(node.cpus)
        memory = self.vm.memory or node.memory
        guest = Guest(
            monitor=str(self.folder / node.name / "qmp.sock"),
            group=f"{self.emulated.group}/{node.name}" if self.emulated.group else "",
            accelerator=self.accelerator,
            nested=self.nested,
            cpus=cpus,
            memory=memory,
            pinned=node.cpus[:cpus] if self.vm.pin else (),
            host_cpus=node.cpus,
        )
        reach = Reach(transport="ssh", options={"host": node.name, "config": str(self.folder / _CONFIG)})
        changes = {"cpus": tuple(range(cpus)), "memory": memory, "guest": guest, "reach": reach}
        return node.model_copy(update=changes)

    def _make_keys(self) -> None:
        for key in ("login", "host"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "loadstone", "-f", str(self.folder / key)]
            subprocess.run(command, check=True, capture_output=True, timeout=60)
        public = " ".join((self.folder / "host.pub").read_text().split()[:2])
        known = "".join(f"{node.address} {public}\n" for node in self.nodes)
        (self.folder / "known_hosts").write_text(known)
        settings = f"  User root\n  IdentityFile {quoted(self.folder / 'login')}\n  IdentitiesOnly yes\n"
        settings += f"  UserKnownHostsFile {quoted(self.folder / 'known_hosts')}\n  StrictHostKeyChecking yes\n"
        hosts = (f"Host {node.name}\n  HostName {node.address}\n{settings}" for node in self.nodes)
        (self.folder / _CONFIG).write_text("".join(hosts))

    def _start(self, node: Node, image: Image) -> None:
        assert node.guest is not None
        folder = self.folder / node.name
        folder.mkdir(mode=0o700)  # other users may enter the folders above it, and this one has the host's key
        (folder / "seed.tar").write_bytes(self._seed(node))
        disk = str(folder / _DISK)
        if self.vm.disk == "raw":
            run("cp", "--sparse=always", "--reflink=auto", str(image.disk), disk)
        else:
            run("qemu-img", "create", "-q", "-f", self.vm.disk, "-F", "raw", "-b", str(image.disk), disk)
        run("ip", "-n", self.emulated.cluster, "tuntap", "add", node.name, "mode", "tap")
        run("ip", "-n", self.emulated.cluster, "link", "set", node.name, "master", SWITCH, "up")
        enter = ("nsenter", f"--net={self.emulated.network.namespace()}")
        argv = (*enter, *self._command(node, node.guest, folder, image))
        limits = NodeLimits(cores=node.guest.host_cpus)
        process = SpawnArgs(deployment=self.emulated.cluster, name=node.name, argv=argv, limits=limits)
        this_machine(self.emulated.state).spawn(process)

    def _command(self, node: Node, guest: Guest, folder: Path, image: Image) -> list[str]:
        number = int(node.address.rpartition(".")[2])
        model = self.vm.cpu_model or ("host" if guest.accelerator == "kvm" else "max")
        device = {"virtio": "virtio-net-pci", "e1000": "e1000"}[self.vm.net]
        identity = self.emulated.id
        mac = f"52:54:{identity[:2]}:{identity[2:4]}:{identity[4:6]}:{number:02x}"
        options = {
            "-name": node.name,
            "-machine": f"{self.vm.machine},accel={guest.accelerator}",
            "-cpu": model,
            "-smp": str(guest.cpus),
            "-m": f"{guest.memory // 2**20}M",
            "-display": "none",
            "-monitor": "none",
            "-serial": "stdio",
            "-qmp": f"unix:{guest.monitor},server=on,wait=off",
            "-kernel": str(image.kernel),
            "-initrd": str(image.initrd),
            "-append": "root=/dev/vda rw init=/sbin/loadstone-init console=ttyS0 net.ifnames=0 panic=-1 quiet",
            "-netdev": f"tap,id=net0,ifname={node.name},script=no,downscript=no",
        }
        command = [QEMU, "-nodefaults", "-no-reboot", *(word for option in options.items() for word in option)]
        command += ["-device", f"{device},netdev=net0,mac={mac}", "-device", "virtio-rng-pci"]
        command += ["-drive", f"file={folder / _DISK},if=virtio,format={self.vm.disk},cache={self.vm.cache}"]
        return [*command, "-drive", f"file={folder / 'seed.tar'},if=virtio,format=raw,readonly=on"]

    def _seed(self, node: Node) -> bytes:
        """What the first process of a guest unpacks."""
        network = self.emulated.network
        lines = f"NAME={node.name}\nADDRESS={node.address}/{network.subnet.prefixlen}\n"
        lines += f"GATEWAY={network.client}\nNAMESERVER={network.switch}\n"
        key = (self.folder / "host").read_bytes()
        files = {
            "etc/loadstone-guest": (lines.encode(), 0o644),
            "etc/ssh/ssh_host_ed25519_key": (key, 0o600),
            "etc/ssh/ssh_host_ed25519_key.pub": ((self.folder / "host.pub").read_bytes(), 0o644),
            "root/.ssh/authorized_keys": ((self.folder / "login.pub").read_bytes(), 0o600),
        }
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for name, (text, mode) in files.items():
                info = tarfile.TarInfo(name)
                info.size, info.mode, info.mtime = len(text), mode, int(time.time())
                archive.addfile(info, io.BytesIO(text))
        return content.getvalue()

    def _await(self, node: Node) -> None:
        assert node.guest is not None
        deadline = time.monotonic() + _UP_WITHIN_S[node.guest.accelerator]
        machine = connect(node.name, node.reach)
        while True:
            try:
                machine.clock()
                break
            except (MachineLost, PreflightError) as error:
                last = str(error)
            if node.name not in self.running() or time.monotonic() > deadline:
                lines = this_machine(self.emulated.state).log(self.emulated.cluster, node.name, _LAST_LINES)
                raise DeploymentError(f"{node.name}: its virtual machine cannot be logged in to: {last}\n{lines}")
            time.sleep(_LOOK_S)
        if node.guest.pinned:
            monitor.pin(node.guest.monitor, node.guest.pinned)


def disconnect(emulated: EmulatedHosts) -> None:
    """End the connections to guests: one to a guest that is gone lasts until it has missed its answers."""
    config = Path(emulated.hosts_folder, _CONFIG)
    for name in emulated.names if config.exists() else ():
        Ssh(name, str(config)).disconnect()


def missing() -> list[str]:
    """Programs that guests need and this machine has not."""
    names = {QEMU: "qemu-system-x86", "qemu-img": "qemu-utils", "ssh-keygen": "openssh-client"}
    return [package for name, package in names.items() if not _found(name)]


def _found(name: str) -> bool:
    return any(Path(folder, name).exists() for folder in os.environ.get("PATH", "").split(os.pathsep))


def sizes(nodes: Sequence[Node], memory: int) -> list[Node]:
    """Hosts with the memory of the guests that stand for them: they share what the machine has."""
    share = memory // max(1, len(nodes)) // 2**20 * 2**20
    return [node.model_copy(update={"memory": share}) for node in nodes]
