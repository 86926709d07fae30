"""The order in which services in containers are started. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from loadstone.model.deployment import Replica


def start_order(replicas: Iterable[Replica]) -> list[list[str]]:
    """The services in groups, each of which is started once the one before it is ready.

    What passes requests on, and an image of others, may look up the names of what it needs only once, when it starts,
    or end where it does not find them: it starts after those that come before it in ``replicas``, which are in start
    order. What comes behind it is only called later. All else keeps looking, and is in the first group.
    """
    level: dict[str, int] = {}
    for replica in {replica.service: replica for replica in replicas}.values():
        waits_for = replica.needs if replica.in_front or replica.image else ()
        level[replica.service] = max((level[need] + 1 for need in waits_for if need in level), default=0)
    return [[name for name in level if level[name] == number] for number in sorted(set(level.values()))]


def moved_up(groups: list[list[str]], waits_for: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The groups, with all that services of one wait for in it, or in one before it."""
    chosen = {name for group in groups for name in group}
    there: dict[str, None] = {}
    found = []
    for group in groups:
        new = [name for name in group if name not in there]
        for name in new:  # which grows
            new += [need for need in waits_for.get(name, ()) if need in chosen and need not in {*there, *new}]
        there |= dict.fromkeys(new)
        found.append(new)
    return [group for group in found if group]
