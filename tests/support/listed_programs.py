"""Random programs with constraints on any two members of a list, for `tests.support.tangles.check`.

Lists are mostly well-formed; some have a member twice, several readings or no end, and updates take them apart. Members
are equated by rules and facts, and some are predicates.
"""

from __future__ import annotations

from random import Random
from typing import Final

from tests.support.random_programs import SAME, TYPE, Triple, ex
from tests.support.random_tangles import PREDICATES, TERMS, Tangle, tangle
from triplestore.model.rule import Atom, Filter, MemberOf, Rule, Var
from triplestore.model.terms import OWL, RDF

MEMBERS: Final = f"<{OWL}members>"
FIRST, REST, NIL = (f"<{RDF}{name}>" for name in ("first", "rest", "nil"))
_A, _B, _I, _J, _L, _U, _V, _X = map(Var, "abijluvx")

DATA: Final = (
    (Atom(_A, SAME, _B),),
    (Atom(_U, TYPE, _A), Atom(_U, TYPE, _B)),
    (Atom(_U, _A, _V), Atom(_U, _B, _V)),
    (Atom(_A, PREDICATES[0], _B),),
    (Atom(_A, PREDICATES[0], _U), Atom(_B, PREDICATES[1], _U)),
    (Atom(_U, PREDICATES[0], _A), Atom(_U, _V, _B)),
    (Atom(_A, SAME, _U), Atom(_B, PREDICATES[0], _U)),
)
"""What a constraint asks of two members."""


def listed(seed: int) -> Tangle:
    """A tangle with lists, and constraints on them."""
    rng, links = Random(f"listed {seed}"), Random(f"links {seed}")
    plain = next(one for number in range(seed * 10, seed * 10 + 10) if not (one := tangle(number)).negative)
    now = set(plain.start) | _list(rng, "n") | (_list(rng, "m") if rng.random() < 0.3 else set())
    updates, state = [], set(now)
    for number, (add, delete) in enumerate(plain.updates):
        more = _list(rng, f"u{number}") if rng.random() < 0.3 else set()
        if links.random() < 0.4:  # a class in which two members are may grow
            more.add((links.choice(TERMS), SAME, links.choice(TERMS)))
        less = set(rng.sample(sorted(state), min(len(state), rng.choice([0, 0, 1, 2]))))
        come = (set(add) | more) - state
        go = ((set(delete) | less) & state) - come
        updates.append((frozenset(come), frozenset(go)))
        state = (state - go) | come
    rules = tuple(_constraint(rng, number) for number in range(rng.choice([1, 1, 2])))
    return Tangle((*plain.rules[: rng.randint(0, 2)], *rules), frozenset(now), tuple(updates))


def _constraint(rng: Random, number: int) -> Rule:
    link = MEMBERS if rng.random() < 0.8 else PREDICATES[1]
    order = Filter(*rng.choice([("<", _I, _J), (">", _I, _J), ("<", _J, _I), ("!=", _I, _J), ("=", _I, _J)]))
    pair = MemberOf(_L, _A, _I), MemberOf(_L, _B, _J)
    return Rule(f"any-two-{number}", (), (Atom(_X, link, _L), *pair, order, *rng.choice(DATA)))


def _list(rng: Random, name: str) -> set[Triple]:
    """The triples of a list, now and then with one too many or too few."""
    nodes = [ex(f"{name}{i}") for i in range(rng.randint(2, 4))]
    found = {(node, REST, rest) for node, rest in zip(nodes, [*nodes[1:], NIL], strict=True)}
    found |= {(node, FIRST, _member(rng)) for node in nodes}
    if rng.random() < 0.2:
        found.add((rng.choice(nodes), REST, rng.choice([*nodes, NIL])))
    if rng.random() < 0.3:  # a second way to the end
        side = [ex(f"{name}side{i}") for i in range(rng.randint(1, 3))]
        found |= {(node, REST, rest) for node, rest in zip([rng.choice(nodes), *side], [*side, NIL], strict=True)}
        found |= {(node, FIRST, _member(rng)) for node in side}
    if rng.random() < 0.2:
        found.add((rng.choice(nodes), FIRST, _member(rng)))
    if rng.random() < 0.1:
        found.remove(rng.choice(sorted(found)))
    return {*found, (rng.choice(TERMS), rng.choice([MEMBERS, MEMBERS, PREDICATES[1]]), nodes[0])}


def _member(rng: Random) -> str:
    kind = rng.random()
    return rng.choice(TERMS) if kind < 0.75 else rng.choice(PREDICATES) if kind < 0.97 else SAME
