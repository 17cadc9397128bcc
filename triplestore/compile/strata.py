"""Stratification: which negated and aggregating rule instances must wait, and for how long.

Apt, Blair, Walker 1988, over the specialised program: its instances name the nodes (`triplestore.compile.dependency`),
so a generic rule counts only where the schema has an instance of it. An edge leads from what a body reads to what its
head derives; it is negative where the body reads it through NOT or AGGREGATE, which must find it complete. The level of
a node is the largest number of negative edges on a way to it; a cycle with a negative edge has no meaning.

With equality, every fact depends on owl:sameAs (a merge can change it), and what NOT and AGGREGATE see depends on it
negatively. The congruence rules of equality `axioms` say no more than that. RDFox turns equality off where there is
negation. Here, a cycle that is one only because of that, as an equality depends on a NOT or AGGREGATE, leaves equality
`unsettled`: it need not matter to the data at hand, so strata are those without it, and what they give is verified
(`triplestore.materialise.well_founded`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from triplestore.compile.components import components
from triplestore.compile.dependency import (
    ALL,
    READ_ANY,
    WRITE_ANY,
    Node,
    body_nodes,
    head_node,
    hub_edges,
    pattern_node,
    read_node,
    value,
    written_node,
)
from triplestore.compile.plan import Absent, Grouped, K, Occurs, Pattern, Row, Shape, Slot, V
from triplestore.compile.program import Program, is_identity
from triplestore.compile.schema import Constants
from triplestore.model.equality import Equality
from triplestore.model.rule import Atom, Rule
from triplestore.model.terms import SAME_AS

OCCURRING: Final = -4
"""In place of a class: that the term in place of a property occurs. A rule that names it in its head may do that."""
EQUALITY: Final = "equality"
"""The name of the edges from owl:sameAs to everything."""

Instance = tuple[Shape, Row]


@dataclass(frozen=True, slots=True)
class Step:
    """An edge of a cycle: `head` is derived by `rule` from `body`, through NOT or AGGREGATE if `negative`."""

    body: Node
    head: Node
    rule: str
    negative: bool


class UnstratifiableError(Exception):
    """A cycle through a negation. `steps`: the negative edge first, then the way back."""

    def __init__(self, steps: Sequence[Step]) -> None:
        super().__init__("unstratifiable")
        self.steps = steps


@dataclass(slots=True)
class Strata:
    """The dependency graph of a program. `levels`: of its negative instances, from 1 on. unsettled: an equality may
    depend on a NOT or AGGREGATE."""

    levels: dict[Instance, int] = field(default_factory=dict)
    edges: dict[Node, dict[Node, Step]] = field(default_factory=dict)
    unsettled: bool = False

    def reached(self, nodes: Iterable[Node], merging: bool = True) -> set[Node]:
        """All nodes that these lead to, themselves included. merging: through equality, too."""
        found: set[Node] = set()
        todo = list(nodes)
        while todo:
            node = todo.pop()
            if node not in found:
                found.add(node)
                steps = self.edges.get(node, {}).values()
                todo.extend(step.head for step in steps if merging or not _by_equality(step))
        return found


def stratify(
    program: Program,
    schema_rules: Iterable[Rule],
    constants: Constants,
    equality: Equality,
    equal: Mapping[int, int],
    extra: Iterable[Step] = (),
) -> Strata:
    """The strata of a program. Raises UnstratifiableError.

    schema_rules: those that are run in memory. equal: id -> representative, where facts are not normalised. extra:
    steps that the program is known to have before its schema says so.
    """
    strata = Strata()
    reads: dict[Instance, list[Node]] = {}
    steps = [
        *extra,
        *_instance_steps(program, equality, equal, reads),
    ]
    asked = {term for nodes in reads.values() for term, kind in nodes if kind == OCCURRING}
    steps += [*_schema_steps(schema_rules, constants, asked), *_occurring_steps(program, equality, equal, asked)]
    for step in steps:
        _add(strata.edges, step)
    _add_hubs(strata.edges, equality)
    level, strata.unsettled = _levels(strata.edges)
    if strata.unsettled:
        level[SAME_AS, ALL] = 0
    strata.levels = {
        instance: 1 + max((level.get(n, 0) for n in nodes), default=0) for instance, nodes in reads.items()
    }
    return strata


def heads(program: Mapping[Shape, Iterable[Row]]) -> set[Node]:
    """What rule instances derive."""
    instances = [(shape, row) for shape, rows in program.items() for row in rows]
    named = {(row[k.number], OCCURRING) for shape, row in instances for k in shape.output if isinstance(k, K)}
    return {head_node(shape, row) for shape, row in instances} | named


def negated(instances: Iterable[Instance], equality: Equality, equal: Mapping[int, int]) -> set[Node]:
    """What instances read through NOT or AGGREGATE."""
    return {node for shape, row in instances for node in _negative_reads(shape, row, equality, equal)}


def _add(edges: dict[Node, dict[Node, Step]], step: Step) -> None:
    known = edges.setdefault(step.body, {}).get(step.head)
    if known is None or (step.negative and not known.negative):
        edges[step.body][step.head] = step


def _instance_steps(
    program: Program, equality: Equality, equal: Mapping[int, int], reads: dict[Instance, list[Node]]
) -> Iterator[Step]:
    for shape, rows in program.instances.items():
        for row, rule in rows.items():
            if equality == Equality.AXIOMS and _is_congruence(shape, row):
                continue
            if equality != Equality.OFF and is_identity(shape, row):  # derives what holds anyway
                if shape.negative:
                    reads[shape, row] = []
                continue
            head = head_node(shape, row, equal)
            for node in body_nodes(shape, row, equal):
                yield Step(node, head, rule, False)
            if shape.negative:
                reads[shape, row] = _negative_reads(shape, row, equality, equal)
                for node in reads[shape, row]:
                    yield Step(node, head, rule, True)


def _occurring_steps(
    program: Program, equality: Equality, equal: Mapping[int, int], asked: Collection[int]
) -> Iterator[Step]:
    """The edges to the terms `asked` for, that they occur, from what instances read that may derive facts of them."""
    for shape, rows in program.instances.items() if asked else ():
        any_term = shape.makes_terms or any(isinstance(element, Grouped) for element in shape.body)
        for row, rule in rows.items():
            named = asked if any_term else {value(k, row, equal) for k in shape.output if isinstance(k, K)}
            for term in sorted({*asked} & {*named}):
                for node in body_nodes(shape, row, equal):
                    yield Step(node, (term, OCCURRING), rule, False)
                for node in _negative_reads(shape, row, equality, equal) if shape.negative else ():
                    yield Step(node, (term, OCCURRING), rule, True)


def _schema_steps(rules: Iterable[Rule], constants: Constants, asked: Collection[int]) -> Iterator[Step]:
    """The edges of the rules over the schema, by the constants that they name. asked: see `_occurring_steps`."""

    def values(atom: Atom) -> tuple[int | None, int | None]:
        p, o = (constants.get(t) if isinstance(t, str) else None for t in (atom.p, atom.o))
        return p, o

    for rule in rules:
        for head in rule.heads:
            named = {constants.get(term) for term in head.terms if isinstance(term, str)}
            targets = [written_node(*values(head)), *((term, OCCURRING) for term in sorted({*asked} & named))]
            for element in rule.body:
                if isinstance(element, Atom):
                    yield from (Step(read_node(*values(element)), node, rule.name, False) for node in targets)


def _negative_reads(shape: Shape, row: Row, equality: Equality, equal: Mapping[int, int]) -> list[Node]:
    found = [
        pattern_node(element, row, equal) if isinstance(element, Pattern) else _occurrence(element, row, equal)
        for condition in shape.conditions
        if isinstance(condition, Absent)
        for element in condition.body
    ]
    for element in shape.body:
        if isinstance(element, Grouped):
            found += _group_reads(element, row, equality, equal)
    if shape.negative and equality != Equality.OFF:
        found.append((SAME_AS, ALL))
    return list(dict.fromkeys(found))


def _occurrence(element: Occurs, row: Row, equal: Mapping[int, int]) -> Node:
    """What is read to see whether a term occurs: of one that is not known, every fact."""
    term = value(element.term, row, equal)
    return READ_ANY if term is None else (term, OCCURRING)


def _group_reads(element: Grouped, row: Row, equality: Equality, equal: Mapping[int, int]) -> list[Node]:
    """What an aggregate reads of interest to an instance: its keys may be known there."""
    group = element.group
    inner = tuple(value(slot, row) or 0 for slot in element.parameters)
    known = {
        column: value(slot, row, equal)
        for column, slot in zip(group.matches.output[: group.keys], element.slots[: group.keys], strict=True)
    }

    def inside(slot: Slot) -> int | None:
        return known.get(slot) if isinstance(slot, V) else value(slot, inner, equal)

    found = [read_node(inside(e.p), inside(e.o)) for e in group.matches.body if isinstance(e, Pattern)]
    return found + _negative_reads(group.matches, inner, equality, equal)


def _is_congruence(shape: Shape, row: Row) -> bool:
    """Whether an instance puts equals for equals in a fact, as eq-rep-s, eq-rep-p and eq-rep-o do, also where the fact
    is `x owl:sameAs x`: what equals owl:sameAs holds of every term and itself."""
    if len(shape.body) != 2 or shape.conditions:
        return False
    for link, fact in (shape.body, shape.body[::-1]):
        if isinstance(link, Pattern) and isinstance(fact, Pattern) and _replaces(link, fact, shape.output):
            return True
        if isinstance(link, Pattern) and isinstance(fact, Occurs):
            ends = {value(slot, row) for slot in (link.s, link.p)}
            return ends == {SAME_AS} and shape.output == (fact.term, link.o, fact.term)
    return False


def _replaces(link: Pattern, fact: Pattern, output: Sequence[object]) -> bool:
    changed = [(old, new) for old, new in zip(fact.slots, output, strict=True) if old != new]
    free = all(isinstance(slot, V) for slot in fact.slots) and len(set(fact.slots)) == 3
    return free and isinstance(link.p, K) and changed == [(link.s, link.o)]


def _add_hubs(edges: dict[Node, dict[Node, Step]], equality: Equality) -> None:
    """Every node leads to what reads any, what derives any leads to every node; equality leads to all."""
    nodes = {node for body, steps in edges.items() for node in (body, *steps)}
    same_as: Node = (SAME_AS, ALL)
    if equality != Equality.OFF:
        nodes.add(same_as)
        _add(edges, Step(same_as, WRITE_ANY, EQUALITY, False))
    for body, head in hub_edges(node for node in nodes if node[1] != OCCURRING):
        _add(edges, Step(body, head, "", False))


def _by_equality(step: Step) -> bool:
    """Whether an edge is there because equal terms stand for each other."""
    return step.rule == EQUALITY or (step.negative and step.body == (SAME_AS, ALL))


def _levels(edges: Mapping[Node, Mapping[Node, Step]], settled: bool = True) -> tuple[dict[Node, int], bool]:
    """The level of each node, and whether equality is unsettled. Raises UnstratifiableError.

    settled: False within a cycle, when the edges of equality have been left out.
    """
    component: dict[Node, int] = {}
    order = components(edges)  # each before those that lead to it
    for number, members in enumerate(order):
        component.update(dict.fromkeys(members, number))
    inner: dict[Node, int] = {}
    unsettled = False
    for number, members in enumerate(order):
        cycle = {b: {h: s for h, s in edges.get(b, {}).items() if component[h] == number} for b in members}
        negative = next((step for steps in cycle.values() for step in steps.values() if step.negative), None)
        if negative is not None:
            without = {b: {h: s for h, s in steps.items() if not _by_equality(s)} for b, steps in cycle.items()}
            if not settled or without == cycle:
                raise UnstratifiableError([negative, *_way(edges, negative.head, negative.body)])
            inner |= _levels(without, settled=False)[0]
            unsettled = True
    level = [0] * len(order)
    found: dict[Node, int] = {}
    for number in range(len(order) - 1, -1, -1):
        for body in order[number]:
            found[body] = level[number] + inner.get(body, 0)
            for head, step in edges.get(body, {}).items():
                if (above := component[head]) != number:
                    level[above] = max(level[above], found[body] + step.negative)
    return found, unsettled


def _way(edges: Mapping[Node, Mapping[Node, Step]], start: Node, end: Node) -> list[Step]:
    """A shortest way from one node to another."""
    step_to: dict[Node, Step] = {}
    todo = deque([start])
    while todo and end not in step_to and start != end:
        node = todo.popleft()
        for following, step in edges.get(node, {}).items():
            if following not in step_to and following != start:
                step_to[following] = step
                todo.append(following)
    way: list[Step] = []
    node = end
    while node != start:
        way.append(step_to[node])
        node = step_to[node].body
    return way[::-1]
