"""The program of a closure: its schema, closed, the rules specialised by it, and the dependencies of facts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from triplestore.compile.dependency import (
    ALL,
    READ_ANY,
    READ_TYPE,
    WRITE_ANY,
    WRITE_TYPE,
    Node,
    fact_node,
    head_node,
    pattern_node,
)
from triplestore.compile.plan import Element, Equal, K, Made, Occurs, Pattern, Row, Shape, Unequal, V
from triplestore.compile.program import Program
from triplestore.compile.schema import Constants, Fact, SchemaFacts
from triplestore.compile.specialise import Specialiser
from triplestore.maintain.join import Instances, Rules, encoded
from triplestore.maintain.keys import Ids, Layout
from triplestore.maintain.recursion import Recursion, recursion
from triplestore.maintain.relation import Relation
from triplestore.model.errors import TriplakeError
from triplestore.model.terms import SAME_AS, TYPE


class NotMaintainableError(TriplakeError):
    """No algorithm can maintain the closure under this change; the message is the reason."""


@dataclass(slots=True)
class Specialised:
    """A program over a closed schema. `schema`: its facts; `unconditional`: facts that hold by the schema alone."""

    schema: frozenset[Fact]
    unconditional: frozenset[Fact]
    program: Program
    constants: Constants
    rules: Rules
    recursion: Recursion | None = None  # where derivations are counted
    strata: dict[int, list[tuple[Shape, Row]]] | None = None
    """The instances with NOT or AGGREGATE by their levels, once they are known."""
    closed: frozenset[int] = frozenset()  # see `SchemaFacts`
    _dependents: dict[Node, set[Node]] | None = field(default=None)
    _terms: Ids | None = field(default=None)
    _nodes: frozenset[Node] | None = field(default=None)
    _held: Ids | None = field(default=None)
    _tied: bool | None = field(default=None)

    _listed: Relation | None = field(default=None)
    _constraints: dict[tuple[str, Shape], Instances] = field(default_factory=dict)

    # The cost of these follows the schema, so each is computed once for all updates under the program.

    @property
    def terms(self) -> Ids:
        """Ids that the schema, or a constant of a rule, mentions, sorted."""
        if self._terms is None:
            found = {term for facts in (self.schema, self.unconditional) for fact in facts for term in fact}
            self._terms = np.array(sorted(found | set(self.constants.values())), dtype=np.int64)
        return self._terms

    @property
    def nodes(self) -> frozenset[Node]:
        """The nodes of the schema facts."""
        if self._nodes is None:
            self._nodes = frozenset(fact_node(p, o) for _, p, o in self.schema)
        return self._nodes

    @property
    def held(self) -> Ids:
        """The keys of facts that hold for any data: schema facts and unconditional ones."""
        if self._held is None:
            self._held = self.rules.layout.keys_of(self.schema | self.unconditional)
        return self._held

    @property
    def listed(self) -> Relation:
        """The program's lists, with positions as they are in place of subjects: they are not terms."""
        if self._listed is None:
            layout = self.rules.layout
            places, heads, items = np.array(sorted(self.program.listed), dtype=np.int64).reshape(-1, 3).T
            codes = layout.encode(np.ascontiguousarray(heads))
            layout.register(np.unique(codes).tolist())
            keys = layout.pack(layout.numbers(codes), places, layout.encode(np.ascontiguousarray(items)))
            self._listed = Relation(layout, np.sort(keys))
        return self._listed

    def constraint(self, rule: str, shape: Shape) -> Instances:
        """All instances of a constraint that have a shape."""
        if (rule, shape) not in self._constraints:
            rows = self.program.constraints[rule, shape]
            self._constraints[rule, shape] = Instances(shape, encoded(self.rules.layout, list(rows), shape))
        return self._constraints[rule, shape]

    @property
    def tied(self) -> bool:
        """Whether rules or schema make terms equal that are one class already. Then one instance, or one schema fact,
        may stand for several, and the removal of one of them has no effect."""
        if self._tied is None:
            facts = any(p == SAME_AS and s == o for s, p, o in self.unconditional)
            self._tied = facts or any(
                row[p.number] == SAME_AS and row[s.number] == row[o.number]
                for shape, rows in self.program.instances.items()
                if all(isinstance(slot, K) for slot in shape.output)
                for s, p, o in [[slot for slot in shape.output if isinstance(slot, K)]]
                for row in rows
            )
        return self._tied

    def seeing(self, dirty: Collection[int]) -> dict[Shape, dict[Row, str]]:
        """The instances that may have more matches when the classes of these terms (codes) have grown, with no fact
        that is new."""
        asking = {shape: rows for shape, rows in self.program.instances.items() if shape.sees_parameters}
        if not asking:
            return {}
        changed = set(self.rules.layout.decode(np.array(sorted(dirty), dtype=np.int64)).tolist())
        found = {
            shape: {row: name for row, name in rows.items() if not changed.isdisjoint(row)}
            for shape, rows in asking.items()
        }
        return {shape: rows for shape, rows in found.items() if rows}

    def reach(self, facts: Iterable[Node]) -> set[Node] | None:
        """The nodes of facts that could change where facts of these nodes do, these included; None: any node."""
        if self._dependents is None:
            self._dependents = _dependents(self.program.instances)
        reached: set[Node] = set()
        waiting = set(facts)
        while waiting:
            node = waiting.pop()
            reached.add(node)
            for read in (node, READ_ANY, *((READ_TYPE,) if node[0] == TYPE else ())):
                for head in self._dependents.get(read, ()):
                    if head in (WRITE_ANY, WRITE_TYPE):
                        return None
                    if head not in reached:
                        waiting.add(head)
        return reached


def _dependents(instances: Mapping[Shape, Mapping[Row, str]]) -> dict[Node, set[Node]]:
    """Node read by a body atom -> nodes of the heads."""
    found: dict[Node, set[Node]] = {}
    for shape, rows in instances.items():
        bodies = [element for element in shape.body if isinstance(element, Pattern)]
        for row in rows:
            head = head_node(shape, row)
            for body in bodies:
                found.setdefault(pattern_node(body, row), set()).add(head)
    return found


def specialise(
    layout: Layout, specialiser: Specialiser, constants: Constants, schema: Iterable[Fact], counting: bool = False
) -> Specialised:
    """Close schema facts and specialise the rules by them. `constants`: ids are normalised. counting: separate
    recursive instances from others.

    Raises NotMaintainableError for rules that are no plain joins."""
    closed = SchemaFacts()
    _, others = specialiser.close(closed, schema, constants)
    program = without_occurring(specialiser.program(closed, constants))
    if counting and not program.monotone:
        raise NotMaintainableError("derivations by a NOT, an aggregate or an expression are not counted")
    held = frozenset({*others, *program.facts})
    strata = recursion(program.instances) if counting else None
    rules = Rules(layout, program.instances, strata)
    lists = frozenset(closed.closed)
    return Specialised(frozenset(closed.facts), held, program, constants, rules, strata, closed=lists)


def without_occurring(program: Program) -> Program:
    """The program without redundant `Occurs`: of a term that a triple of the body mentions, or of any term at all (some
    term occurs; see `triplestore.maintain.cache`)."""
    if not program.uses_occurs:
        return program
    instances: dict[Shape, dict[Row, str]] = {}
    facts = set(program.facts)
    for shape, rows in program.instances.items():
        simpler = _simpler(shape)
        if simpler.body or simpler.conditions or any(isinstance(slot, V | Made) for slot in simpler.output):
            instances.setdefault(simpler, {}).update(rows)
        else:
            s, p, o = (slot.number for slot in simpler.output if isinstance(slot, K))
            facts.update((row[s], row[p], row[o]) for row in rows)
    constraints: dict[tuple[str, Shape], dict[Row, str]] = {}
    for (rule, shape), rows in program.constraints.items():
        simpler = _simpler(shape)
        constraints.setdefault((rule, simpler if simpler.body else shape), {}).update(rows)
    return replace(program, facts=facts, instances=instances, constraints=constraints)


def _simpler(shape: Shape) -> Shape:
    if not shape.uses_occurs or not shape.monotone:
        return shape
    patterns = [element for element in shape.body if isinstance(element, Pattern)]
    mentioned = {slot for element in patterns for slot in element.slots}
    needed = {
        *shape.output,
        *(slot for c in shape.conditions if isinstance(c, Equal | Unequal) for slot in (c.left, c.right)),
    }

    def idle(element: Element) -> bool:
        return isinstance(element, Occurs) and (
            element.term in mentioned or (isinstance(element.term, V) and element.term not in needed)
        )

    return Shape(tuple(element for element in shape.body if not idle(element)), shape.conditions, shape.output)


def nothing(layout: Layout) -> Specialised:
    """The program without rules and schema."""
    return Specialised(frozenset(), frozenset(), Program(), Constants({}), Rules(layout, {}))


def instances_lost(before: Specialised, after: Specialised) -> dict[Shape, dict[Row, str]]:
    """Rule instances of `before` that `after` lacks."""
    return {} if before.program is after.program else before.program.minus(after.program)


def shared(layout: Layout, before: Specialised, after: Specialised) -> Specialised:
    """The instances of `before` that `after` has too, recursive as they are there."""
    lost = instances_lost(before, after)
    if not lost and before.recursion is after.recursion:
        return before
    kept = {
        shape: {row: rule for row, rule in rows.items() if row not in lost.get(shape, {})}
        for shape, rows in before.program.instances.items()
    }
    rules = Rules(layout, kept, after.recursion)
    program = Program(instances=kept)
    return Specialised(before.schema, before.unconditional, program, before.constants, rules, after.recursion)


def equality_reached(nodes: set[Node] | None) -> bool:
    """Whether equalities are among the nodes."""
    return nodes is None or (SAME_AS, ALL) in nodes
