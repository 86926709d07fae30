"""The verbs of ``stone node``, each with its arguments and its answer.

``docs/reference/node.md`` is the protocol; Go is tested against the JSON Schema of these models
(``infrastructure/machines/protocol.schema.json``).
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
    SpawnArgs,
    Spawned,
    StopArgs,
    Stopped,
)
from loadstone.model.records.node.frames import PROTOCOL, Fault, Hello, NodeRequest, Nothing, Reply
from loadstone.model.records.node.machine import (
    Clock,
    Facts,
    FactsArgs,
    GetArgs,
    Ports,
    PortsArgs,
    PutArgs,
    Ran,
    RunArgs,
    Stored,
)
from loadstone.model.records.node.replicas import (
    Peaks,
    PeaksArgs,
    ReadArgs,
    Standings,
    UnwatchArgs,
    WatchArgs,
    Watched,
    WatchedPart,
    Watching,
)
from loadstone.model.records.node.tuning import (
    KnobsAnswer,
    KnobsArgs,
    RestoreAnswer,
    TuneAnswer,
    TuneArgs,
    TunedAnswer,
    VerifyAnswer,
)

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
