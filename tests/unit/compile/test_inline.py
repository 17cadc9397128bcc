"""BINDs put in place of the variables that they make."""

from __future__ import annotations

from pathlib import Path

import pytest
from rdflib import Literal
from rdflib.namespace import Namespace

from tests.conftest import MakeStore
from triplake.rulesets import datalog
from triplestore.compile.inline import inline
from triplestore.model.errors import InputError
from triplestore.model.expression import Call
from triplestore.model.rule import Holds, Rule

E = Namespace("http://e/")


def rule(*binds: str, head: str = "b") -> Rule:
    bound = ", ".join(f"BIND({bind})" for bind in binds)
    (only,) = datalog.parse(f"PREFIX : <http://e/>\n[?x, :r, ?{head}] :- [?x, :n, ?v], {bound} .", "own.dlog")
    return only


def chain(step: str, length: int) -> list[str]:
    return ["?v + 1 AS ?b0", *(f"{step.format(n)} AS ?b{n + 1}" for n in range(length))]


@pytest.mark.parametrize(
    ("binds", "checks"),
    [
        (["1 / ?v AS ?a", "?a + 1 AS ?b"], 1),
        (["1 / ?v AS ?a", "STR(ABS(?a)) AS ?b"], 1),
        (["1 / ?v AS ?a", "COALESCE(?a, 2) AS ?b"], 2),
        (["1 / ?v AS ?a", "IF(BOUND(?a), 1, 2) AS ?b"], 2),
        (["1 / ?v AS ?a", "?a IN (1, 2) AS ?b"], 2),
        (["1 / ?v AS ?a", "1 = 1 || ?a > 2 AS ?b"], 2),
        (["1 / ?v AS ?a", "?v + 1 AS ?b"], 2),
    ],
)
def test_a_value_that_another_needs_is_checked_with_it(binds: list[str], checks: int) -> None:
    conditions = [element for element in inline(rule(*binds)).rule.body if isinstance(element, Holds)]
    assert len(conditions) == checks
    assert all(isinstance(c.expression, Call) and c.expression.name == "BOUND" for c in conditions)


@pytest.mark.parametrize(
    "binds", [["1 / ?v AS ?a", "?a + 1 AS ?b"], ["1 / ?v AS ?a", "COALESCE(?a, 2) AS ?b"], ["1 / ?v AS ?a", "9 AS ?b"]]
)
@pytest.mark.long_on_spark(but=1)
def test_an_error_anywhere_is_no_match(make_store: MakeStore, tmp_path: Path, binds: list[str]) -> None:
    file = tmp_path / "own.dlog"
    file.write_text(f"@rule own\n{datalog.render(rule(*binds))}\n", encoding="utf-8")
    store = make_store(["none", str(file)])
    store.update(add=[(E.zero, E.n, Literal(0)), (E.one, E.n, Literal(1))])
    assert [s for s, p, o in store.triples() if p == E.r] == [E.one]


def test_a_long_chain_has_one_condition() -> None:
    body = inline(rule(*chain("?b{} + 1", 80), head="b80")).rule.body
    assert sum(isinstance(element, Holds) for element in body) == 1


def test_a_chain_that_doubles_is_refused() -> None:
    with pytest.raises(InputError, match=r"the BIND of \?b12 has 16,383 parts .* 10,000 are the most") as refused:
        inline(rule(*chain("?b{0} + ?b{0}", 60), head="b60"))
    assert str(refused.value).startswith("own.dlog:2")
