"""Constraints on any two members of a list (eq-diff2, cax-adc, prp-adp ..): the list as a table, not as its pairs.

A list of n members has n² / 2 pairs, and few of them meet in data. So the two MEMBER atoms of such a rule become two
`Listed` elements of its shape, which are joined with the facts like any other: a check costs the members and what it
finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from triplestore.compile.lists import Placed
from triplestore.compile.plan import Before, Condition, Listed, Numbering, OpenElement
from triplestore.compile.schema import Binding, Fact, SchemaFacts
from triplestore.compile.slots import Slots
from triplestore.model.rule import Atom, Filter, MemberOf, Rule, SchemaElement, Term, Var, variables
from triplestore.model.terms import SAME_AS


@dataclass(frozen=True, slots=True)
class Pair:
    """`MEMBER[?l, ?a, ?i], MEMBER[?l, ?b, ?j], FILTER(?i < ?j)` of a rule. head: the list. predicates: whether ?a or ?b
    is the predicate of an atom."""

    head: Var
    members: tuple[MemberOf, MemberOf]
    order: Filter
    predicates: bool

    @staticmethod
    def of(rule: Rule, schema: Sequence[SchemaElement]) -> Pair | None:
        """The pair of a constraint, if that is all that it says of lists' positions. schema: its schema part, whose
        atoms bind the list, and none of the members."""
        members = [e for e in schema if isinstance(e, MemberOf)]
        orders = [e for e in schema if isinstance(e, Filter)]
        if rule.heads or not rule.monotone or len(members) != 2 or len(orders) != 1:
            return None
        (one, two), (order,) = members, orders
        bound = {Var(name) for e in schema if e not in members for name in variables(e)}
        if one.list != two.list or one.list not in bound or not bound.isdisjoint((one.item, two.item)):
            return None
        if {order.left, order.right} != {one.position, two.position} or order.operator not in ("<", ">"):
            return None
        predicates = any(isinstance(e, Atom) and e.p in (one.item, two.item) for e in rule.body)
        return Pair(one.list, (one, two), order, predicates) if isinstance(one.list, Var) else None

    @property
    def elements(self) -> list[SchemaElement]:
        """What the rule says of the two, to be matched in memory."""
        return [*self.members, self.order]

    def under(self, now: Callable[[Term], Term]) -> Pair:
        """The pair with its members as they read after unification."""
        one, two = (replace(member, item=now(member.item)) for member in self.members)
        return replace(self, members=(one, two))

    def rows(self, schema: SchemaFacts, binding: Binding) -> list[Fact] | None:
        """The list's rows of `Program.listed`; None where the pair has to be matched in memory: there is no list, or
        there are several, or owl:sameAs may be the predicate of an atom."""
        head = binding[self.head.name]
        lists = schema.members(head)
        if len(lists) != 1 or (self.predicates and any(item == SAME_AS for _, item in lists[0])):
            return None
        return list(_extremes(head, lists[0]))

    def slotted(self, slots: Slots) -> tuple[list[OpenElement], Callable[[Numbering], Condition]]:
        """The elements and the condition of a shape."""
        elements: list[OpenElement] = []
        for member in self.members:
            assert member.position is not None
            place, head, item = slots.of(member.position), slots.of(member.list), slots.of(member.item)
            elements.append(lambda number, p=place, h=head, i=item: Listed(number(p), number(h), number(i)))  # type: ignore[misc]
        left, right = slots.of(self.order.left), slots.of(self.order.right)
        if self.order.operator == ">":
            left, right = right, left
        return elements, lambda number: Before(number(left), number(right))


def _extremes(head: int, members: Sequence[Placed]) -> Iterator[Fact]:
    """(position, list, member) of a list: of each member the first position, and the last where that is another one.

    Two members, or a member and itself, stand at positions i < j if and only if they do at these.
    """
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for place, item in members:
        first[item] = min(place, first.get(item, place))
        last[item] = max(place, last.get(item, place))
    for item, place in first.items():
        yield from ((found, head, item) for found in dict.fromkeys((place, last[item])))
