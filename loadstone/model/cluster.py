"""Clusters and their nodes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from loadstone.model.base import Model

Role = Literal["manager", "worker", "client"]


class Cluster(Model):
    """The cluster that a study asks for."""

    infrastructure: str = "local"
    """Where nodes come from: ``local`` is this machine."""
    managers: Annotated[int, Field(ge=0, le=9)] = 0
    """Nodes that run the orchestrator's own services."""
    workers: Annotated[int, Field(ge=1, le=1000)] = 1
    """Nodes that run replicas."""


class Node(Model):
    """A node that the infrastructure hands out. ``cpus`` are the cores that it may use."""

    name: str
    role: Role
    address: str
    cpus: tuple[int, ...]
    memory: int
    emulated: bool = False
    shared: bool = False
    """Its cores are also used by the client, so the generator may disturb the system under test."""
