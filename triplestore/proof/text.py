"""Proofs as text, JSON and DOT. Parts that occur more than once are shown once and referred to by number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from triplestore.model.dataset import DEFAULT
from triplestore.model.prefixes import Names
from triplestore.model.terms import RDF, to_ntriples
from triplestore.proof.proof import ASSERTED, Proof

Write = Callable[[str], str]
"""How a token is written."""


def writer(prefixes: Mapping[str, str]) -> Write:
    """Terms as Turtle writes them, with prefixes (name without colon -> IRI) beside the standard ones."""
    names = Names(prefixes)
    return lambda token: "a" if token == f"<{RDF}type>" else names.token(token)


def line(proof: Proof, write: Write) -> str:
    """The triple of a proof on one line."""
    return "inconsistent" if proof.tokens is None else " ".join(write(token) for token in proof.tokens)


def by(proof: Proof, write: Write) -> str:
    """Why a step holds: the rule's id, or that it is asserted, and in which graphs."""
    return f"{proof.by} in {named(proof.graphs, write)}" if proof.graphs else proof.by


def named(graphs: Sequence[str], write: Write) -> str:
    """The names of graphs."""
    return ", ".join("the unnamed graph" if graph == DEFAULT else write(graph) for graph in graphs)


def text(proof: Proof, write: Write) -> Iterator[str]:
    """The proof as an indented tree, a line at a time."""
    uses = Counter(id(premise) for step in proof.steps() for premise in step.premises)
    numbers: dict[int, int] = {}
    stack: list[tuple[Proof, str, str]] = [(proof, "", "")]
    while stack:
        step, mark, indent = stack.pop()
        shared = uses[id(step)] > 1 and step.by != ASSERTED
        if id(step) in numbers:
            yield f"{mark}{line(step, write)}   (see {numbers[id(step)]})"
            continue
        number = ""
        if shared:
            numbers[id(step)] = len(numbers) + 1
            number = f"{len(numbers)}: "
        yield f"{mark}{number}{line(step, write)}   [{by(step, write)}]"
        below = step.premises
        for i, condition in enumerate(step.conditions, 1):
            last = i == len(step.conditions) and not below
            yield f"{indent}{'└─' if last else '├─'} {shortened(condition, write)}"
        for i, premise in reversed(list(enumerate(below))):
            last = i + 1 == len(below)
            stack.append((premise, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  ")))


def as_json(proof: Proof) -> dict[str, Any]:
    """The proof as a list of steps, premises (by position in the list) before what they prove; the goal is the last."""
    steps = list(proof.steps())
    places = {id(step): place for place, step in enumerate(steps)}
    return {
        "depth": proof.depth,
        "steps": [
            {
                "triple": None if step.tokens is None else [to_ntriples(token) for token in step.tokens],
                "by": step.by,
                "premises": [places[id(premise)] for premise in step.premises],
                **({"conditions": list(step.conditions)} if step.conditions else {}),
                **({"graphs": graphs_json(step.graphs)} if step.graphs else {}),
            }
            for step in steps
        ],
    }


def graphs_json(graphs: Sequence[str]) -> list[str | None]:
    """The names of graphs as JSON has them, None for the unnamed one."""
    return [None if graph == DEFAULT else to_ntriples(graph) for graph in graphs]


def dot(proof: Proof, write: Write) -> Iterator[str]:
    """The proof as a graph for Graphviz, a line at a time: asserted triples are boxes, arrows go to what is derived."""
    steps = list(proof.steps())
    places = {id(step): place for place, step in enumerate(steps)}
    yield "digraph proof {"
    yield "  rankdir=BT; node [fontname=Helvetica];"
    for place, step in enumerate(steps):
        conditions = [shortened(condition, write) for condition in step.conditions]
        leaf = f"{line(step, write)}\nin {named(step.graphs, write)}" if step.graphs else line(step, write)
        label = leaf if step.by == ASSERTED else "\n".join([line(step, write), step.by, *conditions])
        shape = "box" if step.by == ASSERTED else "ellipse"
        yield f"  n{place} [shape={shape}, label={quoted(label)}];"
    for place, step in enumerate(steps):
        for premise in dict.fromkeys(places[id(p)] for p in step.premises):
            yield f"  n{premise} -> n{place};"
    yield "}"


def shortened(condition: str, write: Write) -> str:
    """A condition with its IRIs as they are written elsewhere."""
    return re.sub(r'"(?:[^"\\]|\\.)*"|<[^<>"\s]*>', lambda m: write(m[0]) if m[0][0] == "<" else m[0], condition)


def quoted(label: str) -> str:
    """A string of the DOT language."""
    return '"' + label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
