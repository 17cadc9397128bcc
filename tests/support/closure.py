"""A closure by the engine's tables, by the oracle, and their comparison."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from hypothesis import Phase, reject

from tests.support import oracle
from tests.support.random_programs import Triple, rules_for
from triplestore.closure import expand
from triplestore.closure.view import ClosureView
from triplestore.compile.schema import Constants
from triplestore.dictionary import encoding, literals
from triplestore.engine import Engine
from triplestore.maintain.late_rounds import derive
from triplestore.materialise.datatypes import Datatypes
from triplestore.materialise.tables import Tables
from triplestore.model.equality import Equality
from triplestore.model.errors import InputError
from triplestore.model.rule import Rule, constants_of
from triplestore.model.terms import BUILTIN_IDS, FIRST_LITERAL, SAME_AS
from triplestore.storage.manifest import Counters


def materialised(
    engine: Engine,
    triples: list[Triple],
    rules: tuple[Rule, ...],
    equality: str,
    many: int | None = None,
    datatypes: bool = False,
) -> tuple[set[Triple], set[str]]:
    """The expanded closure, generalised triples left out, and the names of the violated rules."""
    encoding.builtin_terms(engine, "term")
    engine.load("raw", pa.table({c: [t[i] for t in triples] for i, c in enumerate("spo")}))
    rules = rules_for(rules, equality)
    tokens = {token for rule in rules for token in constants_of(rule)}
    encoding.encode(engine, "raw", Counters(), tokens - BUILTIN_IDS.keys())
    engine.append("term", ["SELECT * FROM new_term"])
    engine.create("asserted", "SELECT s, p, o FROM encoded")
    if datatypes:
        engine.view("given", literals.by_value("asserted"))
        values = literals.equal_to(engine, [token for token in tokens if token.startswith('"')])
        constants = Constants({**encoding.lookup(engine, tokens), **values})
    else:
        engine.view("given", "SELECT s, p, o FROM asserted")
        constants = Constants(encoding.lookup(engine, tokens), encoding.numbers_equal_to(engine, tokens))
    known = Datatypes(True) if datatypes else None
    Tables(engine, rules, equality, constants, many=many, datatypes=known, late=derive).materialise()
    return expanded(engine, equality, datatypes)


def expanded(engine: Engine, equality: str, equal_valued: bool = False) -> tuple[set[Triple], set[str]]:
    """The closure in the engine's tables, and the names of the violated rules."""
    named = engine.query(f"SELECT 1 FROM same_as WHERE representative = {SAME_AS}").num_rows > 0
    literals = engine.query(f"SELECT 1 FROM same_as WHERE term >= {FIRST_LITERAL}").num_rows > 0
    view = ClosureView(
        Equality(equality), equal_values=equal_valued, same_as_in_class=named, literals_in_classes=literals
    )
    table = engine.query(expand.tokens_sql(expand.expanded_sql(view)))
    found = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    assert len(found) == len(set(found)), "expanded triples are distinct"
    count = engine.query(expand.expanded_count_sql(view)).column(0)[0].as_py()
    assert count == len(found), "the count is that of the expansion"
    violated = set(engine.query("SELECT DISTINCT rule FROM violation").column(0).to_pylist())
    return set(found), violated


def expected(
    triples: list[Triple],
    rules: tuple[Rule, ...],
    equality: str,
    datatypes: bool = False,
    met: Sequence[str] = (),
) -> tuple[set[Triple], set[str]]:
    """What the oracle says, in the same terms. met: literals in the order in which they were met, of equal values."""
    if datatypes:
        found = oracle.closure_by_value(set(triples), rules, equality, met)
    else:
        found = oracle.closure(set(triples), rules, equality)
    return oracle.rdf_only(found.triples), found.violated


def unreadable(refused: InputError) -> bool:
    """Whether rules are refused since they read lists, and equalities leave none, or close one."""
    return "can read no list" in str(refused) or "closes a list that rules read" in str(refused)


def agree(
    engine: Engine, triples: list[Triple], rules: tuple[Rule, ...], equality: str, many: int | None = None
) -> None:
    """The closure is the oracle's, or refused: rules read lists, and the vocabulary of lists equals other terms."""
    datatypes = any(rule.name == "dt-type1" for rule in rules)
    try:
        got, violated = materialised(engine, triples, rules, equality, many, datatypes)
    except InputError as refused:
        if not unreadable(refused):
            raise
        reject()  # the program has no closure: no example
    wanted, wanted_violated = expected(triples, rules, equality, datatypes)
    assert got - wanted == set(), "derived too much"
    assert wanted - got == set(), "derived too little"
    assert violated == wanted_violated


MODES = ("rewrite", "axioms", "off")


PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
