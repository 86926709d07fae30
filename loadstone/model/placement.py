"""Which tiers and services run on which nodes; and every way to split them over nodes, as levels of a factor.

Nodes are interchangeable: a split is a partition of the tiers (or services) into groups, each with a node of its own.
``n`` of them on exactly ``k`` nodes have S(n, k) splits, the Stirling number of the second kind: 7 for 4 on 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field

from loadstone.model.application import Tier
from loadstone.model.base import Finding, Matches, Model

ALL_SPLITS = "all-splits"
LETTERS: dict[Tier, str] = {"frontend": "F", "logic": "L", "tracing": "L", "caching": "C", "storage": "D"}
"""What tiers are called in names of splits, in their order there; tracing goes with the logic that it follows."""

Item = TypeVar("Item")


def _not_splits(value: Any) -> Any:
    if value == ALL_SPLITS:
        example = "factors: {placement: {tiers: all-splits, nodes: 2}}"
        raise ValueError(f"'{ALL_SPLITS}' is many placements, and one is expected here; write {example}")
    return value


def _list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) or value is None else [value]


def _services(value: Any) -> Any:
    if isinstance(value, str) and value != ALL_SPLITS:
        raise ValueError(f"{value!r} is not known here; use '{ALL_SPLITS}', or a list of services")
    return _list(value)


class Placement(Model):
    """Nodes by tier or service; a service's own nodes come before those of its tier."""

    name: Annotated[
        str | None,
        Matches(r"[A-Za-z0-9][A-Za-z0-9+/._-]{0,399}", "letters, digits and '+/._-', no spaces"),
        Field(examples=["FLC-D"]),
    ] = None
    """Its name in results; by default its nodes by tier and service."""
    tiers: Annotated[dict[Tier, Annotated[list[str], Field(min_length=1)]], BeforeValidator(_not_splits)] = {}
    """Nodes by tier: ``frontend``, ``logic``, ``caching``, ``storage``, ``tracing``."""
    services: Annotated[dict[str, Annotated[list[str], Field(min_length=1)]], BeforeValidator(_not_splits)] = {}
    """Nodes by service."""

    def __str__(self) -> str:
        """``FLC-D``; without a name ``frontend:worker-1,storage:worker-2+worker-3``."""
        named = [*self.tiers.items(), *self.services.items()]
        return self.name or ",".join(f"{name}:{'+'.join(nodes)}" for name, nodes in named)


class Splits(Model):
    """Every way to split an application over nodes that are alike: a level of the factor ``placement`` for each."""

    tiers: Literal["all-splits"] | None = None
    """Split the tiers that the application has. In names: F front end, L logic and tracing, C caching, D databases, so
    ``FLC-D`` has the databases alone on the second node."""
    services: Annotated[
        list[str] | None,
        BeforeValidator(_services, json_schema_input_type=Literal["all-splits"] | list[str] | None),
    ] = None
    """Split services instead: all, or those of this list (the others then run on any worker)."""
    nodes: Annotated[
        list[Annotated[int, Field(ge=1, le=1000)]],
        BeforeValidator(_list, json_schema_input_type=int | list[int]),
        Field(min_length=1, examples=[2]),
    ]
    """The exact number of nodes; ``[1, 2]`` adds everything on one node."""
    workers: list[str] | None = None
    """The nodes to use, in this order; by default ``worker-1``, ``worker-2`` ..., the names on all infrastructures
    but ``existing``."""

    def findings(self) -> Iterator[Finding]:
        """What cannot be both, or neither."""
        if (self.tiers is None) == (self.services is None):
            yield (), f"give either tiers: {ALL_SPLITS} or services: {ALL_SPLITS}"
        for key in ("services", "nodes", "workers"):
            listed = getattr(self, key) or []
            for index, item in enumerate(listed):
                if item in listed[:index]:
                    yield (key, index), f"{item!r} is given twice"

    def names(self, count: int) -> list[str]:
        """The names of the nodes to use in a cluster of ``count`` workers."""
        return self.workers or [f"worker-{number + 1}" for number in range(count)]


def split_count(items: int, groups: int) -> int:
    """S(items, groups): the partitions of so many items into exactly so many groups."""
    counts = [1] + [0] * groups
    for _ in range(items):
        counts = [0] + [k * counts[k] + counts[k - 1] for k in range(1, groups + 1)]
    return counts[groups]


def partitions(items: Sequence[Item], groups: int) -> Iterator[list[list[Item]]]:
    """Every partition into exactly so many groups, none twice: each item joins a group, or begins the next one."""
    if not items:
        if groups == 0:
            yield []
        return
    *before, last = items
    for found in partitions(before, groups):
        for index in range(groups):
            yield [[*group, last] if index == at else group for at, group in enumerate(found)]
    if groups > 0:
        yield from ([*found, [last]] for found in partitions(before, groups - 1))


def tier_splits(tiers: Sequence[Tier], groups: int, nodes: Sequence[str]) -> list[Placement]:
    """A placement for each split of the tiers: ``FLC-D`` has F, L and C on the first node and D on the second."""
    letters = list(dict.fromkeys(letter for tier, letter in LETTERS.items() if tier in tiers))
    found = []
    for split in _arranged(letters, groups):
        node_of = {letter: node for group, node in zip(split, nodes, strict=False) for letter in group}
        placed = {tier: [node_of[LETTERS[tier]]] for tier in LETTERS if tier in tiers}
        found.append(Placement(name="-".join("".join(group) for group in split), tiers=placed))
    return found


def service_splits(services: Sequence[str], groups: int, nodes: Sequence[str]) -> list[Placement]:
    """A placement for each split of the services: ``geo+rate/search`` has the first two together."""
    found = []
    for split in _arranged(services, groups):
        placed = {service: [node] for group, node in zip(split, nodes, strict=False) for service in group}
        found.append(Placement(name="/".join("+".join(group) for group in split), services=placed))
    return found


def _arranged(items: Sequence[Item], groups: int) -> list[list[list[Item]]]:
    """Every partition, its largest group first (of equal ones that of the first item); the most uneven ones first."""
    found = [sorted(split, key=lambda group: -len(group)) for split in partitions(range(len(items)), groups)]
    found.sort(key=lambda split: ([-len(group) for group in split], split))
    return [[[items[index] for index in group] for group in split] for split in found]
