"""Strongly connected components of a directed graph."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def components(edges: Mapping[Node, Iterable[Node]]) -> list[list[Node]]:
    """Strongly connected components (Tarjan 1972, without recursion), each after those that it leads to."""
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack: list[Node] = []
    waiting: set[Node] = set()
    found: list[list[Node]] = []
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(edges.get(root, ())))]
        index[root] = low[root] = len(index)
        stack.append(root)
        waiting.add(root)
        while work:
            node, following = work[-1]
            child = next((n for n in following if n not in index or n in waiting), None)
            if child is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    members = []
                    while True:
                        member = stack.pop()
                        waiting.discard(member)
                        members.append(member)
                        if member == node:
                            break
                    found.append(members)
            elif child in index:
                low[node] = min(low[node], index[child])
            else:
                index[child] = low[child] = len(index)
                stack.append(child)
                waiting.add(child)
                work.append((child, iter(edges.get(child, ()))))
    return found
