"""Conditions of FILTER, taken apart for what is cheaper than evaluating them."""

from __future__ import annotations

from collections.abc import Sequence

from triplestore.model.expression import Call, Constant, Exists, Expression, Variable


def chosen_of(condition: Expression) -> tuple[str, list[str]] | None:
    """A variable and the IRIs that it must be one of, where a condition says no more than that."""
    match condition:
        case Call("=" | "SAMETERM", (Constant() as iri, Variable(name))):
            terms: Sequence[Expression] = (iri,)
        case Call("=" | "SAMETERM" | "IN", (Variable(name), *terms)):
            pass
        case _:
            return None
    tokens = [term.token for term in terms if isinstance(term, Constant) and term.token[0] == "<"]
    return (name, tokens) if tokens and len(tokens) == len(terms) else None


def conjuncts(condition: Expression) -> list[Expression]:
    """The parts of a condition that must all hold."""
    if isinstance(condition, Call) and condition.name == "&&":
        return [part for argument in condition.arguments for part in conjuncts(argument)]
    return [condition]


def exists_of(condition: Expression) -> Expression:
    """A condition, a negated EXISTS as NOT EXISTS."""
    if isinstance(condition, Call) and condition.name == "!" and isinstance(condition.arguments[0], Exists):
        inner = condition.arguments[0]
        return Exists(inner.pattern, not inner.negated)
    return condition
