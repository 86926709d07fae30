"""The verbs of ``stone node``, each with its arguments and its answer.

``docs/reference/node.md`` is the protocol; Go is tested against the JSON Schema of these models
(``infrastructure/machines/protocol.schema.json``).
"""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from loadstone.model.base import Model
from loadstone.model.records.node import deployments, machine, replicas, tuning
from loadstone.model.records.node.frames import PROTOCOL, Fault, Hello, NodeRequest, Nothing, Reply

VERBS: dict[str, tuple[type[Model], type[Model]]] = {
    "facts": (machine.FactsArgs, machine.Facts),
    "clock": (Nothing, machine.Clock),
    "run": (machine.RunArgs, machine.Ran),
    "begin": (deployments.BeginArgs, deployments.Begun),
    "spawn": (deployments.SpawnArgs, deployments.Spawned),
    "list": (deployments.ListArgs, deployments.Listed),
    "stop": (deployments.StopArgs, deployments.Stopped),
    "end": (deployments.EndArgs, deployments.Ended),
    "log": (deployments.LogArgs, deployments.Logged),
    "put": (machine.PutArgs, machine.Stored),
    "get": (machine.GetArgs, machine.Stored),
    "ports": (machine.PortsArgs, machine.Ports),
    "read": (replicas.ReadArgs, replicas.Standings),
    "peaks": (replicas.PeaksArgs, replicas.Peaks),
    "watch": (replicas.WatchArgs, replicas.Watched),
    "unwatch": (replicas.UnwatchArgs, Nothing),
    "knobs": (tuning.KnobsArgs, tuning.KnobsAnswer),
    "tune": (tuning.TuneArgs, tuning.TuneAnswer),
    "verify": (Nothing, tuning.VerifyAnswer),
    "restore": (Nothing, tuning.RestoreAnswer),
    "tuned": (Nothing, tuning.TunedAnswer),
}
"""Arguments and answer by verb."""


def schema() -> dict[str, Any]:
    """The JSON Schema of all messages: ``$defs`` by name; ``verbs`` names arguments and answer of each."""
    models: set[type[Model]] = {Hello, Fault, NodeRequest, Reply, replicas.Watching, replicas.WatchedPart}
    models.update(model for both in VERBS.values() for model in both)
    ordered = sorted(models, key=lambda model: model.__name__)
    _, definitions = models_json_schema([(model, "validation") for model in ordered], ref_template="#/$defs/{model}")
    verbs = {name: {"args": _reference(args), "ok": _reference(ok)} for name, (args, ok) in VERBS.items()}
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, "title": "stone node", "protocol": PROTOCOL, "verbs": verbs, **definitions}


def _reference(model: type[Model]) -> dict[str, str]:
    return {"$ref": f"#/$defs/{model.__name__}"}
