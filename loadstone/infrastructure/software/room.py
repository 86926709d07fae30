"""A room for daemons: a mount and UTS namespace that make a machine look like theirs alone.

Its first process keeps both namespaces: whatever is mounted in them ends with the last process of the room, so killing
the control group unmounts everything. Seen from inside, the machine has the member's name, its own ``/run`` and
``/var/lib/docker``, its own layers over ``/etc`` and ``/opt`` (where containerd looks for plugins), and its own copies
of the machine-wide knobs that daemons write. Emulated hosts are set up by the same script.
"""

from __future__ import annotations

import time

from loadstone.infrastructure.machines import Machine
from loadstone.infrastructure.software import footprint
from loadstone.model.errors import DeploymentError
from loadstone.model.records.node import NodeProcess, SpawnArgs

UP = "up"
"""What the script prints when the room is complete."""
UNSHARE = ("unshare", "--mount", "--uts", "--propagation", "slave")
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
SETUP = f"""
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
echo {UP}
exec sleep infinity >/dev/null 2>&1
"""
"""Arguments: the name, its address, and the name server to use, empty for the machine's own."""


def enter(machine: Machine, deployment: str, name: str, address: str) -> tuple[str, ...]:
    """The command line that enters the room of a deployment, made if it is not there.

    What the machine's network has before is recorded first, for ``footprint.sweep``.
    """
    room = _find(machine, deployment)
    if room is None:
        footprint.record(machine, deployment)
        command = (*UNSHARE, "sh", "-ec", SETUP, _ROOM, name, address, "")
        machine.spawn(SpawnArgs(deployment=deployment, name=_ROOM, argv=command))
        room = _await(machine, deployment)
    return ("nsenter", "--target", str(room.pid), "--mount", "--uts", "--")


def _find(machine: Machine, deployment: str) -> NodeProcess | None:
    found = machine.deployment(deployment)
    processes = found.processes if found is not None else ()
    return next((process for process in processes if process.name == _ROOM and process.alive), None)


def _await(machine: Machine, deployment: str) -> NodeProcess:
    deadline = time.monotonic() + _READY_WITHIN_S
    while (room := _find(machine, deployment)) is not None and time.monotonic() < deadline:
        if UP in machine.log(deployment, _ROOM, 1).split():
            return room
        time.sleep(_LOOK_EVERY_S)
    raise DeploymentError(
        f"{machine.name}: daemons cannot have mounts of their own: {machine.log(deployment, _ROOM, 5).strip()}",
        "use a host whose kernel and login may make mount namespaces and overlays",
    )
