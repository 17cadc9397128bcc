"""A program: rules specialised by a schema, as shapes and their instances (Pi of Motik et al. 2015, as data)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from triplestore.compile.plan import K, Row, Shape
from triplestore.compile.schema import Fact
from triplestore.model.terms import SAME_AS


@dataclass(slots=True)
class Program:
    """Rules specialised by a schema.

    instances: shape -> row -> name of a rule that it is an instance of.
    constraints: (rule, shape) -> rows, for rules whose head is false.
    facts: what holds without condition. violations: (rule, triples at fault), likewise.
    listed: (position, list, member), which `Listed` matches; of each member the first and the last position.
    """

    facts: set[Fact] = field(default_factory=set)
    instances: dict[Shape, dict[Row, str]] = field(default_factory=dict)
    constraints: dict[tuple[str, Shape], dict[Row, str]] = field(default_factory=dict)
    violations: set[tuple[str, Row]] = field(default_factory=set)
    listed: set[Fact] = field(default_factory=set)

    @property
    def uses_occurs(self) -> bool:
        """Whether any body needs the terms that occur (`Occurs`)."""
        return any(s.uses_occurs for s in self.instances) or any(s.uses_occurs for _, s in self.constraints)

    @property
    def shapes(self) -> list[Shape]:
        """All shapes, those of constraints included."""
        return [*self.instances, *(shape for _, shape in self.constraints)]

    @property
    def uses_inequality(self) -> bool:
        """Whether any condition or expression can begin to hold when a class of equal terms grows."""
        return any(shape.sees_members for shape in self.shapes)

    @property
    def negative(self) -> bool:
        """Whether any shape has a NOT or an AGGREGATE."""
        return any(shape.negative for shape in self.shapes)

    @property
    def monotone(self) -> bool:
        """Whether all shapes are plain joins: no NOT, no AGGREGATE, no expression."""
        return all(shape.monotone for shape in self.shapes)

    def without_identities(self) -> Program:
        """The program without what derives `c owl:sameAs c` of constants: by that alone a term may occur."""
        facts = {(s, p, o) for s, p, o in self.facts if p != SAME_AS or s != o}
        instances = {
            shape: kept
            for shape, rows in self.instances.items()
            if (kept := {row: name for row, name in rows.items() if not is_identity(shape, row)})
        }
        return replace(self, facts=facts, instances=instances)

    def minus(self, other: Program) -> dict[Shape, dict[Row, str]]:
        """The instances that `other` lacks."""
        fresh = {}
        for shape, rows in self.instances.items():
            known = other.instances.get(shape, {})
            new = {row: rule for row, rule in rows.items() if row not in known}
            if new:
                fresh[shape] = new
        return fresh


def is_identity(shape: Shape, row: Row) -> bool:
    """Whether an instance derives `c owl:sameAs c` of a constant."""
    s, p, o = (row[slot.number] if isinstance(slot, K) else None for slot in shape.output[:3])
    return p == SAME_AS and s is not None and s == o
