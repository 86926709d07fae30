"""Replicas shown to Prometheus outside of trials: agents tell apart only those that they record."""

from __future__ import annotations

import requests

from loadstone.monitoring.instrument import InstrumentError, ask
from loadstone.orchestration import stacks
from loadstone.orchestration.base import Orchestrator

_PERIOD_MS = 2000
_WITHIN_S = 30.0


def show(orchestrator: Orchestrator) -> list[str]:
    """Have the agents of a deployment record its replicas until they give up by themselves, an hour later.

    Sentences about those that cannot.
    """
    deployment = orchestrator.deployment
    if stacks.address(deployment, "prometheus") is None:
        return []
    where = {node.name: node.name for node in deployment.nodes}
    agents = dict(orchestrator.agents())
    for one in deployment.of(stacks.AGENT):  # of this machine, and so of all nodes on it
        agents[one.node] = str(stacks.address(deployment, stacks.AGENT))
        where |= {node.name: one.node for node in deployment.nodes if node.here}
    problems = []
    with requests.Session() as session:
        session.trust_env = False  # a proxy for the web does not lead to a node
        for node, agent in agents.items():
            found = {name: how for name, (at, how) in orchestrator.recordable().items() if where.get(at) == node}
            body = {"period_ms": _PERIOD_MS, "replicas": found}
            try:
                ask(session, "POST", f"http://{agent}/recordings", body, _WITHIN_S)
            except InstrumentError as error:
                problems.append(f"replicas of {node} are not shown: {error}")
    return problems
