"""Virtual machines that a study has made: what they are given, and how they are looked at."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from loadstone.model.base import Model
from loadstone.model.units import Memory

Accelerator = Literal["kvm", "tcg"]
"""``tcg`` is emulation by software: it shows whether something works, never how fast."""


class Vm(Model):
    """The virtual machines of ``vm`` and ``vm-container``: one on each host, with all of the host's replicas in it."""

    cpus: Annotated[int | None, Field(ge=1, le=512)] = None
    """Virtual processors, by default as many as the host has cores. Treatments that differ in it are not compared."""
    memory: Memory | None = None
    """By default that of the host less 2 GiB; emulated hosts share the machine's memory."""
    disk: Literal["raw", "qcow2"] = "raw"
    """Its format: ``raw`` is a copy of the image, ``qcow2`` a layer over it."""
    cache: Literal["none", "writeback", "unsafe"] = "none"
    """How the host caches the disk."""
    net: Literal["virtio", "e1000"] = "virtio"
    """The network device."""
    cpu_model: str | None = None
    """One that ``qemu-system-x86_64 -cpu help`` lists; by default the host's own."""
    machine: Literal["q35", "pc"] = "q35"
    """The chipset."""
    pin: bool = False
    """Whether each virtual processor keeps to a core of its own."""

    def __str__(self) -> str:
        """``cpus:2,pin:True``, for labels."""
        given = self.model_dump(mode="json", exclude_unset=True)
        return ",".join(f"{name}:{value}" for name, value in given.items()) or "default"


class Guest(Model):
    """A node that is a virtual machine of Loadstone's: what it was made with, and where QEMU answers."""

    monitor: str
    """The socket of its QEMU on this machine (QMP)."""
    group: str = ""
    """The control group of its QEMU on this machine; empty while it is yet to be made."""
    accelerator: Accelerator
    nested: bool = False
    """Whether its host is a virtual machine itself."""
    cpus: int
    memory: int
    pinned: tuple[int, ...] = ()
    """Cores of the host, one by one those of the virtual processors; empty: these run where the scheduler puts them."""
    host_cpus: tuple[int, ...]
    """Those that its QEMU may use."""
