"""An independent checker of proofs."""

from __future__ import annotations

from tests.support import oracle
from tests.support.random_programs import SAME, Triple
from triplestore.model.rule import Rule
from triplestore.proof.proof import ASSERTED, Proof


def check(
    proof: Proof,
    goal: Triple | None,
    asserted: set[Triple],
    rules: tuple[Rule, ...],
    congruent: bool,
    complete: oracle.World | None = None,
) -> None:
    """The proof is one of the goal (None: of an inconsistency): each step puts equals for equals, which costs nothing,
    or is an instance of a rule of that name. complete: the closure, in which NOT finds nothing and aggregates count."""
    assert proof.tokens == goal
    if goal is not None and proof.by == "eq-ref":
        assert (congruent, goal[1], goal[0], proof.premises) == (True, SAME, goal[2], ())
        return
    given = {SAME, *(term for triple in asserted for term in triple)} if asserted else set()
    for step in proof.steps():
        premises = [p.tokens for p in step.premises]
        if step.by == ASSERTED:
            assert step.tokens in asserted
            assert not premises
            continue
        cost = step.depth - max((p.depth for p in step.premises), default=0)
        assert cost in (0, 1), step
        if cost:
            world = oracle.World({p for p in premises if p is not None}, complete, congruent)
            named = [r for r in rules if r.name == step.by]
            assert any(step.tokens in (heads or [None]) for r in named for heads, _ in world.matches(r)), step
        else:
            assert step.tokens is not None
            assert congruent
            check_equality(step.by, step.tokens, [p for p in premises if p is not None], given)


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
