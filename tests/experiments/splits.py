"""Plans of a study that splits an application over nodes."""

from __future__ import annotations

from typing import Any

import yaml

from loadstone.experiments.plan import Plan, make_plan
from loadstone.model.document import Document

STUDY = {
    "version": 1,
    "name": "split",
    "application": "hotel-reservation",
    "orchestrator": "swarm",
    "cluster": {"infrastructure": "namespaces", "workers": 2},
    "factors": {"placement": {"tiers": "all-splits", "nodes": 2}},
    "load": {"rates": [100], "slo": {"p99": "200ms"}},
}


def plan(placement: Any, **changed: Any) -> Plan:
    study = {**STUDY, "factors": {"placement": placement}, **changed}
    return make_plan(Document(yaml.safe_dump(study, sort_keys=False), "study.yaml"))
