"""CONSTRUCT (SPARQL 1.1, section 16.2) as SQL: the template's triples of every solution, a set, in the order of ids.

The solutions are read once: each is paired with every triple of the template. So a blank node of the template, which is
new in each solution, is the same one in all triples of that.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from triplake.sparql.algebra import Node, Triple
from triplake.sparql.classes import expanded, only, repeated
from triplake.sparql.context import Context
from triplake.sparql.relation import Column, Relation
from triplake.sparql.templates import is_blank, names_of
from triplestore.model.expression import Constant, Variable
from triplestore.model.terms import FIRST_BLANK, FIRST_LITERAL

PLACES: Final = (".subject", ".predicate", ".object")
"""The variables of the result: no query can name them."""


def constructed(compiler: Context, node: Node, template: Sequence[Triple]) -> Relation:
    """The triples that a template makes of a pattern's solutions: its columns are `PLACES`."""
    steps = compiler.steps
    names = names_of(template)
    bound = [name for name in names if not is_blank(name)]
    found = compiler.node(node, frozenset(bound))
    relation = expanded(steps, replace(only(steps, found, bound), order=()))
    if any(map(is_blank, names)):
        relation = _with_blanks(compiler, repeated(steps, relation), [name for name in names if is_blank(name)])
    written = _written(template, relation)
    relation = steps.tokenised(relation, [name for name in written if name in relation.columns])
    columns = [steps.column(name) for name in PLACES]
    as_text = [
        any(isinstance(t, Variable) and t.name in written for t in terms) for terms in zip(*template, strict=True)
    ]
    if not template:
        return Relation(steps.add("made", _nothing(columns)), dict.fromkeys(PLACES, Column()))

    def value(place: int, term: Variable | Constant) -> str:
        if isinstance(term, Variable):
            null = f"CAST(NULL AS {'STRING' if as_text[place] else 'BIGINT'})"
            return f"x.{steps.column(term.name)}" if term.name in relation.columns else null
        return (
            steps.dialect.string(term.token) if as_text[place] else f"CAST({steps.constants.ids[term.token]} AS BIGINT)"
        )

    cases = [
        " ".join(f"WHEN {number} THEN {value(place, triple[place])}" for number, triple in enumerate(template))
        for place in range(3)
    ]
    listed = ", ".join(f"CASE t.k {case} END AS {column}" for case, column in zip(cases, columns, strict=True))
    numbers = ", ".join(f"({number})" for number in range(len(template)))
    s, p, o = columns
    subject = f"substr({s}, 1, 1) IN ('<', '_')" if as_text[0] else f"{s} < {FIRST_LITERAL}"
    predicate = f"substr({p}, 1, 1) = '<'" if as_text[1] else f"{p} < {FIRST_BLANK}"
    made = f"SELECT {listed} FROM {relation.name} x CROSS JOIN (VALUES {numbers}) t(k)"
    sql = f"SELECT DISTINCT {s}, {p}, {o} FROM ({made}) m WHERE {subject} AND {predicate} AND {o} IS NOT NULL"
    kinds = {name: Column(token=text) for name, text in zip(PLACES, as_text, strict=True)}
    return Relation(steps.add("made", sql), kinds, order=tuple((column, False) for column in columns))


def _with_blanks(compiler: Context, relation: Relation, blanks: Sequence[str]) -> Relation:
    """The relation with the blank nodes of a template, new ones in each row."""
    steps = compiler.steps
    keys = ", ".join(steps.column(name) for name in relation.columns) or "1"
    numbered = (
        f"SELECT {steps.listed(relation, more=[f'row_number() OVER (ORDER BY {keys}) AS k'])} FROM {relation.name}"
    )
    own = secrets.token_hex(8)  # answers are put together, and stored
    labels = [
        f"concat('_:c{own}_', CAST(k AS STRING), '_{n}') AS {steps.column(name)}" for n, name in enumerate(blanks)
    ]
    step = steps.add("blanks", f"SELECT {steps.listed(relation, more=labels)} FROM ({numbered}) b")
    columns = {**relation.columns, **dict.fromkeys(blanks, Column(token=True))}
    return replace(relation, name=step, columns=columns)


def _written(template: Sequence[Triple], relation: Relation) -> set[str]:
    """The variables that have to be text: what is computed, and what shares a place with it."""
    places = [{t.name for t in terms if isinstance(t, Variable)} for terms in zip(*template, strict=True)]
    found = {name for name, column in relation.columns.items() if column.token}
    while more := {name for names in places if names & found for name in names} - found:
        found |= more
    return found


def _nothing(columns: Sequence[str]) -> str:
    return f"SELECT {', '.join(f'CAST(NULL AS BIGINT) AS {column}' for column in columns)} WHERE FALSE"
