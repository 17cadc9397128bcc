"""The oracle's matching: the facts of one round, and every way in which the body of a rule matches them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import fields
from decimal import Decimal
from itertools import product

from tests.support import literal_values
from tests.support.oracle_expressions import ExpressionError, aggregate, evaluate, is_true, same_value
from triplestore.model.rule import (
    Aggregate,
    Atom,
    Bind,
    BodyElement,
    Filter,
    Holds,
    ListOf,
    MemberOf,
    Not,
    Rule,
    Span,
    SpanEnd,
    Term,
    Var,
)
from triplestore.model.terms import BUILTIN_IDS

Triple = tuple[str, str, str]
Binding = dict[str, str | int]

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
FIRST, REST, NIL = f"<{RDF}first>", f"<{RDF}rest>", f"<{RDF}nil>"
XSD = "http://www.w3.org/2001/XMLSchema#"
EXACT = (
    "decimal|integer|nonNegativeInteger|nonPositiveInteger|positiveInteger|negativeInteger|long|int|short|byte|"
    "unsignedLong|unsignedInt|unsignedShort|unsignedByte"
)
SAME_AS = "<http://www.w3.org/2002/07/owl#sameAs>"


class World:
    """The facts of one round, every triple filed under each of its patterns (None: anything), and their rdf lists.

    settled: what NOT and AGGREGATE read. alike: whether owl:sameAs makes terms one. typed: types of literals, which
    only atoms that ask for one by name see.
    """

    def __init__(
        self,
        triples: set[Triple],
        settled: World | None = None,
        alike: bool = True,
        typed: frozenset[Triple] = frozenset(),
    ) -> None:
        self.settled, self.alike = settled, alike
        self.filed: dict[tuple[str | None, ...], list[Triple]] = defaultdict(list)
        for s, p, o in triples:
            for pattern in product((s, None), (p, None), (o, None)):
                self.filed[pattern].append((s, p, o))
        for s, p, o in typed - triples:
            for subject in (s, None):
                self.filed[subject, p, o].append((s, p, o))
        self.numbers: dict[Decimal, set[str]] = defaultdict(set)
        for term in {term for triple in triples for term in triple}:
            if (number := exact(term)) is not None:
                self.numbers[number].add(term)
        heads = {s for s, _, _ in self.filed.get((None, FIRST, None), [])}
        self.lists = {(head, members) for head in heads for members in self.members(head, frozenset([head]))}

    def members(self, node: str, seen: frozenset[str]) -> Iterator[tuple[str, ...]]:
        """The members along every path of rdf:rest from a node to rdf:nil that visits no node (nor its equal) twice."""
        for _, _, member in self.filed.get((node, FIRST, None), []):
            for _, _, rest in self.filed.get((node, REST, None), []):
                if rest == NIL:
                    yield (member,)
                elif not any(rest == old or (rest, SAME_AS, old) in self.filed for old in seen):
                    yield from ((member, *more) for more in self.members(rest, seen | {rest}))

    def matches(self, rule: Rule) -> Iterator[tuple[list[Triple], frozenset[Triple]]]:
        """For each way to match the rule's body: its heads, and the triples that its atoms matched."""
        lengths = {len(members) for _, members in self.lists}
        for n in lengths if any(isinstance(element, ListOf) for element in rule.body) else [0]:
            heads = [plain for head in rule.heads for plain in spread(head, n)]
            body = [plain for element in rule.body for plain in spread(element, n)]
            body.sort(key=turn)
            for binding, used in (
                match for one in self.spellings(body) for match in self.solve(one, {}, frozenset(), n)
            ):
                yield [tuple(str(value(term, binding)) for term in head.terms) for head in heads], used

    def spellings(self, body: list[BodyElement]) -> Iterator[list[BodyElement]]:
        """The body with each number in its atoms spelled in every way that the facts spell it: 1, "01"^^xsd:byte .."""

        def ways(element: BodyElement) -> list[BodyElement]:
            if not isinstance(element, Atom):
                return [element]
            values = [exact(term) if isinstance(term, str) else None for term in element.terms]
            options = [[t] if v is None else self.numbers[v] for t, v in zip(element.terms, values, strict=True)]
            return [Atom(*terms) for terms in product(*options)]

        return map(list, product(*(ways(element) for element in body)))

    def solve(
        self, body: list[BodyElement], binding: Binding, used: frozenset[Triple], n: int
    ) -> Iterator[tuple[Binding, frozenset[Triple]]]:
        if not body:
            yield binding, used
            return
        element, rest = body[0], body[1:]
        if isinstance(element, Atom):
            pattern = tuple(value(term, binding) for term in element.terms)
            for triple in self.filed.get(pattern, []):
                if (bound := bind(element.terms, triple, binding)) is not None:
                    yield from self.solve(rest, bound, used | {triple}, n)
        elif isinstance(element, ListOf):
            names = [Var(f"{element.items.stem}{element.items.first + i}") for i in range(n)]
            for head, members in self.lists:
                if len(members) == n and (bound := bind((element.list, *names), (head, *members), binding)) is not None:
                    yield from self.solve(rest, bound, used, n)
        elif isinstance(element, MemberOf):
            terms = element.list, element.item
            if element.position is not None:  # those of one list
                terms += element.position, Var(f"the list of {element.list}")
            for head, members in self.lists:
                for position, member in enumerate(members):
                    values = (head, member, position, members)[: len(terms)]
                    if (bound := bind(terms, values, binding)) is not None:
                        yield from self.solve(rest, bound, used, n)
        elif isinstance(element, Aggregate):
            assert self.settled is not None
            terms = (*element.keys, *(result.variable for result in element.results))
            for row in self.settled.groups(element, n):
                if (bound := bind(terms, row, binding)) is not None:
                    yield from self.solve(rest, bound, used, n)
        elif isinstance(element, Not):
            assert self.settled is not None
            if not any(True for _ in self.settled.absent(element.body, binding, n)):
                yield from self.solve(rest, binding, used, n)
        elif isinstance(element, Bind):
            try:
                made = evaluate(element.expression, binding)
            except ExpressionError:
                return
            name = element.variable.name
            binding = {name: made} | binding
            if binding[name] == made or same_value(str(binding[name]), made):
                yield from self.solve(rest, binding, used, n)
        elif isinstance(element, Holds):
            if is_true(element.expression, binding):
                yield from self.solve(rest, binding, used, n)
        else:
            left, right = value(element.left, binding), value(element.right, binding)
            compare = {"=": left == right, "!=": left != right}
            if element.operator in ("<", ">"):
                compare = {"<": left < right, ">": left > right}
            if compare[element.operator]:
                yield from self.solve(rest, binding, used, n)

    def absent(self, body: Iterable[BodyElement], binding: Binding, n: int) -> Iterator[Binding]:
        """The matches of a NOT or AGGREGATE: a variable predicate is any but an owl:sameAs that makes terms one, by
        whatever name."""
        ordered = sorted(body, key=lambda element: not isinstance(element, Atom))
        variables = {e.p.name for e in ordered if isinstance(e, Atom) and isinstance(e.p, Var)}
        for found, _ in self.solve([p for e in ordered for p in spread(e, n)], dict(binding), frozenset(), n):
            if not (self.alike and self.names(SAME_AS) & {str(found[name]) for name in variables}):
                yield found

    def groups(self, element: Aggregate, n: int) -> Iterator[tuple[str, ...]]:
        """Keys and results of each group, for every name that equal terms have."""
        settled = World(set(), self, self.alike)  # its NOTs read the same facts
        settled.filed, settled.numbers, settled.lists = self.filed, self.numbers, self.lists
        names = {t.name for e in element.body if isinstance(e, Atom) for t in e.terms if isinstance(t, Var)}
        matches = {
            tuple(sorted((name, self.first(str(found[name]))) for name in names))
            for found in settled.absent(element.body, {}, n)
        }
        groups: dict[tuple[str, ...], list[Binding]] = defaultdict(list)
        for match in matches:
            binding = dict(match)
            for part in element.body:
                if isinstance(part, Bind):
                    binding[part.variable.name] = evaluate(part.expression, binding)
            groups[tuple(binding[key.name] for key in element.keys)].append(binding)
        for key, members in groups.items():
            try:
                results = [aggregate(r.function, r.argument, r.distinct, members) for r in element.results]
            except ExpressionError:
                continue
            yield from product(*(self.names(term) for term in (*key, *results)))

    def names(self, term: str) -> set[str]:
        """All terms that equal one."""
        return {term} | ({o for _, _, o in self.filed.get((term, SAME_AS, None), [])} if self.alike else set())

    def first(self, term: str) -> str:
        """The one of them that stands for all: built-in, IRI, blank node, by the text."""
        return min(self.names(term), key=lambda t: (t not in BUILTIN_IDS, '<_"'.index(t[0]), t))


def turn(element: BodyElement) -> int:
    """When an element is solved: what binds variables before what reads them."""
    match element:
        case Aggregate():
            return 1
        case Bind():
            return 2
        case Filter() | Holds() | Not():
            return 3
    return 0


def spread(element: BodyElement, n: int) -> list[BodyElement]:
    """The element for lists of n members: an atom with spans is n atoms; `?un` is the variable numbered n."""
    if isinstance(element, Not | Aggregate | Bind | Holds):
        return [element]
    terms = {part.name: getattr(element, part.name) for part in fields(element)}
    terms = {name: Var(f"{term.stem}{n}") if isinstance(term, SpanEnd) else term for name, term in terms.items()}
    spans = {name: term for name, term in terms.items() if isinstance(term, Span)}
    if isinstance(element, ListOf) or not spans:
        return [type(element)(**terms)]
    return [
        Atom(**terms | {name: Var(f"{span.stem}{span.first + i}") for name, span in spans.items()}) for i in range(n)
    ]


def exact(term: str) -> Decimal | None:
    """The value of a literal of xsd:decimal or a type derived from it; None of anything else, and of the ill-typed."""
    match = re.fullmatch(rf'"([+-]?(?:\d+\.?\d*|\.\d+))"\^\^<{XSD}(?:{EXACT})>', term)
    return Decimal(match[1]) if match and literal_values.value(term) is not literal_values.ILL else None


def value(term: Term, binding: Binding) -> str | int | None:
    """A constant itself, a variable's value, or None where it has none yet."""
    return term if isinstance(term, str) else binding.get(term.name)


def bind(terms: Iterable[Term], values: Iterable[str | int], binding: Binding) -> Binding | None:
    """The binding with the variables among the terms bound to the values, or None where they clash."""
    bound = dict(binding)
    for term, given in zip(terms, values, strict=True):
        if isinstance(term, str):
            if term != given:
                return None
        elif bound.setdefault(term.name, given) != given:
            return None
    return bound
