"""What a kernel counts of a replica, as tests make it up."""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.model.records.node.machine import Facts, Hypervisor
from loadstone.model.records.node.replicas import InForce, Mounted, Owner, ReplicaEnvironment, Standing, Used

_NOT_COUNTED = dict.fromkeys(("periods", "throttled_periods", "throttled_s", "memory_peak", "oom_kills"))


def used(**counted: float) -> Used:
    """Usage of one process; what is not given is not counted."""
    return Used.model_validate({**_NOT_COUNTED, "cpu_s": 1.0, "memory": 1, "pids": 1, **counted})


_CONTAINER = "0123456789abcdef" * 4


def in_container(files: Mounted | None = None, **namespaces: Owner) -> ReplicaEnvironment:
    """The environment of a replica in a container, with other owners of namespaces where they are given."""
    owners: dict[str, Owner] = {"mnt": "own", "pid": "own", "net": "own", "user": "kernel", **namespaces}
    return ReplicaEnvironment(container=_CONTAINER, namespaces=owners, files=files)


def of_process(files: Mounted | None = None, **namespaces: Owner) -> ReplicaEnvironment:
    """The environment of a process that no engine started, with other owners of namespaces where they are given."""
    owners: dict[str, Owner] = {"mnt": "node", "pid": "kernel", "net": "node", **namespaces}
    return ReplicaEnvironment(container="", namespaces=owners, files=files)


def standing(limits: InForce | None, usage: Used | None, environment: ReplicaEnvironment | None = None) -> Standing:
    """The standing of a replica that could be read, in a container where nothing else is given."""
    return Standing(
        absent="", limits=limits, usage=usage, environment=environment or in_container(), events=None, io=None
    )


def facts(guest: bool = False, boot: str = "b007", namespaces: Mapping[str, Owner] | None = None) -> Facts:
    """Facts of a machine with two cores; ``guest``: it is virtual."""
    return Facts(
        hostname="lab-1",
        kernel="6.1.0",
        os="Debian",
        arch="amd64",
        boot=boot,
        uid=0,
        cpus=(0, 1),
        processors=2,
        cpu_model="one of Intel's",
        governor="",
        load=0.0,
        memory=2**33,
        memory_available=2**33,
        page=4096,
        swap=0,
        hypervisor=Hypervisor(present=guest, name="QEMU" if guest else ""),
        product="",
        hardware={},
        namespaces=dict(namespaces or {"mnt": "kernel", "pid": "kernel", "net": "kernel"}),
        cgroups="v2",
        cpu_limit=None,
        memory_limit=None,
        unlimited_because="",
        disks={},
        tools={},
    )
