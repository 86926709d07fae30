"""How services are told to be slower: their environment. Pure."""

from __future__ import annotations

from loadstone.model.delays import Delays
from loadstone.model.deployment import Deployment, Replica


def delayed(deployment: Deployment, delays: Delays | None) -> Deployment:
    """The deployment with services of ``stone`` that add these delays to each of their requests."""
    if delays is None:
        return deployment

    def told(replica: Replica) -> Replica:
        if (delay := delays.get(replica.service)) is None:
            return replica
        slower = {"STONE_DELAY": f"{round(1e9 * delay)}ns"}
        return replica.model_copy(update={"environment": {**replica.environment, **slower}})

    return deployment.model_copy(update={"replicas": tuple(told(replica) for replica in deployment.replicas)})
