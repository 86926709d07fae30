"""A plan without a study file: for verbs that deploy an application and load nothing."""

from __future__ import annotations

from pathlib import Path

import yaml

from loadstone.experiments.plan import Plan, make_plan
from loadstone.model.document import Document
from loadstone.model.study import Settings


def plan_for(what: Path, **settings: str) -> Plan:
    """The plan of a study file, or of an application (built-in name or file) with the given settings."""
    if what.suffix in (".yaml", ".yml"):
        document = Document.read(what)
        if "services" not in document.data:
            for key, value in settings.items():
                document.override(f"{key}={value}")
            return make_plan(document)
    given = {key: value for key, value in settings.items() if key in Settings.model_fields}
    study = {
        "version": 1,
        "name": what.stem,
        "application": str(what.resolve()) if what.suffix else str(what),
        "load": {"rates": [1], "slo": {"p99": "1s"}},
        **given,
    }
    return make_plan(Document(yaml.safe_dump(study), "the command line"))
