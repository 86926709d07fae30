"""A room for daemons: a mount and UTS namespace that make a machine look like theirs alone.

Its first process keeps both namespaces: whatever is mounted in them ends with the last process of the room, so killing
the control group unmounts everything. Seen from inside, the machine has the member's name, its own ``/run`` and
``/var/lib/docker``, its own layers over ``/etc`` and ``/opt`` (where containerd looks for plugins), and its own copies
of the machine-wide knobs that daemons write. Emulated hosts are set up by the same script.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

from loadstone.infrastructure.machines import Machine
from loadstone.infrastructure.software import footprint
from loadstone.model.errors import DeploymentError
from loadstone.model.records.node.deployments import NodeProcess, SpawnArgs

_UNSHARE = ("unshare", "--mount", "--uts", "--propagation", "slave")
_ROOM = "room"
_READY_WITHIN_S = 60.0
_LOOK_EVERY_S = 0.05
_KNOBS = (
    "kernel/keys/root_maxbytes",  # dockerd
    "kernel/keys/root_maxkeys",
    "kernel/panic",  # the kubelet
    "kernel/panic_on_oops",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
)
_SETUP = f"""
names=$(cat /run/systemd/resolve/resolv.conf 2>/dev/null || cat /etc/resolv.conf 2>/dev/null || true)
[ -z "$3" ] || names="nameserver $3"
mount --make-rshared /
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/lock /run/.host/knobs /run/.host/docker {footprint.ENGINES_OWN}
for folder in etc opt; do
  mkdir -p /run/.host/$folder /run/.host/$folder.work
  mount -t overlay -o lowerdir=/$folder,upperdir=/run/.host/$folder,workdir=/run/.host/$folder.work overlay /$folder
done
mount --bind /run/.host/docker {footprint.ENGINES_OWN}
echo "$1" >/proc/sys/kernel/hostname
echo "$1" >/etc/hostname
echo "$2 $1" >>/etc/hosts
rm -f /etc/resolv.conf
echo "$names" >/etc/resolv.conf
echo 1 >/proc/sys/net/ipv4/ip_forward
for knob in {" ".join(_KNOBS)}; do
  [ -e /proc/sys/$knob ] || continue
  cat /proc/sys/$knob >/run/.host/knobs/${{knob##*/}}
  mount --bind /run/.host/knobs/${{knob##*/}} /proc/sys/$knob
done
echo "$4"
exec sleep infinity >/dev/null 2>&1
"""
"""Arguments: the name, its address, the name server to use, empty for the machine's own, and what it prints at last."""


def enter(machine: Machine, deployment: str, name: str, address: str) -> tuple[str, ...]:
    """The command line that enters the room of a deployment, made if it is not there.

    What the machine's network has before is recorded first, for ``footprint.sweep``.
    """
    room = find(machine, deployment)
    if room is None:
        footprint.record(machine, deployment)
        room = start(SpawnArgs(deployment=deployment, name=_ROOM, argv=()), machine, (name, address, ""))
    return ("nsenter", "--target", str(room.pid), "--mount", "--uts", "--")


def find(machine: Machine, deployment: str, process: str = _ROOM) -> NodeProcess | None:
    """The first process of a room; None where there is no such room, or not any more."""
    begun = machine.deployment(deployment)
    processes = begun.processes if begun is not None else ()
    return next((found for found in processes if found.name == process and found.alive), None)


def start(first: SpawnArgs, machine: Machine, arguments: Sequence[str]) -> NodeProcess:
    """Spawn the first process of a room and wait until it is complete.

    ``first``: its deployment and name, and the command that it is run by, if any. ``arguments``: the member's name, its
    address and its name server.
    """
    complete = f"complete {secrets.token_hex(4)}"  # the log has what an earlier room of that name printed
    command = (*first.argv, *_UNSHARE, "sh", "-ec", _SETUP, _ROOM, *arguments, complete)
    machine.spawn(first.model_copy(update={"argv": command}))
    deadline = time.monotonic() + _READY_WITHIN_S
    while (room := find(machine, first.deployment, first.name)) is not None and time.monotonic() < deadline:
        if complete in machine.log(first.deployment, first.name, 1):
            return room
        time.sleep(_LOOK_EVERY_S)
    output = machine.log(first.deployment, first.name, 5).strip()
    raise DeploymentError(
        f"{machine.name}: daemons cannot have mounts of their own: {output}",
        "use a host whose kernel and login may make mount namespaces and overlays",
    )
