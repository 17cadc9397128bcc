"""explain: a proof of smallest depth of a triple of the closure, or of an inconsistency."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from triplestore import dictionary
from triplestore.compile.schema import Fact
from triplestore.engine.queries import count
from triplestore.errors import EngineError
from triplestore.proof.build import Builder, Step, ids_of, proof, step
from triplestore.proof.forward import Forward
from triplestore.proof.proof import ASSERTED, Proof
from triplestore.proof.slices import Slice, Source
from triplestore.terms import FIRST_LITERAL, SAME_AS

ANY: Final = 1 << 30
"""More rounds than any proof has."""

Tokens = tuple[str, str, str]


def explain(source: Source, triple: Tokens) -> Proof | None:
    """A proof of smallest depth; None if the triple does not hold."""
    ids = dictionary.lookup(source.engine, triple)
    congruent = source.same_as is not None
    if any(token not in ids for token in triple):
        reflexive = congruent and triple[0] == triple[2] and triple[0][0] != '"' and ids.get(triple[1]) == SAME_AS
        return Proof(triple, "eq-ref", (), 0) if reflexive else None
    goal = ids[triple[0]], ids[triple[1]], ids[triple[2]]
    s, p, o = goal
    if count(source.engine, f"asserted WHERE p = {p} AND s = {s} AND o = {o}"):
        return Proof(triple, ASSERTED, (), 0)
    region = Slice(source)
    region.meet(goal)
    fact = region.normal_fact(goal)
    if congruent and fact[1] == SAME_AS:
        if fact[0] != fact[2] or s >= FIRST_LITERAL:
            return None
    elif not count(source.engine, f"{source.fact} WHERE p = {fact[1]} AND s = {fact[0]} AND o = {fact[2]}"):
        return None
    found = prove(region, goal)
    return proof(found, dictionary.decode(source.engine, ids_of(found)))


def prove(region: Slice, goal: Fact) -> Step:
    """The proof of a triple (ids) that holds."""
    s, p, o = goal
    fact = region.normal_fact(goal)
    if region.source.same_as is not None and fact[1] == SAME_AS:
        if s == o and p == SAME_AS:
            return step(goal, "eq-ref", ())
        region.want([fact, *region.classes_of(fact)])
        region.settle()
        forward = deepen(region, [fact], lambda f: f.same(s, o) and f.same(p, SAME_AS))
    else:
        region.want([fact])
        region.settle()
        forward = deepen(region, [fact], lambda f: f.known(goal) is not None)
    return Builder(forward).triple(goal, forward.round)


def explain_violation(source: Source, rule: str, facts: Sequence[int]) -> Proof:
    """A proof of smallest depth of an inconsistency: a row of the table of violations."""
    region = Slice(source)
    triples = [(facts[i], facts[i + 1], facts[i + 2]) for i in range(0, len(facts), 3)]
    region.violation(rule, triples)
    if region.falsum.instances:
        forward = deepen(region, [], lambda f: bool(f.falsum))
        found = Builder(forward).firing(forward.falsum[0])
    else:  # an equality with a literal, which no rule of the program reports: what is at fault is the triple
        goal = triples[0]
        region.want([goal])
        region.settle()
        forward = deepen(region, [goal], lambda f: f.known(goal) is not None)
        found = step(None, rule, (Builder(forward).triple(goal, forward.round),), 1)
    return proof(found, dictionary.decode(source.engine, ids_of(found)))


def deepen(region: Slice, goals: Sequence[Fact], known: Callable[[Forward], bool]) -> Forward:
    """Iterative deepening: the evaluation that knows the goal, in the smallest number of rounds."""
    forward = Forward(region)
    forward.run(0, lambda: known(forward))
    depth = 0
    while not known(forward):
        depth += 1
        while fresh := [f for f in open_facts(region, forward, goals, depth) if not region.entries[f].expanded]:
            region.expand(fresh)
        forward = evaluated(region, depth, known)
        if known(forward):
            break
        sampled = [f for f in open_facts(region, forward, goals, depth) if region.entries[f].sampled]
        if sampled:
            region.widen(sampled)
            depth -= 1
        elif not any(not region.entries[f].expanded for f in open_facts(region, forward, goals, ANY)):
            forward = evaluated(region, None, known)
            if not known(forward) and not region.compute(open_facts(region, forward, goals, ANY)):
                raise EngineError("the closure holds a fact that its rules do not derive")
    return forward


def evaluated(region: Slice, rounds: int | None, known: Callable[[Forward], bool]) -> Forward:
    forward = Forward(region)
    forward.run(rounds, lambda: known(forward))
    return forward


def open_facts(region: Slice, forward: Forward, goals: Sequence[Fact], depth: int) -> list[Fact]:
    """The facts that a proof within `depth` may use, that are not known as early as that proof would need them, and
    that one rule application at least is left for."""
    queue: deque[tuple[Fact, int]] = deque((goal, 0) for goal in goals)
    queue.extend((premise, 1) for instance in region.falsum.instances for premise in instance.premises)
    seen: set[Fact] = set()
    found = []
    while queue:
        fact, distance = queue.popleft()
        left = depth - distance
        settled = forward.settled(fact)
        if fact in seen or left < 1 or (settled is not None and settled <= left):
            continue
        seen.add(fact)
        found.append(fact)
        queue.extendleft((equality, distance) for equality in region.classes_of(fact))
        queue.extendleft((mention, distance) for mention in region.entries[fact].mentions)
        queue.extend((p, distance + 1) for i in region.entries[fact].instances for p in i.premises)
    return found
