"""What every orchestrator of containers renders for the applications besides Hotel Reservation, under every scaling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from loadstone import plugins
from loadstone.applications import catalogue
from loadstone.model.deployment import Deployment
from loadstone.model.study import Settings
from loadstone.orchestration.resolve import resolve
from tests.orchestration.docker_deployments import SCALINGS, nodes
from tests.support import applications

PINNED = "hotel-reservation"
"""Its files are kept for every scaling, so that changes are seen; of others the baseline's or none, and acceptance is
tested."""

APPLICATIONS = tuple(name for name in catalogue.names() if name != PINNED)
ORCHESTRATORS = ("compose", "swarm", "nomad", "kubernetes")
SETS = tuple((application, scaling) for application in APPLICATIONS for scaling in SCALINGS)
"""One set of files each, by application and scaling."""
PINNED_SETS = tuple((PINNED, scaling) for scaling in SCALINGS)


def deployment(application: str, orchestrator: str, **settings: Any) -> Deployment:
    """An application on three workers, or on the only one of Compose."""
    chosen = Settings.model_validate({"orchestrator": orchestrator, **settings})
    there = nodes(1 if orchestrator == "compose" else 3)
    return resolve(applications.load(application).application, chosen, there, {}, catalogue.software(), application)


def files(wanted: Deployment, orchestrator: str) -> dict[str, str]:
    """The files of a deployment, by name."""
    rendered: dict[str, str] = plugins.find("orchestrators", orchestrator)(wanted, Path("/nowhere")).render()
    return rendered


def by_service(wanted: Deployment, orchestrator: str) -> dict[str, str]:
    """What is rendered for each service, as text."""
    rendered = files(wanted, orchestrator)
    if orchestrator in ("compose", "swarm"):
        (text,) = rendered.values()
        return {
            name: yaml.dump(service, Dumper=yaml.CSafeDumper)
            for name, service in yaml.load(text, yaml.CSafeLoader)["services"].items()
        }
    return {Path(name).name.split(".")[0]: text for name, text in rendered.items() if name != "namespace.yaml"}
