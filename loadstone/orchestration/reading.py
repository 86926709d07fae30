"""Reads limits and usage of each replica's container from the kernel of its node."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import requests
from pydantic import ValidationError

from loadstone.infrastructure.machines import Machine, connect, in_parallel
from loadstone.model.cluster import Node, Reach
from loadstone.model.deployment import Found
from loadstone.model.errors import LoadstoneError
from loadstone.model.records.node import InForce, Standing, Subject, Used

_MOST_AT_ONCE = 100
"""Containers in one question; what `stone agent` takes."""
_MOST_NODES = 16
_WITHIN_S = (3.05, 15.0)
"""To connect, and between two bytes of an answer: the agent gives up after 10 s."""


class Reader(ABC):
    """Reads what is in force for replicas, and what they used."""

    @abstractmethod
    def read(self, found: Sequence[Found]) -> dict[str, Standing]:
        """Limits and usage of each, by the replica's name; raises nothing."""

    @abstractmethod
    def new_peaks(self, found: Sequence[Found]) -> bool:
        """Begin a new memory peak of each; whether all could."""


class MachineReader(Reader):
    """Through ``stone node``: one request to each machine, on which several nodes may be."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes = {node.name: node for node in nodes}

    def read(self, found: Sequence[Found]) -> dict[str, Standing]:
        standings = {one.name: Standing.nothing("it has no container") for one in found if not one.container}
        for answer in in_parallel(_read, self._by_machine(found)):
            standings |= answer
        return standings

    def new_peaks(self, found: Sequence[Found]) -> bool:
        return all(in_parallel(_new_peaks, self._by_machine(found)))

    def _by_machine(self, found: Sequence[Found]) -> list[tuple[Machine, dict[str, Subject]]]:
        subjects: dict[Machine, dict[str, Subject]] = defaultdict(dict)
        for one in found:
            if one.container:
                node = self._nodes[one.node]
                subjects[connect(node.name, node.reach)][one.name] = Subject(container=one.container)
        return list(subjects.items())


def _read(wanted: tuple[Machine, dict[str, Subject]]) -> dict[str, Standing]:
    machine, subjects = wanted
    try:
        return machine.read(["limits", "usage"], subjects)
    except LoadstoneError as error:
        return dict.fromkeys(subjects, Standing.nothing(str(error).partition("\n")[0]))


def _new_peaks(wanted: tuple[Machine, dict[str, Subject]]) -> bool:
    machine, subjects = wanted
    try:
        return machine.new_peaks(subjects)
    except LoadstoneError:
        return False


class Agents(Reader):
    """The agents (`stone agent`) of the nodes; ``addresses``: host:port by node, as they are at that moment."""

    def __init__(self, addresses: Callable[[], Mapping[str, str]]) -> None:
        self._addresses = addresses

    def read(self, found: Sequence[Found]) -> dict[str, Standing]:
        standings = {one.name: Standing.nothing("it has no container") for one in found if not one.container}
        for some, said in self._ask("GET", "containers", found):
            for one in some:
                standings[one.name] = (
                    Standing.nothing(said) if isinstance(said, str) else _standing(said.get(one.container), one)
                )
        return standings

    def new_peaks(self, found: Sequence[Found]) -> bool:
        answers = self._ask("POST", "peaks", found)
        return all(
            not isinstance(said, str) and all(said.get(one.container) is True for one in some) for some, said in answers
        )

    def silent(self, nodes: Iterable[str]) -> dict[str, str]:
        """Those of the nodes whose agents do not answer, with the reason."""
        addresses, names = self._addresses(), list(nodes)
        with ThreadPoolExecutor(_MOST_NODES) as pool:
            answers = list(pool.map(lambda name: _asked("GET", addresses, name, "healthz"), names))
        return {name: why for name, why in zip(names, answers, strict=True) if isinstance(why, str)}

    def _ask(self, method: str, what: str, found: Sequence[Found]) -> list[tuple[list[Found], dict[str, Any] | str]]:
        """What each node's agent answers about those of its containers, or why there is no answer."""
        addresses = self._addresses()
        there = defaultdict(list)
        for one in found:
            if one.container:
                there[one.node].append(one)
        questions = [
            (node, some[first : first + _MOST_AT_ONCE])
            for node, some in there.items()
            for first in range(0, len(some), _MOST_AT_ONCE)
        ]

        def ask(question: tuple[str, list[Found]]) -> tuple[list[Found], dict[str, Any] | str]:
            node, some = question
            return some, _asked(method, addresses, node, f"{what}/{','.join(one.container for one in some)}")

        with ThreadPoolExecutor(_MOST_NODES) as pool:
            return list(pool.map(ask, questions))


class Everywhere(Reader):
    """Each replica through the machine of its node, or through the node's agent where no way leads to the machine."""

    def __init__(self, nodes: Iterable[Node], agents: Agents) -> None:
        chosen = list(nodes)
        machines = MachineReader(chosen)
        self._readers: dict[str, Reader] = {
            node.name: machines if node.here or node.reach != Reach() else agents for node in chosen
        }

    def read(self, found: Sequence[Found]) -> dict[str, Standing]:
        standings = {
            one.name: Standing.nothing(
                f"it is on {one.node!r}, no node of this cluster" if one.node else "it has no node"
            )
            for one in found
        }
        for reader, some in self._by_reader(found):
            standings |= reader.read(some)
        return standings

    def new_peaks(self, found: Sequence[Found]) -> bool:
        known = all(one.node in self._readers for one in found)
        return bool(found) and known and all(reader.new_peaks(some) for reader, some in self._by_reader(found))

    def _by_reader(self, found: Sequence[Found]) -> list[tuple[Reader, list[Found]]]:
        readers = dict.fromkeys(self._readers.values())
        split = [(reader, [one for one in found if self._readers.get(one.node) is reader]) for reader in readers]
        return [(reader, some) for reader, some in split if some]


def _asked(method: str, addresses: Mapping[str, str], node: str, path: str) -> dict[str, Any] | str:
    """What a node's agent answers; a sentence if it does not."""
    address = addresses.get(node)
    if address is None:
        return f"{node} has no agent"
    try:
        with requests.Session() as session:
            session.trust_env = False  # a proxy for the web does not lead to a node
            response = session.request(method, f"http://{address}/{path}", timeout=_WITHIN_S)
        if response.status_code != requests.codes.ok:
            return f"the agent of {node} at {address} answers {response.status_code}: {response.text.strip()[:200]}"
        said = response.json()
    except requests.JSONDecodeError:
        return f"what answers at {address} is no agent of {node}"
    except requests.RequestException as error:
        return f"the agent of {node} at {address} does not answer: {_reason(error)}"
    return said if isinstance(said, dict) else f"what answers at {address} is no agent of {node}"


def _reason(error: requests.RequestException) -> str:
    """The operating system's own word, which lies below several layers of exceptions."""
    if isinstance(error, requests.Timeout):
        return "timed out"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__


def _standing(said: Any, one: Found) -> Standing:
    """What an agent answers about a container."""
    try:
        if not said["found"]:
            return Standing.nothing(f"no control group of its container is on {one.node}")
        if problem := said.get("problem"):
            return Standing.nothing(f"its control group cannot be read: {problem}")
        limits, usage = InForce.model_validate(said["limits"]), Used.model_validate(said["usage"])
        return Standing(absent="", limits=limits, usage=usage, namespaces=None, events=None)
    except (AttributeError, KeyError, TypeError, ValidationError) as error:
        return Standing.nothing(f"the agent of {one.node} is of another version: {type(error).__name__}")
