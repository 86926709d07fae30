"""Writes out the splits of a study: ``placement: {tiers: all-splits, nodes: 2}`` becomes a list of placements."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from loadstone import plugins
from loadstone.model.application import Application
from loadstone.model.base import Finding, did_you_mean
from loadstone.model.document import Document
from loadstone.model.placement import LETTERS, Splits, service_splits, split_count, tier_splits
from loadstone.model.study import Study

FACTOR = "placement"
MOST = 500
"""Most treatments of a study with splits: their number grows combinatorially."""


def written_out(document: Document, study: Study, application: Application) -> Study:
    """The study with a level for each split; as it is where it has none. Raises InputError for wrong ones."""
    splits = study.factors.get(FACTOR)
    if not isinstance(splits, Splits):
        return study
    document.check(_findings(study, splits, application))
    levels = _levels(study, splits, application)
    document.check(_unknown(study, [level["name"] for level in levels]))
    return study.model_copy(update={"factors": {**study.factors, FACTOR: levels}})


def _findings(study: Study, splits: Splits, application: Application) -> Iterator[Finding]:
    where = ("factors", FACTOR)
    services = list(application.services)
    wrong = [name for name in splits.services or [] if name not in services] if _listed(splits) else []
    for name in wrong:
        index = (splits.services or []).index(name)
        yield (*where, "services", index), f"{application.name} has no service {name!r}" + did_you_mean(name, services)
    name = study.cluster.infrastructure
    known = name in plugins.names("infrastructure")
    if splits.workers is None and known and not plugins.find("infrastructure", name).names_workers:
        yield (
            where,
            "nodes of an existing cluster have names; list the ones to use, for example workers: [node-a, node-b]",
        )
        return
    items = len(_letters(application)) if splits.tiers else len(_services(splits, application))
    there = len(splits.names(study.cluster.workers))
    for index, nodes in enumerate(splits.nodes):
        if nodes > items:
            what = "tiers" if splits.tiers else "services"
            yield (*where, "nodes", index), f"{items} {what} cannot be split over {nodes} nodes"
        elif nodes > there:
            yield _workers(study, splits), _too_few(nodes, there, splits)
    yield from _too_many(study, splits, items)


def _workers(study: Study, splits: Splits) -> tuple[str, ...]:
    """The place of the number of nodes."""
    if splits.workers is not None:
        return ("factors", FACTOR, "workers")
    return ("cluster", "workers") if "workers" in study.cluster.model_fields_set else ("factors", FACTOR, "nodes")


def _too_few(nodes: int, there: int, splits: Splits) -> str:
    remedy = "list more" if splits.workers is not None else f"set cluster: {{workers: {nodes}}}"
    return f"splits over {nodes} nodes need {nodes} workers, not {there}; {remedy}"


def _too_many(study: Study, splits: Splits, items: int) -> Iterator[Finding]:
    others = math.prod(len(study.levels(name)) for name in study.factors if name != FACTOR)
    count = others * sum(split_count(items, nodes) for nodes in splits.nodes)
    if count > MOST:
        fewer = "use fewer nodes or fewer levels of other factors"
        fewer = fewer if splits.tiers else f"split fewer services (services: [a, b, c]) or the tiers, or {fewer}"
        what = f"{items} {'tiers' if splits.tiers else 'services'}"
        yield (
            ("factors", FACTOR),
            f"splitting {what} makes {count:,} treatments, more than the limit of {MOST}; {fewer}",
        )


def _levels(study: Study, splits: Splits, application: Application) -> list[dict[str, Any]]:
    """In the order of the numbers of nodes; as the study file would have them."""
    nodes, found = splits.names(study.cluster.workers), []
    for groups in splits.nodes:
        if splits.tiers:
            tiers = list(dict.fromkeys(service.tier for service in application.services.values()))
            found += tier_splits(tiers, groups, nodes)
        else:
            found += service_splits(_services(splits, application), groups, nodes)
    return [placement.model_dump(mode="json", exclude_defaults=True) for placement in found]


def _unknown(study: Study, names: list[str]) -> Iterator[Finding]:
    for index, dropped in enumerate(study.except_):
        if FACTOR in dropped and dropped[FACTOR] not in names:
            text = f"there is no split {dropped[FACTOR]!r}" + did_you_mean(str(dropped[FACTOR]), names)
            yield ("except", index, FACTOR), text


def _letters(application: Application) -> set[str]:
    return {LETTERS[service.tier] for service in application.services.values()}


def _listed(splits: Splits) -> bool:
    return splits.services is not None and splits.services != ["all-splits"]


def _services(splits: Splits, application: Application) -> list[str]:
    return list(splits.services or []) if _listed(splits) else list(application.services)
