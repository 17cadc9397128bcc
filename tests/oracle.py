"""The oracle: the closure of facts under rules by brute force, to compare the library's answers with.

It shares no code with the library but the dataclasses of rules and their parser: facts are sets of token triples
(see `triplestore.terms`), every rule is matched against all facts in every round until nothing is new, and equality is
the congruence that table 4 of OWL 2 Profiles defines, worked out on the expanded facts. Slow, and plain to see.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from decimal import Decimal
from itertools import product

from triplestore.rule import Atom, BodyElement, Filter, ListOf, MemberOf, Rule, Span, SpanEnd, Term, Var

Triple = tuple[str, str, str]
Violation = tuple[str, frozenset[Triple]]
Binding = dict[str, str | int]

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
FIRST, REST, NIL = f"<{RDF}first>", f"<{RDF}rest>", f"<{RDF}nil>"
XSD = "http://www.w3.org/2001/XMLSchema#"
EXACT = (
    "decimal|integer|nonNegativeInteger|nonPositiveInteger|positiveInteger|negativeInteger|long|int|short|byte|"
    "unsignedLong|unsignedInt|unsignedShort|unsignedByte"
)
SAME_AS = "<http://www.w3.org/2002/07/owl#sameAs>"


@dataclass(frozen=True)
class Closure:
    """`triples`: the expanded closure. `violations`: (rule name, the triples that its body matched)."""

    triples: frozenset[Triple]
    violations: frozenset[Violation]

    @property
    def violated(self) -> set[str]:
        """The names of the rules that are violated."""
        return {name for name, _ in self.violations}


def closure(facts: Iterable[Triple], rules: Iterable[Rule], equality: str = "rewrite") -> Closure:
    """The expanded closure of the facts. `equality`: "rewrite" or "axioms" (the same answer) or "off".

    Unless off, owl:sameAs is a congruence over the terms that are not literals, and reflexive for every term that
    occurs: rules may match `x sameAs x`, but it is returned only where x equals something else or where it was
    asserted. An equality of two terms one of which is a literal is neither applied nor returned but a violation,
    named after the rule that derived it, or "eq-literal". A number in an atom of a body matches every exact number of
    its value. Generalised triples (literal subjects, odd predicates) are
    returned: see `rdf_only`.
    """
    rules = list(rules)
    known, violations = congruent(set(facts)) if equality != "off" else (set(facts), set())
    while True:
        virtual = {(term, SAME_AS, term) for triple in known for term in triple} if equality != "off" else set()
        world, derived = World(known | virtual), set(known)
        for rule in rules:
            for heads, used in world.matches(rule):
                if not rule.heads:
                    violations.add((rule.name, used))
                for s, p, o in heads:
                    if equality != "off" and p == SAME_AS and s != o and is_literal(s, o):
                        violations.add((rule.name, used))
                    elif equality == "off" or not (p == SAME_AS and s == o):
                        derived.add((s, p, o))
        if equality != "off":
            derived, unequal = congruent(derived)
            violations |= unequal
        if derived == known:
            return Closure(frozenset(known), frozenset(violations))
        known = derived


def is_literal(*terms: str) -> bool:
    return any(term.startswith('"') for term in terms)


def rdf_only(triples: Iterable[Triple]) -> set[Triple]:
    """The triples that RDF allows: no literal as subject, only IRIs as predicates."""
    return {(s, p, o) for s, p, o in triples if not is_literal(s) and p.startswith("<")}


def congruent(triples: set[Triple]) -> tuple[set[Triple], set[Violation]]:
    """The triples with equals put for equals everywhere, and the equalities that are not: those with a literal."""
    violations: set[Violation] = set()
    while True:
        unequal = {t for t in triples if t[1] == SAME_AS and t[0] != t[2] and is_literal(t[0], t[2])}
        violations |= {("eq-literal", frozenset([triple])) for triple in unequal}
        triples = triples - unequal
        equals: dict[str, set[str]] = defaultdict(set)
        for s, p, o in triples:
            if p == SAME_AS and s != o:
                together = {s, o} | equals[s] | equals[o]
                equals.update(dict.fromkeys(together, together))
        replaced = {new for triple in triples for new in product(*(equals.get(term) or {term} for term in triple))}
        replaced |= {(a, SAME_AS, b) for together in equals.values() for a in together for b in together}
        if replaced == triples:
            return triples, violations
        triples = replaced


class World:
    """The facts of one round, every triple filed under each of its patterns (None: anything), and their rdf lists."""

    def __init__(self, triples: set[Triple]) -> None:
        self.filed: dict[tuple[str | None, ...], list[Triple]] = defaultdict(list)
        for s, p, o in triples:
            for pattern in product((s, None), (p, None), (o, None)):
                self.filed[pattern].append((s, p, o))
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
            body.sort(key=lambda element: isinstance(element, Filter))
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
            terms = (element.list, element.item) + (() if element.position is None else (element.position,))
            for head, members in self.lists:
                for position, member in enumerate(members):
                    if (bound := bind(terms, (head, member, position)[: len(terms)], binding)) is not None:
                        yield from self.solve(rest, bound, used, n)
        else:
            left, right = value(element.left, binding), value(element.right, binding)
            compare = {"=": left == right, "!=": left != right}
            if element.operator in ("<", ">"):
                compare = {"<": left < right, ">": left > right}
            if compare[element.operator]:
                yield from self.solve(rest, binding, used, n)


def spread(element: BodyElement, n: int) -> list[BodyElement]:
    """The element for lists of n members: an atom with spans is n atoms; `?un` is the variable numbered n."""
    terms = {part.name: getattr(element, part.name) for part in fields(element)}
    terms = {name: Var(f"{term.stem}{n}") if isinstance(term, SpanEnd) else term for name, term in terms.items()}
    spans = {name: term for name, term in terms.items() if isinstance(term, Span)}
    if isinstance(element, ListOf) or not spans:
        return [type(element)(**terms)]
    return [
        Atom(**terms | {name: Var(f"{span.stem}{span.first + i}") for name, span in spans.items()}) for i in range(n)
    ]


def exact(term: str) -> Decimal | None:
    """The value of a literal of xsd:decimal or a type derived from it; None of anything else."""
    match = re.fullmatch(rf'"([+-]?(?:\d+\.?\d*|\.\d+))"\^\^<{XSD}(?:{EXACT})>', term)
    return Decimal(match[1]) if match else None


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
