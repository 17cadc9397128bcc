"""Random programs whose rules compare terms, for `tests.support.tangles.check`: tangles with filters, two of one
variable too, of what classes and properties are said to be, with heads more or fewer, and rules without a body."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Final

from tests.support.random_programs import Triple
from tests.support.random_tangles import EQUIVALENT, TERMS, Tangle, tangle
from triplake.rulesets.safety import normal
from triplestore.model.rule import Atom, BodyElement, Filter, Rule, Var
from triplestore.model.terms import RDFS

AXIOMS: Final = (EQUIVALENT, f"<{RDFS}subClassOf>")


def compared(seed: int) -> Tangle:
    """A tangle with comparisons."""
    one, rng = tangle(seed), Random(f"compared {seed}")
    rules = tuple(normal(_rule(rng, rule)) for rule in one.rules)
    start = set(one.start) | {_axiom(rng) for _ in range(rng.choice([0, 1, 2]))}
    now, updates = set(start), []
    for add, delete in one.updates:
        axioms = sorted(triple for triple in now if triple[1] in AXIOMS)
        come = (set(add) | ({_axiom(rng)} if rng.random() < 0.3 else set())) - now
        go = (set(delete) | ({rng.choice(axioms)} if axioms and rng.random() < 0.3 else set())) & now
        updates.append((frozenset(come), frozenset(go)))
        now = (now - go) | come
    return Tangle(rules, frozenset(start), tuple(updates))


def _axiom(rng: Random) -> Triple:
    return rng.choice(TERMS), rng.choice(AXIOMS), rng.choice(TERMS)


def _rule(rng: Random, rule: Rule) -> Rule:
    body: list[BodyElement] = list(rule.body)
    place = rng.choice([n for n, element in enumerate(body) if isinstance(element, Atom)])
    if isinstance(found := body[place], Atom) and rng.random() < 0.3:
        body[place] = replace(found, p=rng.choice(AXIOMS))
    bound = list(dict.fromkeys(t for a in body if isinstance(a, Atom) for t in a.terms if isinstance(t, Var)))
    (head,) = rule.heads
    if not bound or any(isinstance(t, Var) and t not in bound for t in head.terms):
        return rule
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2, 3])):
        other = rng.choice(bound) if rng.random() < 0.6 else rng.choice(TERMS)
        body.append(Filter(rng.choice(["!=", "!=", "!=", "="]), rng.choice(bound), other))
    kind = rng.random()
    if kind < 0.06:
        return replace(rule, heads=(Atom(rng.choice(TERMS), rng.choice(AXIOMS), rng.choice(TERMS)),), body=())
    if kind < 0.2:
        return replace(rule, heads=(head, Atom(rng.choice(bound), head.p, rng.choice(TERMS))), body=tuple(body))
    return replace(rule, heads=() if kind < 0.4 else (head,), body=tuple(body))
