"""Deployments of processes: started, and the processes of their replicas."""

from __future__ import annotations

from loadstone.model.records.node.deployments import NodeProcess
from loadstone.orchestration.process import Process


def spawned(process: Process, replica: str) -> NodeProcess:
    return process._shares[process.deployment.replicas[0].node].processes()[replica]


def pid_of(process: Process, replica: str) -> int:
    return spawned(process, replica).pid


def start(process: Process) -> None:
    process.apply()
    process.ready()
