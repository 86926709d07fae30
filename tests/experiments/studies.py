"""Studies of Hotel Reservation that vary what a test wants, and their plans."""

from __future__ import annotations

from typing import Any

import yaml

from loadstone.experiments.plan import Plan, make_plan
from loadstone.model.document import Document

BASE: dict[str, Any] = {
    "version": 1,
    "name": "a",
    "application": "hotel-reservation",
    "load": {"rates": [100], "slo": {"p99": "200ms"}},
    "trial": {"warmup": "0s", "duration": "5s"},
}


def document(factors: dict[str, Any], **keys: Any) -> Document:
    study = {key: value for key, value in {**BASE, **keys, "factors": factors}.items() if value is not None}
    return Document(yaml.safe_dump(study, sort_keys=False), "study.yaml")


def plan(factors: dict[str, Any], **keys: Any) -> Plan:
    return make_plan(document(factors, **keys))
