"""The files that a study's clusters name: an inventory, a manifest."""

from __future__ import annotations

from collections.abc import Iterable

from loadstone import plugins
from loadstone.experiments.plan import Plan
from loadstone.model.document import Document
from loadstone.model.factors import refuse


def check(document: Document, plans: Iterable[Plan]) -> None:
    """Raise InputError where one is missing or wrong."""
    clusters = {own.study.cluster.model_dump_json(): own.study.cluster for plan in plans for own in plan.own}
    refuse(
        document.problem(("cluster", *path), text)
        for cluster in clusters.values()
        for path, text in plugins.find("infrastructure", cluster.infrastructure).wrong_files(cluster)
    )
