"""explain: a proof of smallest depth of a triple of the closure, or of an inconsistency."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from triplestore.compile.schema import Fact
from triplestore.dictionary import encoding
from triplestore.dictionary.literals import equal_to
from triplestore.engine.sql import count
from triplestore.materialise.same_as import is_clash, known_value
from triplestore.materialise.statements import triples_table
from triplestore.model.errors import EngineError
from triplestore.model.tables import EQUAL_VALUED
from triplestore.model.terms import FIRST_LITERAL, OWL, SAME_AS
from triplestore.proof.build import Builder, Step, ids_of, leaves_of, proof, step
from triplestore.proof.computed import Source
from triplestore.proof.forward import Forward
from triplestore.proof.proof import ASSERTED, Proof
from triplestore.proof.slices import Slice

ANY: Final = 1 << 30
"""More rounds than any proof has."""

Tokens = tuple[str, str, str]


def explain(source: Source, triple: Tokens) -> Proof | None:
    """A proof of smallest depth; None if the triple does not hold."""
    ids = encoding.lookup(source.engine, triple)
    if all(token in ids for token in triple) and _is_asserted(source, *(ids[token] for token in triple)):
        return Proof(triple, ASSERTED, (), 0)
    if source.by_value and triple[2].startswith('"'):
        stored = _stored_form(source, triple[2])
        if stored not in (None, triple[2]):
            inner = explain(source, (triple[0], triple[1], str(stored)))
            return inner and _in_form(inner, triple[2])
    congruent = source.same_as is not None
    if any(token not in ids for token in triple):
        reflexive = congruent and triple[0] == triple[2] and triple[0][0] != '"' and ids.get(triple[1]) == SAME_AS
        return Proof(triple, "eq-ref", (), 0) if reflexive else None
    goal = ids[triple[0]], ids[triple[1]], ids[triple[2]]
    region = Slice(source)
    region.meet(goal)
    fact = region.normal_fact(goal)
    if congruent and fact[1] == SAME_AS:
        if fact[0] != fact[2] or goal[0] >= FIRST_LITERAL:
            return None
    elif not count(source.engine, f"{source.fact} WHERE p = {fact[1]} AND s = {fact[0]} AND o = {fact[2]}"):
        return None
    found = prove(region, goal)
    return written(source, [found])[0]


def prove(region: Slice, goal: Fact) -> Step:
    """The proof of a triple (ids) that holds."""
    s, p, o = goal
    fact = region.normal_fact(goal)
    if region.source.same_as is not None and fact[1] == SAME_AS:
        if s == o and p == SAME_AS:
            return step(goal, "eq-ref", ())
        region.want([fact, *region.classes_of(fact)])
        region.settle()
        forward = deepen(region, [fact], lambda f: f.same(s, o) and f.same(p, SAME_AS) and (s != o or f.occurs(s)))
    else:
        region.want([fact])
        region.settle()
        forward = deepen(region, [fact], lambda f: f.known(goal) is not None)
    return Builder(forward).triple(goal, forward.round)


def explain_violation(source: Source, rule: str, facts: Sequence[int]) -> Proof:
    """A proof of smallest depth of an inconsistency: a row of the table of violations."""
    region = Slice(source)
    triples = [(facts[i], facts[i + 1], facts[i + 2]) for i in range(0, len(facts), 3)]
    region.meet(facts)
    if is_clash(rule, facts) and region.normal(facts[0]) != region.normal(facts[2]):
        pairs = apart(region, facts[0], facts[2])
        return written(source, [step(None, rule, tuple(prove_apart(region, pair) for pair in pairs), 1)])[0]
    if not is_clash(rule, facts):
        region.violation(rule, triples)
    if region.falsum.instances:
        forward = deepen(region, [], lambda f: bool(f.falsum))
        found = Builder(forward).firing(forward.falsum[0])
    else:  # of literals, which no rule of the program reports: what is at fault is the triple
        found = step(None, rule, (prove(region, triples[0]),), 1)
    return written(source, [found])[0]


def apart(region: Slice, left: int, right: int) -> list[Fact]:
    """Equalities of literals that are in no class (`triplestore.materialise.same_as.APART`), each derived by a rule,
    that lead from one to another: one, or several by way of literals whose values are not known."""
    reached_by: dict[int, Fact] = {}
    frontier, others = [left], [right]
    while right not in reached_by:
        ways = [(a, b, fact) for a in frontier for b in others for fact in ((a, SAME_AS, b), (b, SAME_AS, a))]
        region.want(fact for _, _, fact in ways)
        region.settle()
        region.expand([fact for _, _, fact in ways])
        found: dict[int, Fact] = {}
        for _, b, fact in ways:
            if b not in reached_by and b != left and region.entries[fact].instances:
                found.setdefault(b, fact)
        reached_by.update(found)
        if others == [right]:
            others = [right, *_unknown(region)]
        elif not found:
            raise EngineError(
                f"no rule makes literals {left} and {right} equal: the table of violations is out of date"
            )
        else:
            frontier = list(found)
    chain = []
    while right != left:
        chain.append(reached_by[right])
        right = chain[-1][0] if chain[-1][2] == right else chain[-1][2]
    return chain[::-1]


def _unknown(region: Slice) -> list[int]:
    """The literals of the closure whose values are not known."""
    engine = region.source.engine
    occurring = f"SELECT o FROM {region.source.fact} WHERE o >= {FIRST_LITERAL}"
    sql = f"SELECT id FROM term t WHERE id IN ({occurring}) AND NOT {known_value(engine, 't')} ORDER BY id"
    return [number for (number,) in engine.rows(sql)]


def prove_apart(region: Slice, pair: Fact) -> Step:
    """The proof of such an equality."""
    forward = deepen(region, [pair], lambda f: f.known(pair) is not None)
    return Builder(forward).triple(pair, forward.round)


def apart_by(source: Source, left: int, right: int) -> tuple[str, ...]:
    """The rules that derive the equalities of `apart`, sorted."""
    region = Slice(source)
    region.meet([left, right])
    pairs = apart(region, left, right)
    return tuple(sorted({i.body.rule.name for pair in pairs for i in region.entries[pair].instances}))


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


# -- literals by value -------------------------------------------------------------------------------------------------


def _is_asserted(source: Source, s: int, p: int, o: int) -> bool:
    return count(source.engine, f"asserted WHERE p = {p} AND s = {s} AND o = {o}") > 0


def _stored_form(source: Source, token: str) -> str | None:
    """The literal that stands for the value of a literal; None where no literal of the store has it."""
    found = equal_to(source.engine, [token])
    return encoding.decode(source.engine, found.values())[found[token]] if found else None


def _in_form(found: Proof, form: str) -> Proof:
    """The proof of a triple for another literal of the object's value."""
    assert found.tokens is not None
    s, p, o = found.tokens
    equal = Proof((o, f"<{OWL}sameAs>", form), "dt-eq", (), 0)
    return Proof((s, p, form), "eq-rep-o", (equal, found), found.depth)


def written(source: Source, roots: Sequence[Step]) -> list[Proof]:
    """Proofs with tokens for ids, down to what was asserted, in the form in which it was."""
    resting = sorted({fact for root in roots for fact in leaves_of(root)})
    forms = _forms(source, resting) if source.by_value else {}
    tokens = encoding.decode(source.engine, {i for root in roots for i in ids_of(root)} | set(forms.values()))
    leaves = {}
    for (s, p, o), form in forms.items():
        if form != o:
            asserted = Proof((tokens[s], tokens[p], tokens[form]), ASSERTED, (), 0)
            leaves[s, p, o] = _in_form(asserted, tokens[o])
    for s, p, o in resting:
        if s >= FIRST_LITERAL:  # only proofs by value rest on such
            leaves[s, p, o] = Proof((tokens[s], tokens[p], tokens[o]), "dt-type2", (), 0)
    return [proof(root, tokens, leaves) for root in roots]


def _forms(source: Source, resting: Sequence[Fact]) -> dict[Fact, int]:
    """Of the given triples with a literal that proofs rest on, a form of the literal that was asserted."""
    given = [triple for triple in resting if triple[2] >= FIRST_LITERAL]
    if not given:
        return {}
    with source.engine.scratch() as scratch:
        wanted = scratch.load("wanted", triples_table(given))
        found = source.engine.rows(
            f"SELECT w.s, w.p, w.o, min(a.o) AS form FROM {wanted} w JOIN asserted a ON a.s = w.s AND a.p = w.p "
            f"LEFT JOIN {EQUAL_VALUED} v ON v.id = a.o WHERE coalesce(v.value, a.o) = w.o GROUP BY w.s, w.p, w.o"
        )
    return {(s, p, o): form for s, p, o, form in found}
