"""The rules of docs/explanation/critical-path.md, as short and slow as possible; for one trace."""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.analysis.traces.spans import CLIENT, ERROR, SERVER
from tests.made_traces import Row

ORDER = ("start_ns", "span_id", "duration_ns", "parent_id", "kind", "status")


@dataclass
class Node:
    row: Row
    children: list[Node]
    start: int
    end: int
    exclusive: int = 0
    critical: int = -1
    parent: Node | None = None


def tree(rows: list[Row]) -> tuple[Node, list[Node]]:
    """The root, and the nodes of all spans that stay, by start."""
    nodes: list[Node] = []
    by_id: dict[int, Node] = {}
    twins: dict[int, Node] = {}
    for row in sorted(rows, key=lambda row: [row[name] for name in ORDER]):
        known, node = by_id.get(row["span_id"]), Node(row, [], row["start_ns"], row["start_ns"] + row["duration_ns"])
        if known is None:
            by_id[row["span_id"]] = node
        elif id(known) not in twins and {known.row["kind"], row["kind"]} == {CLIENT, SERVER}:
            client, server = (known, node) if row["kind"] == SERVER else (node, known)
            by_id[row["span_id"]] = server
            twins[id(server)] = client
        else:
            continue
        nodes.append(node)
    for node in nodes:
        node.parent = twins.get(id(node)) or by_id.get(node.row["parent_id"] or None)
    parentless = [node for node in nodes if node.parent is None and node.row["parent_id"] == 0]
    root = next(iter(parentless), None) or next((node for node in nodes if node.parent is None), None)
    for node in nodes:
        if node.parent is None and node is not root:
            node.parent = root
    for node in nodes:
        if ring := _ring(node):
            cut = min(ring, key=lambda item: [id(n) for n in nodes].index(id(item)))
            cut.parent = root
            root = root or cut
    assert root is not None
    for node in nodes:
        if node.parent is not None:
            node.parent.children.append(node)
    return root, nodes


def _ring(node: Node) -> list[Node]:
    """The ring of parents that the node's ancestors end in."""
    chain: list[Node] = []
    at: Node | None = node
    while at is not None:
        if any(at is item for item in chain):
            return chain[[item is at for item in chain].index(True) :]
        chain.append(at)
        at = at.parent
    return []


def analyse(rows: list[Row]) -> tuple[Node, list[Node]]:
    """The tree with exclusive times and critical path."""
    root, nodes = tree(rows)
    if root.end < root.start:
        root.end = max([root.start, *(n.start for n in nodes), *(n.end for n in nodes if n.end >= n.start)])
    _close(root)
    for node in nodes:
        covered = set()
        for child in node.children:
            covered |= set(range(max(child.start, node.start), min(child.end, node.end)))
        node.exclusive = node.end - node.start - len(covered)
    _path(root, root.start, root.end, nodes)
    return root, nodes


def _close(node: Node) -> None:
    for child in node.children:
        if child.end < child.start:
            child.end = max(child.start, node.end)
        _close(child)


def _path(node: Node, begin: int, finish: int, nodes: list[Node]) -> None:
    """``begin`` and ``finish``: the node's times within all its ancestors."""
    order = {id(node): place for place, node in enumerate(nodes)}
    node.critical, reached = finish - begin, finish
    slack = (node.end - node.start) // 100
    outlived, taken = [], []
    for last in sorted(node.children, key=lambda item: (-item.end, order[id(item)])):
        low, high = max(last.start, begin), min(last.end, finish)
        if last.end > node.end + slack:
            outlived += [last] if low < high else []
            continue
        clipped = high > reached
        if low > high or (clipped and not (high - reached <= slack and low < reached)) or _cancelled(last, node, order):
            continue
        taken.append((last, low, min(high, reached)))
        reached = low
    if outlived and sum(high - low for _, low, high in taken) <= slack:
        least = min(outlived, key=lambda item: (item.end, order[id(item)]))
        since = max(least.start, begin)
        taken = [(child, low, min(high, since)) for child, low, high in taken if low < since]
        taken.append((least, since, finish))
    for child, low, high in taken:
        node.critical -= high - low
        _path(child, low, high, nodes)


def _cancelled(item: Node, parent: Node, order: dict[int, int]) -> bool:
    """Whether an equal call beside it succeeded just before it failed; 16 siblings are looked at."""
    if item.row["status"] != ERROR:
        return False
    earlier = [s for s in parent.children if (-s.end, order[id(s)]) > (-item.end, order[id(item)])]
    slack = (parent.end - parent.start) // 100
    return any(
        other.end >= item.end - slack and other.end > item.start and other.row["status"] != ERROR and _same(other, item)
        for other in sorted(earlier, key=lambda s: (-s.end, order[id(s)]))[:16]
    )


def _same(item: Node, other: Node) -> bool:
    return all(item.row[name] == other.row[name] for name in ("service", "operation", "peer"))
