"""Negation, aggregates and expressions in the rule language."""

from __future__ import annotations

import pytest

from triplake.rulesets import datalog
from triplestore.model.expression import Call, Constant, Variable
from triplestore.model.rule import (
    Aggregate,
    Atom,
    Bind,
    Filter,
    Holds,
    Not,
    Result,
    Rule,
    Var,
)
from triplestore.model.terms import RDF, XSD

TYPE = f"<{RDF}type>"
X, ONE = Variable("x"), Constant(f'"1"^^<{XSD}integer>')


def rule(text: str) -> Rule:
    (only,) = datalog.parse(text, "family.dlog")
    return only


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("NOT [?x, a, ?y]", Not((Atom(Var("x"), TYPE, Var("y")),))),
        ("not EXISTS ?y in [?x, a, ?y]", Not((Atom(Var("x"), TYPE, Var("y")),))),
        (
            "NOT EXISTS ?y, ?z IN ([?x, a, ?y], [?z, a, ?y], FILTER(?z != ?x))",
            Not(
                (
                    Atom(Var("x"), TYPE, Var("y")),
                    Atom(Var("z"), TYPE, Var("y")),
                    Filter("!=", Var("z"), Var("x")),
                )
            ),
        ),
        ("FILTER(?x > 1)", Holds(Call(">", (X, ONE)))),
        ("FILTER(?x < ?x)", Holds(Call("<", (X, X)))),
        ("FILTER(?x = 1)", Holds(Call("=", (X, ONE)))),
        (
            "FILTER(?x -1 = 1 || !(?x = 1) && ?x in (1, ?x))",
            Holds(
                Call(
                    "||",
                    (
                        Call("=", (Call("-", (X, ONE)), ONE)),
                        Call("&&", (Call("!", (Call("=", (X, ONE)),)), Call("IN", (X, ONE, X)))),
                    ),
                )
            ),
        ),
        (
            "FILTER(?x + 1 * -?x / 1 >= xsd:decimal(?x))",
            Holds(
                Call(
                    ">=",
                    (
                        Call("+", (X, Call("/", (Call("*", (ONE, Call("negate", (X,)))), ONE)))),
                        Call(f"{XSD}decimal", (X,)),
                    ),
                )
            ),
        ),
        (
            "BIND(if(bound(?x), uri(str(?x)), 1) AS ?b)",
            Bind(Call("IF", (Call("BOUND", (X,)), Call("IRI", (Call("STR", (X,)),)), ONE)), Var("b")),
        ),
        (
            "AGGREGATE([?x, a, ?k], [?k, a, ?v], FILTER(?v > 1) ON ?k BIND COUNT(*) AS ?n BIND SUM(DISTINCT ?v) AS ?s)",
            Aggregate(
                (
                    Atom(Var("x"), TYPE, Var("k")),
                    Atom(Var("k"), TYPE, Var("v")),
                    Holds(Call(">", (Variable("v"), ONE))),
                ),
                (Var("k"),),
                (
                    Result("COUNT", None, False, Var("n")),
                    Result("SUM", Variable("v"), True, Var("s")),
                ),
            ),
        ),
    ],
)
def test_conditions_and_groups(text: str, body: object) -> None:
    first = "" if text.startswith("AGG") else "[?x, a, ?x], "
    read = rule(f"false :- {first}{text} .")
    assert read.body[-1] == body
    assert datalog.parse(datalog.render(read), "again") == (read,), "what is rendered is read back"


def test_what_a_rule_is() -> None:
    def of(text: str) -> tuple[bool, bool]:
        read = rule(f"[?x, a, ?x] :- [?x, a, ?x], {text} .")
        return read.monotone, read.negative

    assert of("FILTER(?x != rdf:nil)") == (True, False)
    assert of("FILTER(?x > 1)") == (False, False)
    assert of("BIND(1 AS ?y)") == (False, False)
    assert of("NOT [?x, a, ?y]") == (False, True)
    assert of("AGGREGATE([?x, a, ?y] ON ?x BIND COUNT(?y) AS ?n)") == (False, True)
