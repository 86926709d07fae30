"""What the desk and ``stone node`` send each other: the arguments and the answers of each verb.

Sizes are in bytes, times in seconds where the name has no unit. ``docs/reference/node.md`` is the protocol; Go is
tested against the JSON Schema of these models (``infrastructure/machines/protocol.schema.json``).
"""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from loadstone.model.base import Model
from loadstone.model.records.node.deployments import (
    BeginArgs,
    Begun,
    EndArgs,
    Ended,
    ListArgs,
    Listed,
    LogArgs,
    Logged,
    NodeDeployment,
    NodeLimits,
    NodeProcess,
    SpawnArgs,
    Spawned,
    StopArgs,
    Stopped,
)
from loadstone.model.records.node.frames import (
    MOST_LINE_BYTES,
    MOST_PAYLOAD_BYTES,
    PROTOCOL,
    Fault,
    Hello,
    NodeRequest,
    Nothing,
    Reply,
)
from loadstone.model.records.node.machine import (
    Clock,
    Facts,
    FactsArgs,
    GetArgs,
    Hypervisor,
    Ports,
    PortsArgs,
    PutArgs,
    Ran,
    RunArgs,
    Stored,
)
from loadstone.model.records.node.replicas import (
    InForce,
    Mounted,
    Owner,
    Peaks,
    PeaksArgs,
    ReadArgs,
    ReplicaEnvironment,
    ReplicaEvents,
    ReplicaIO,
    Standing,
    Standings,
    Subject,
    UnwatchArgs,
    Used,
    WatchArgs,
    Watched,
    WatchedPart,
    Watching,
)
from loadstone.model.records.node.tuning import (
    Change,
    Conditions,
    Difference,
    Knob,
    KnobBounds,
    KnobProblem,
    KnobsAnswer,
    KnobsArgs,
    KnobStates,
    KnobValues,
    RestoreAnswer,
    Restored,
    SetBack,
    TuneAnswer,
    TuneArgs,
    TunedAnswer,
    TunedHost,
    TuningOwner,
    VerifyAnswer,
)

__all__ = [
    "MOST_LINE_BYTES",
    "MOST_PAYLOAD_BYTES",
    "PROTOCOL",
    "VERBS",
    "BeginArgs",
    "Begun",
    "Change",
    "Clock",
    "Conditions",
    "Difference",
    "EndArgs",
    "Ended",
    "Facts",
    "FactsArgs",
    "Fault",
    "GetArgs",
    "Hello",
    "Hypervisor",
    "InForce",
    "Knob",
    "KnobBounds",
    "KnobProblem",
    "KnobStates",
    "KnobValues",
    "KnobsAnswer",
    "KnobsArgs",
    "ListArgs",
    "Listed",
    "LogArgs",
    "Logged",
    "Mounted",
    "NodeDeployment",
    "NodeLimits",
    "NodeProcess",
    "Nothing",
    "Owner",
    "Peaks",
    "PeaksArgs",
    "Ports",
    "PortsArgs",
    "PutArgs",
    "Ran",
    "ReadArgs",
    "ReplicaEnvironment",
    "ReplicaEvents",
    "ReplicaIO",
    "Reply",
    "Request",
    "RestoreAnswer",
    "Restored",
    "RunArgs",
    "SetBack",
    "SpawnArgs",
    "Spawned",
    "Standing",
    "Standings",
    "StopArgs",
    "Stopped",
    "Stored",
    "Subject",
    "TuneAnswer",
    "TuneArgs",
    "TunedAnswer",
    "TunedHost",
    "TuningOwner",
    "UnwatchArgs",
    "Used",
    "VerifyAnswer",
    "WatchArgs",
    "Watched",
    "WatchedPart",
    "Watching",
    "schema",
]

VERBS: dict[str, tuple[type[Model], type[Model]]] = {
    "facts": (FactsArgs, Facts),
    "clock": (Nothing, Clock),
    "run": (RunArgs, Ran),
    "begin": (BeginArgs, Begun),
    "spawn": (SpawnArgs, Spawned),
    "list": (ListArgs, Listed),
    "stop": (StopArgs, Stopped),
    "end": (EndArgs, Ended),
    "log": (LogArgs, Logged),
    "put": (PutArgs, Stored),
    "get": (GetArgs, Stored),
    "ports": (PortsArgs, Ports),
    "read": (ReadArgs, Standings),
    "peaks": (PeaksArgs, Peaks),
    "watch": (WatchArgs, Watched),
    "unwatch": (UnwatchArgs, Nothing),
    "knobs": (KnobsArgs, KnobsAnswer),
    "tune": (TuneArgs, TuneAnswer),
    "verify": (Nothing, VerifyAnswer),
    "restore": (Nothing, RestoreAnswer),
    "tuned": (Nothing, TunedAnswer),
}
"""Arguments and answer by verb."""


def schema() -> dict[str, Any]:
    """The JSON Schema of all messages: ``$defs`` by name; ``verbs`` names arguments and answer of each."""
    models: set[type[Model]] = {Hello, Fault, NodeRequest, Reply, Watching, WatchedPart}
    models.update(model for both in VERBS.values() for model in both)
    ordered = sorted(models, key=lambda model: model.__name__)
    _, definitions = models_json_schema([(model, "validation") for model in ordered], ref_template="#/$defs/{model}")
    verbs = {name: {"args": _reference(args), "ok": _reference(ok)} for name, (args, ok) in VERBS.items()}
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, "title": "stone node", "protocol": PROTOCOL, "verbs": verbs, **definitions}


def _reference(model: type[Model]) -> dict[str, str]:
    return {"$ref": f"#/$defs/{model.__name__}"}
