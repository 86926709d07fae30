"""Fills, empties, counts and checks an application's stores through ``stone seed``."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from loadstone.applications.stone_seed import SeedingFailed, stone_seed
from loadstone.model.application import Application
from loadstone.model.dataset import Keys
from loadstone.model.deployment import Deployment, Replica
from loadstone.model.errors import DeploymentError, InputError
from loadstone.orchestration.base import Orchestrator, Place

Counts = dict[tuple[str, str], int]
"""Documents by store (the service's name) and collection; of a Redis, what its seeding counts."""
Say = Callable[[str], None]

_PREFIX = "documents-"
_ATTEMPTS = 3


def _silent(_sentence: str) -> None:
    pass


def numbers(stone: Path, application: Application, dataset: Keys) -> Keys:
    """The keys of a dataset. What a file holds, ``stone seed`` reads from it; raises InputError where it cannot."""
    if "file" not in dataset or application.seeding is None:
        return dataset
    plan = {"stores": {}, "caches": {}, "profile": "", "dataset": dataset}
    try:
        defaults = stone_seed(stone, application.seeding, plan, ("--describe",), _silent)
    except SeedingFailed as error:
        raise InputError(f"dataset {dataset['file']}: {error}") from None
    return {**defaults, **dataset}


class Seeder:
    """Seeds one deployment from inside of it. An application without a seed has nothing to do."""

    def __init__(
        self,
        stone: Path,
        application: Application,
        orchestrator: Orchestrator,
        deployment: Deployment,
        dataset: Keys | None = None,
    ) -> None:
        self._stone = stone
        self._application = application
        self._orchestrator = orchestrator
        self._deployment = deployment
        self._dataset = dataset or {}
        self._unfinished: int | None = 0

    def seed(self, say: Say = _silent) -> None:
        """Fill the stores and verify them; existing content stays. ``say`` receives the progress."""
        self._run(say=say, running=False)

    def reset(self, say: Say = _silent) -> None:
        """Empty stores and caches, then fill them as if nothing had ever been written."""
        self._run("--reset", say=say)
        self._unfinished = 0

    def loaded(self, unfinished: int | None) -> None:
        """Account for a load that left ``unfinished`` writes sent and not completed; None where the number is
        unknown."""
        known = self._unfinished is not None and unfinished is not None
        self._unfinished = (self._unfinished or 0) + (unfinished or 0) if known else None

    def counts(self, wait_s: float | None = None) -> Counts:
        """Documents in every collection now, summed over the replicas of a store.

        A store that does not answer is waited for, by default for half a minute.
        """
        counts: Counts = {}
        for result in self._run("--count", more={} if wait_s is None else {"wait_s": wait_s}):
            for row in result["stores"]:
                key = (self._service(row["store"]), row["collection"])
                counts[key] = counts.get(key, 0) + row["have"]
        return counts

    def check(self) -> list[dict[str, Any]]:
        """What the stores hold compared with each other: rows of ``what``, ``want``, ``have``, ``ok``, ``examples``.

        Nothing is compared where the number of unfinished writes is unknown, as the stores may hold some of them, or
        where replicas of a store are independent, as each then holds a part of the documents.
        """
        split = any(store.index > 1 and store.software != "memcached" for store in self._stores())
        if split or self._unfinished is None:
            return []
        unfinished = {"unfinished": self._unfinished} if self._unfinished else {}
        return [row for result in self._run("--check", more=unfinished) for row in result["rows"] or ()]

    @functools.cached_property
    def keys(self) -> Keys:
        """The numbers of the dataset that the stores are filled with."""
        return numbers(self._stone, self._application, self._dataset)

    def _service(self, store: str) -> str:
        """The store's service; ``stone seed`` names a document store after the service that owns it."""
        return store if store in {replica.service for replica in self._stores()} else _PREFIX + store

    def _stores(self) -> Iterator[Replica]:
        return (replica for replica in self._deployment.replicas if replica.store)

    def _run(
        self, *flags: str, say: Say = _silent, running: bool = True, more: Mapping[str, Any] | None = None
    ) -> list[Mapping[str, Any]]:
        """Run ``stone seed`` once for each set of stores, its plan with ``more`` keys; raises DeploymentError with its
        message."""
        if self._application.seeding is None:
            return []
        sets = max((replica.index for replica in self._stores()), default=1)
        return [self._run_set(index, running, flags, say, dict(more or {})) for index in range(sets)]

    def _run_set(
        self, index: int, running: bool, flags: tuple[str, ...], say: Say, more: dict[str, Any]
    ) -> Mapping[str, Any]:
        """Seed one replica of each store: replicas are independent, so each holds the whole seed.

        An orchestrator may have moved a store since its addresses were read; a failed attempt reads them again.
        """
        place = self._orchestrator.inside()
        plan = self._plan(index, running, place)
        for attempt in range(1, _ATTEMPTS + 1):
            file = self._orchestrator.folder / f"seed-{index + 1}.json"
            file.write_text(json.dumps(plan | more, indent=1), encoding="utf-8")
            secret = {"password": self._orchestrator.password} if self._orchestrator.password else {}
            try:
                done: Mapping[str, Any] = stone_seed(
                    self._stone, str(self._application.seeding), plan | more | secret, flags, say, place
                )
                return done
            except SeedingFailed as error:
                place = self._orchestrator.inside()
                before, plan = plan, self._plan(index, running, place)
                if plan == before or attempt == _ATTEMPTS:
                    raise DeploymentError(f"seeding {self._deployment.name} failed: {error}") from None
        raise AssertionError("the last attempt returns or raises")

    def _plan(self, index: int, running: bool, place: Place | None) -> dict[str, Any]:
        """The plan for one set of stores; ``running``: whether the services run, so that they can be queried."""
        plan: dict[str, Any] = {"stores": {}, "caches": {}, "profile": self._profile()}
        for replica in self._stores():
            addresses = self._orchestrator.inner(replica.service, replica.main_port)
            if not addresses:
                raise DeploymentError(f"{replica.service} cannot be reached: no replica of it has an address")
            software = self._deployment.software[replica.software or ""]
            own = addresses[index % len(addresses)]
            if software.documents:
                host, _, port = own.rpartition(":")
                address = software.address(host, port, self._orchestrator.runs_containers())
                plan["stores"][replica.service] = address
            elif replica.software == "redis":
                plan.setdefault("redis", {})[replica.service] = own
            elif "couchdb" in (replica.software, software.stands_for):
                plan.setdefault("couchdb", {})[replica.service] = own
            elif replica.software == "memcached":
                plan["caches"][replica.service] = ",".join(addresses)
        if self._dataset:
            plan["dataset"] = dict(self._dataset)
            if place is not None and "file" in self._dataset:
                plan["dataset"]["file"] = place.deliver(Path(str(self._dataset["file"])))
        if running:
            entry = self._deployment.entries[0]
            plan["entry"] = self._orchestrator.inner(entry.service, entry.port)
        return plan

    def _profile(self) -> str:
        return self._deployment.profile if self._deployment.profile == "dsb-quirks" else ""
