"""What a replica runs in, as the kernel of its node has it. Pure."""

from __future__ import annotations

from functools import partial
from typing import Literal

from loadstone.model.cluster import Node
from loadstone.model.deployment import Replica
from loadstone.model.environment import Environment, in_given_guest, in_guest
from loadstone.model.guest import Guest
from loadstone.model.records.audit import AuditRow
from loadstone.model.records.node.machine import Facts
from loadstone.model.records.node.replicas import ReplicaEnvironment

Files = Literal["disk", "volume", "layer"]
"""Where a replica keeps its files: on its machine's disk, in a volume, or in its container's writable layer."""

_SEPARATE = ("mnt", "pid", "net")
"""The namespaces that a container has to itself."""
_IN_MEMORY = ("tmpfs", "ramfs")


def environment_rows(
    replica: Replica,
    node: Node,
    requested: Environment | None,
    default: Literal["bare", "container"],
    files: Files,
    facts: Facts,
    found: ReplicaEnvironment | None,
    boot: str,
) -> list[AuditRow]:
    """Rows of a replica: its environment, its kernel where that must be this machine's, and what holds its files.

    ``requested``: by the study; None where it leaves that to the orchestrator, whose ``default`` is then expected on
    whatever the machine is. ``found``: None where no control group finds the replica, which then is in the
    environment of the node that started it. ``boot``: of this machine's kernel.
    """
    row = partial(AuditRow, replica=replica.name, node=node.name)
    if node.guest is not None:
        expected = in_guest(default, node.guest.accelerator)
    else:
        expected = requested or (_of_process(facts) if default == "bare" else _of_container(facts))
    rows = [row(what="environment", wanted=expected, effective=environment_of(facts, found, node.guest))]
    if node.reach.local:
        kernel = "this machine's" if facts.boot == boot else f"that of another boot, {facts.kernel}"
        rows.append(row(what="kernel", wanted="this machine's", effective=kernel))
    if found is not None and found.files is not None:
        rows.append(row(what="files", wanted=files, effective=_files(found)))
    return rows


def environment_of(facts: Facts, found: ReplicaEnvironment | None, guest: Guest | None = None) -> str:
    """The name of a replica's environment; of what is none, a description. ``guest``: its node, if we made that."""
    level = _environment_of(facts, found)
    if guest is None:
        return level
    in_ours: dict[str, Environment] = {"vm (guest given)": "bare", "vm-container (guest given)": "container"}
    return in_guest(in_ours[level], guest.accelerator) if level in in_ours else level


def _environment_of(facts: Facts, found: ReplicaEnvironment | None) -> str:
    if found is None:
        return _of_process(facts)
    own = [kind for kind in _SEPARATE if found.namespaces.get(kind) == "own"]
    if not found.container:
        return f"a process with its own {_listed(own)}, started by no engine" if own else _of_process(facts)
    shared = [kind for kind in _SEPARATE if found.namespaces.get(kind) in ("kernel", "node")]
    return f"a container with its machine's {_listed(shared)}" if shared else _of_container(facts)


def _of_process(facts: Facts) -> Environment:
    """The environment of a process that the node starts without more. Loadstone itself may be in a container."""
    if facts.namespaces.get("pid") in ("node", "own"):
        return "vm-container (guest given)" if facts.hypervisor.present else "container (given)"
    return in_given_guest("bare") if facts.hypervisor.present else "bare"


def _of_container(facts: Facts) -> Environment:
    return in_given_guest("container") if facts.hypervisor.present else "container"


def _listed(kinds: list[str]) -> str:
    return f"{' and '.join(kinds)} namespace{'s' if len(kinds) > 1 else ''}"


def _files(found: ReplicaEnvironment) -> str:
    assert found.files is not None
    if found.files.type in _IN_MEMORY:
        return f"memory ({found.files.type} at {found.files.point})"
    if found.namespaces.get("mnt") != "own" and not found.container:
        return "disk"
    return "layer" if found.files.point == "/" else "volume"
