"""An independent checker of proofs."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace

from tests.support import literal_values, oracle
from tests.support.random_programs import SAME, TYPE, Triple
from triplestore.model.rule import Atom, BodyElement, Rule
from triplestore.proof.proof import ASSERTED, Proof

_TOKENS: dict[Hashable, str] = {}
"""Values, each with the first literal of it that was met."""


def check(
    proof: Proof,
    goal: Triple | None,
    asserted: set[Triple],
    rules: tuple[Rule, ...],
    congruent: bool,
    complete: oracle.World | None = None,
    by_value: bool = False,
) -> None:
    """The proof is one of the goal (None: of an inconsistency): each step puts equals for equals, which costs nothing,
    or is an instance of a rule of that name. complete: the closure, in which NOT finds nothing and aggregates count.
    by_value: literals of one value are equal (dt-eq), and are of the datatypes that have their values (dt-type2)."""
    assert proof.tokens == goal
    if goal is not None and proof.by == "eq-ref":
        assert (congruent, goal[1], goal[0], proof.premises) == (True, SAME, goal[2], ())
        return
    given = {SAME, *(term for triple in asserted for term in triple)} if asserted else set()
    readings = [(_as_it_is, rules, complete)]
    if by_value:  # rules join values, and expressions read literals in the form that a premise has
        valued = complete and oracle.World(set(map(_valued, complete.filed[None, None, None])), None, congruent)
        readings.append((_valued, tuple(map(_valued_rule, rules)), valued))
    for step in proof.steps():
        premises = [p.tokens for p in step.premises]
        if step.by == ASSERTED:
            assert step.tokens in asserted
            assert not premises
            continue
        if step.by in ("dt-eq", "dt-type2"):
            assert by_value
            assert not premises
            check_value(step.by, step.tokens)
            continue
        cost = step.depth - max((p.depth for p in step.premises), default=0)
        assert cost in (0, 1), step
        if cost:
            assert any(_is_instance(step, premises, congruent, *reading) for reading in readings), step
        else:
            assert step.tokens is not None
            assert congruent or step.premises[0].by == "dt-eq"
            check_equality(step.by, step.tokens, [p for p in premises if p is not None], given)


def _is_instance(
    step: Proof,
    premises: list[Triple | None],
    congruent: bool,
    put: Callable[[Triple], Triple],
    rules: tuple[Rule, ...],
    complete: oracle.World | None,
) -> bool:
    """Whether a rule of the step's name derives it from its premises."""
    world = oracle.World({put(p) for p in premises if p is not None}, complete, congruent)
    head = None if step.tokens is None else put(step.tokens)
    derived = (heads for rule in rules if rule.name == step.by for heads, _ in world.matches(rule))
    return any(head in (list(map(put, heads)) or [None]) for heads in derived)


def check_value(by: str, triple: Triple | None) -> None:
    """What is said of the value of a literal is so."""
    assert triple is not None
    s, p, o = triple
    value = literal_values.value(s)
    assert value is not literal_values.ILL
    if by == "dt-eq":
        assert (p, literal_values.value(o)) == (SAME, value)
    else:
        assert p == TYPE
        assert literal_values.within(value, o.strip("<>"))


def _as_it_is(triple: Triple) -> Triple:
    return triple


def _valued(triple: Triple) -> Triple:
    s, p, o = map(_value, triple)
    return s, p, o


def _value(token: str) -> str:
    """One token for all literals of a value."""
    if not token.startswith('"') or (value := literal_values.value(token)) is literal_values.ILL:
        return token
    return _TOKENS.setdefault(value, token)


def _valued_rule(rule: Rule) -> Rule:
    def valued(element: BodyElement) -> BodyElement:
        if not isinstance(element, Atom):
            return element
        return Atom(*(_value(term) if isinstance(term, str) else term for term in element.terms))

    heads = tuple(atom for atom in map(valued, rule.heads) if isinstance(atom, Atom))
    return replace(rule, heads=heads, body=tuple(map(valued, rule.body)))


def check_equality(by: str, triple: Triple, premises: list[Triple], given: set[str]) -> None:
    """The triple is had from the premises by putting equals for equals. given: the terms of what is asserted."""
    s, p, o = triple
    if by == "eq-ref":
        assert (s, p) == (o, SAME)
        assert s in premises[0] if premises else s in given
    elif by == "eq-sym":
        assert premises == [(o, SAME, s)]
        assert p == SAME
    elif by == "eq-trans":
        assert p == SAME
        assert len(premises) > 1
        assert [(a, q) for a, q, _ in premises] == [(x, SAME) for x in (s, *(b for *_, b in premises[:-1]))]
        assert premises[-1][2] == o
    else:
        assert by in ("eq-rep-s", "eq-rep-p", "eq-rep-o"), by
        place = "spo".index(by[-1])
        (a, q, b), before = premises
        assert q == SAME
        assert before[place] == a
        assert triple == (*before[:place], b, *before[place + 1 :])
