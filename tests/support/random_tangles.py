"""Random tangles: programs over few terms, in which equality, recursion and the rules' own constants meet.

Rules have constants in heads and bodies, some heads have nothing else; owl:sameAs is in recursive heads, in bodies, and
now and then a subject or an object; variables stand for predicates; some programs have NOT, of equalities and of
variable predicates too. A few updates follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from tests.support.random_programs import SAME, TYPE, Triple, ex
from triplake.rulesets.render import render
from triplestore.model.rule import Atom, BodyElement, Filter, Not, Rule, Term, Var
from triplestore.model.terms import OWL, XSD

TERMS: Final = tuple(ex(f"c{i}") for i in range(6))
PREDICATES: Final = (ex("p0"), ex("p1"))
EQUIVALENT: Final = f"<{OWL}equivalentClass>"
LITERALS: Final = ('"v"', '"w"@en', f'"1"^^<{XSD}integer>', f'"01"^^<{XSD}integer>', '"u"^^<http://e/own>')
VARIABLES: Final = tuple(Var(name) for name in "xyz")


@dataclass(frozen=True)
class Tangle:
    """Rules, asserted triples, and updates of these: what comes, what goes."""

    rules: tuple[Rule, ...]
    start: frozenset[Triple]
    updates: tuple[tuple[frozenset[Triple], frozenset[Triple]], ...]

    def __str__(self) -> str:
        lines = [render(rule) for rule in self.rules]
        lines += [f"  {' '.join(t)} ." for t in sorted(self.start)]
        for add, delete in self.updates:
            lines += ["update", *(f"+ {' '.join(t)} ." for t in sorted(add))]
            lines += [f"- {' '.join(t)} ." for t in sorted(delete)]
        return "\n".join(lines)

    @property
    def negative(self) -> bool:
        """Whether a rule has a NOT."""
        return any(isinstance(element, Not) for rule in self.rules for element in rule.body)


def tangle(seed: int, literals: bool = False) -> Tangle:
    """The tangle of a seed. literals: objects are literals now and then, of equalities too, in facts and in rules."""
    if literals:
        return _with_literals(tangle(seed), Random(f"literals {seed}"))
    rng = Random(f"tangle {seed}")
    terms, odd = TERMS[: rng.randint(3, 6)], rng.random() < 0.2
    spoken = TERMS[: len(terms) + (rng.random() < 0.1)]  # a term that only the rules have, now and then
    negated = 0.5 if rng.random() < 0.15 else 0.0
    rules = tuple(_rule(rng, spoken, number, odd, negated) for number in range(rng.randint(2, 5)))
    start = frozenset(_fact(rng, terms, odd) for _ in range(rng.randint(3, 9)))
    now, updates = set(start), []
    for _ in range(rng.randint(1, 3)):
        add = {_fact(rng, terms, odd) for _ in range(rng.choice([0, 0, 1, 1, 2]))}
        delete = set(rng.sample(sorted(now), min(len(now), rng.choice([0, 1, 1, 1, 2, 3]))))
        add, delete = add - now, delete - add
        updates.append((frozenset(add), frozenset(delete)))
        now = (now - delete) | add
    return Tangle(_with_absent(rules, Random(f"absent {seed}")), start, tuple(updates))


def fans(seed: int) -> Tangle:
    """A tangle whose joins make many rows: hubs that many terms are linked with, chains through them, members that
    share values of properties and keys, and atoms that only a FILTER ties to each other."""
    rng = Random(f"fans {seed}")
    members, hubs = [ex(f"m{i}") for i in range(rng.randint(4, 9))], [ex(f"h{i}") for i in range(rng.randint(1, 3))]
    predicates = [ex(f"p{i}") for i in range(3)]

    def fact() -> Triple:
        ends = rng.choice(members), rng.choice(hubs)
        s, o = rng.choice([ends, ends, ends[::-1], (rng.choice(members), rng.choice(members))])
        return (s, SAME, o) if rng.random() < 0.04 else (s, rng.choice(predicates), o)

    rules = tuple(_wide_rule(rng, predicates, hubs, number) for number in range(rng.randint(1, 3)))
    now = {fact() for _ in range(rng.randint(8, 24))}
    start, updates = frozenset(now), []
    for _ in range(rng.randint(1, 3)):
        add = {fact() for _ in range(rng.choice([0, 0, 1, 5]))} - now
        delete = set(rng.sample(sorted(now), min(len(now), rng.choice([0, 1, 1, 3, 10]))))
        updates.append((frozenset(add), frozenset(delete)))
        now = (now - delete) | add
    return Tangle(rules, start, tuple(updates))


def _wide_rule(rng: Random, predicates: Sequence[str], hubs: Sequence[str], number: int) -> Rule:
    x, y, z, w = map(Var, "xyzw")
    p, q, r = (rng.choice(predicates) for _ in range(3))
    shared: list[BodyElement] = [Atom(x, p, y), Atom(z, p, y)]
    bodies: list[tuple[list[BodyElement], tuple[Var, Var]]] = [
        ([Atom(x, p, y), Atom(y, q, z), Atom(z, r, w)], (x, w)),
        ([Atom(x, p, y), Atom(y, q, z), Atom(x, r, z)], (x, z)),
        (shared, (x, z)),
        ([*shared, Atom(x, q, w), Atom(z, q, w)], (x, z)),
        ([*shared, Atom(x, q, rng.choice(hubs)), Atom(z, q, rng.choice(hubs))], (x, z)),
        ([Atom(x, p, y), Atom(z, q, w), Filter("=", y, w)], (x, z)),
        ([Atom(x, p, y), Atom(y, q, w), Atom(z, r, w), Filter("=", x, z)], (y, z)),
        ([Atom(x, p, y), Atom(z, q, w), Filter("!=", y, w)], (x, z)),
        ([*shared, Filter("!=", x, z)], (x, z)),
    ]
    body, ends = rng.choice(bodies)
    head = rng.choice([SAME, SAME, ex("p9"), *predicates])
    return Rule(f"w{number}", (Atom(ends[0], head, ends[1]),), tuple(rng.sample(body, len(body))))


def _with_absent(rules: Iterable[Rule], rng: Random) -> tuple[Rule, ...]:
    """The rules with equalities of a constant in some NOTs: it may occur nowhere, or come or vanish by an update."""

    def element(plain: BodyElement) -> BodyElement:
        if not isinstance(plain, Not) or rng.random() >= 0.3:
            return plain
        constant = rng.choice([*TERMS, ex("c9")])
        ends = rng.choice([(constant, Var("w")), (Var("w"), constant), (constant, constant)])
        return Not((Atom(ends[0], SAME, ends[1]), *rng.choice([(), plain.body[:1]])))

    return tuple(replace(rule, body=tuple(map(element, rule.body))) for rule in rules)


def _with_literals(one: Tangle, rng: Random) -> Tangle:
    """The tangle with literals in place of some objects, the same ones wherever a triple is."""
    kept: dict[Triple, Triple] = {}

    def fact(triple: Triple) -> Triple:
        return kept.setdefault(triple, (*triple[:2], rng.choice(LITERALS)) if rng.random() < 0.2 else triple)

    def atom(plain: BodyElement) -> BodyElement:
        if not isinstance(plain, Atom) or isinstance(plain.o, Var) or rng.random() >= 0.3:
            return plain
        return Atom(plain.s, plain.p, rng.choice(LITERALS))

    def head(plain: Atom) -> Atom:
        one = Atom(*plain.terms[:2], rng.choice(LITERALS)) if atom(plain) is not plain else plain
        equal = plain.p == SAME and not isinstance(plain.s, Var) and rng.random() < 0.5
        return Atom(rng.choice(LITERALS), one.p, one.o) if equal else one

    rules = tuple(replace(r, heads=tuple(map(head, r.heads)), body=tuple(map(atom, r.body))) for r in one.rules)
    now = {fact(t) for t in sorted(one.start)}
    start, updates = frozenset(now), []
    for add, delete in one.updates:
        come, go = ({fact(t) for t in sorted(some)} for some in (add, delete))
        come, go = come - now, (go & now) - come
        updates.append((frozenset(come), frozenset(go)))
        now = (now - go) | come
    return Tangle(rules, start, tuple(updates))


def _fact(rng: Random, terms: tuple[str, ...], odd: bool) -> Triple:
    kind = rng.random()
    if kind < 0.1:
        return rng.choice(terms), SAME, rng.choice(terms)
    if kind < 0.15:
        return rng.choice(terms), rng.choice([TYPE, EQUIVALENT]), rng.choice(terms)
    s, p, o = rng.choice(terms), rng.choice(PREDICATES), rng.choice(terms)
    if odd and rng.random() < 0.15:
        special = rng.choice([SAME, *PREDICATES])
        return rng.choice([(special, p, o), (s, p, special), (rng.choice(PREDICATES), SAME, special)])
    return s, p, o


def _rule(rng: Random, terms: tuple[str, ...], number: int, odd: bool, negated: float) -> Rule:
    """A rule; the variables of its head are in its body. negated: how likely it has a NOT."""

    def end(variables: Iterable[Var], constants: float) -> Term:
        some = list(variables)
        if some and rng.random() >= constants:
            return rng.choice(some)
        return rng.choice([SAME, *PREDICATES]) if odd and rng.random() < 0.08 else rng.choice(terms)

    def predicate(variables: Iterable[Var], same: float, free: float) -> Term:
        kind, some = rng.random(), list(variables)
        if kind < same:
            return SAME
        if kind < same + free and some:
            return rng.choice(some)
        return rng.choice([TYPE, EQUIVALENT]) if kind > 0.93 else rng.choice(PREDICATES)

    def atom(variables: Sequence[Var], free: float) -> Atom:
        return Atom(end(variables, 0.25), predicate(variables, 0.15, free), end(variables, 0.25))

    body: list[BodyElement] = [atom(VARIABLES, 0.05 if odd else 0.02) for _ in range(rng.choice([1, 1, 2, 2, 3]))]
    bound = list(dict.fromkeys(t for a in body if isinstance(a, Atom) for t in a.terms if isinstance(t, Var)))
    if rng.random() < negated:
        body.append(Not(tuple(atom([*bound, Var("w")], 0.3) for _ in range(rng.choice([1, 1, 2])))))
    ground = 1.0 if rng.random() < 0.3 else 0.3
    head = Atom(end(bound, ground), predicate(bound, 0.4, 0.04 if odd else 0.0), end(bound, ground))
    return Rule(f"r{number}", (head,), tuple(body))
