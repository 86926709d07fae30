"""What the kernel of its node says of each replica's container: read here, or asked of an agent on the node."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import requests

from loadstone.infrastructure import cgroup
from loadstone.infrastructure.cgroup import CgroupError, Limits, Usage
from loadstone.infrastructure.cores import parse_cores
from loadstone.model.cluster import Node
from loadstone.model.deployment import Found

_MOST_AT_ONCE = 100
"""Containers in one question; what `stone agent` takes."""
_MOST_NODES = 16
_WITHIN_S = (3.05, 15.0)
"""To connect, and between two bytes of an answer: the agent gives up after 10 s."""


@dataclass(frozen=True)
class Reading:
    """Of one container: what is in force and what it used. Without limits, ``why`` says why there are none."""

    limits: Limits | None = None
    """CPU, memory and the cores on which its first process may run."""
    usage: Usage | None = None
    why: str = ""


class Reader(ABC):
    """Reads what is in force for replicas, and what they used."""

    @abstractmethod
    def read(self, found: Sequence[Found]) -> dict[str, Reading]:
        """A reading of each, by the replica's name; raises nothing."""

    @abstractmethod
    def new_peaks(self, found: Sequence[Found]) -> bool:
        """Begin a new memory peak of each; whether all could."""


class Here(Reader):
    """This machine's kernel: of replicas on it, or on hosts that are emulated on it."""

    def __init__(self) -> None:
        self._groups = cgroup.find()
        self._known: dict[str, str] = {}

    def read(self, found: Sequence[Found]) -> dict[str, Reading]:
        return {one.name: self._read(one.container) for one in found}

    def _read(self, container: str) -> Reading:
        try:
            group = self._group(container) if container else None
            if group is None:
                return _nowhere(container, "this machine")
            usage = self._groups.usage(group)
            processes = sorted(self._groups.processes(group))
        except (CgroupError, OSError) as error:  # it ended while we looked
            return _unreadable(error)
        said = _ended(usage)
        for process in processes:
            try:
                joined = self._groups.holds(group, process)
                limits = replace(self._groups.effective(process), cores=allowed_cores(process))
                if joined and self._groups.holds(group, process):  # who is in no group meanwhile has no limits
                    return Reading(limits, usage)
            except (CgroupError, OSError) as error:  # databases have children that live for a moment
                said = _unreadable(error)
        return said

    def new_peaks(self, found: Sequence[Found]) -> bool:
        groups = [self._group(one.container) for one in found if one.container]
        return all(group is not None and self._groups.reset_peak(group) for group in groups)

    def _group(self, container: str) -> str | None:
        """A container's group stays where it is, and to find it means to look at every group there is."""
        known = self._known.get(container)
        if known is not None and self._groups.exists(known):
            return known
        found = self._groups.container(container)
        if found is not None:
            self._known[container] = found
        return found


class Agents(Reader):
    """The agents (`stone agent`) of the nodes; ``addresses``: host:port by node, as they are at that moment."""

    def __init__(self, addresses: Callable[[], Mapping[str, str]]) -> None:
        self._addresses = addresses

    def read(self, found: Sequence[Found]) -> dict[str, Reading]:
        readings = {one.name: _nowhere("", "") for one in found if not one.container}
        for some, said in self._ask("GET", "containers", found):
            for one in some:
                readings[one.name] = Reading(why=said) if isinstance(said, str) else _of(said.get(one.container), one)
        return readings

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
    """Each replica by who can read its node."""

    def __init__(self, nodes: Iterable[Node], here: Reader, agents: Reader) -> None:
        self._readers = {node.name: here if node.here else agents for node in nodes}

    def read(self, found: Sequence[Found]) -> dict[str, Reading]:
        readings = {
            one.name: Reading(why=f"it is on {one.node!r}, no node of this cluster" if one.node else "it has no node")
            for one in found
        }
        for reader, some in self._by_reader(found):
            readings |= reader.read(some)
        return readings

    def new_peaks(self, found: Sequence[Found]) -> bool:
        known = all(one.node in self._readers for one in found)
        return bool(found) and known and all(reader.new_peaks(some) for reader, some in self._by_reader(found))

    def _by_reader(self, found: Sequence[Found]) -> list[tuple[Reader, list[Found]]]:
        readers = dict.fromkeys(self._readers.values())
        split = [(reader, [one for one in found if self._readers.get(one.node) is reader]) for reader in readers]
        return [(reader, some) for reader, some in split if some]


def allowed_cores(pid: int) -> tuple[int, ...]:
    """Where the scheduler may run a process: its cpuset and its affinity together (proc(5), Cpus_allowed_list)."""
    match = re.search(r"^Cpus_allowed_list:\s*(\S*)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return parse_cores(match.group(1)) if match else ()


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


def _of(said: Any, one: Found) -> Reading:
    """What an agent says of a container as a reading."""
    try:
        if not said["found"]:
            return _nowhere(one.container, one.node)
        if problem := said.get("problem"):
            return Reading(why=f"its control group cannot be read: {problem}")
        usage, limits = Usage(**said["usage"]), said["limits"]
        if not usage.pids:
            return _ended(usage)
        return Reading(Limits(limits["cpu"], limits["memory"], tuple(limits["cores"])), usage)
    except (AttributeError, KeyError, TypeError) as error:
        return Reading(why=f"the agent of {one.node} is of another version: {error!r}")


def _nowhere(container: str, where: str) -> Reading:
    return Reading(why=f"no control group of its container is on {where}" if container else "it has no container")


def _unreadable(error: Exception) -> Reading:
    return Reading(why=f"its control group cannot be read: {error}")


def _ended(usage: Usage) -> Reading:
    return Reading(usage=usage, why="no process of it runs")
