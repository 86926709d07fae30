"""Variables that services get for a treatment, beside their own: delays, and where spans go. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.model.delays import Delays
from loadstone.model.deployment import Deployment, Replica


def delayed(deployment: Deployment, delays: Delays | None) -> Deployment:
    """The deployment with services of ``stone`` that add these delays to each of their requests."""
    if delays is None:
        return deployment

    def with_ours(replica: Replica) -> Replica:
        if (delay := delays.get(replica.service)) is None:
            return replica
        slower = {"STONE_DELAY": f"{round(1e9 * delay)}ns"}
        return replica.model_copy(update={"environment": {**replica.environment, **slower}})

    return deployment.model_copy(update={"replicas": tuple(with_ours(replica) for replica in deployment.replicas)})


def traced(deployment: Deployment, endpoints: Sequence[str], sample: float) -> Deployment:
    """The deployment with services that send spans of a ``sample`` of requests to ``endpoints`` (OTLP over gRPC).

    Services of ``stone`` choose one by the trace's id. Images take the variables of the OpenTelemetry specification,
    which has no such choice: each service of theirs has one endpoint. What an application sets itself stays.
    """
    ours = {"STONE_TRACES": ",".join(endpoints), "STONE_TRACES_SAMPLE": f"{sample:g}"}
    others = {
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
        "OTEL_TRACES_SAMPLER_ARG": f"{sample:g}",
    }

    services = sorted(deployment.services())

    def with_ours(replica: Replica) -> Replica:
        if replica.stack:
            return replica
        if replica.stone is not None:
            return replica.model_copy(update={"environment": ours | replica.environment})
        if replica.image is not None:
            own = {
                "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{endpoints[services.index(replica.service) % len(endpoints)]}",
                "OTEL_SERVICE_NAME": replica.service,
            }
            return replica.model_copy(update={"environment": others | own | replica.environment})
        return replica

    return deployment.model_copy(update={"replicas": tuple(with_ours(replica) for replica in deployment.replicas)})
