"""The closure of a version as proofs read it."""

from __future__ import annotations

from typing import Final

from triplestore.engine import Engine
from triplestore.engine.sql import count
from triplestore.maintain import Reasoning
from triplestore.materialise.datatypes import every_type_sql, representatives, types_sql
from triplestore.model.equality import Equality
from triplestore.model.rule import Rule
from triplestore.model.tables import GIVEN
from triplestore.model.terms import FIRST_LITERAL, SAME_AS, TYPE
from triplestore.proof.computed import Source

FACT: Final = "proof_fact"
CLASSES: Final = "proof_same_as"
TYPES: Final = "proof_type"
LEAVES: Final = "proof_leaf"


def source(engine: Engine, reasoning: Reasoning, congruence: tuple[Rule, ...]) -> Source:
    """What to explain, of the working tables (or views) `asserted`, `given`, `fact`, `same_as` and `term`.

    Equality `axioms` stores what equality `rewrite` knows by classes: it is read, and explained, as if it were that;
    `congruence` are the rules that then say nothing new.
    """
    rules, constants = reasoning.rules, reasoning.constants
    by_value = reasoning.datatypes is not None
    if reasoning.equality != Equality.AXIOMS:
        classes = "same_as" if reasoning.equality == Equality.REWRITE else None
        leaves = _leaves(engine, reasoning.equality, classes) if by_value else "asserted"
        return Source(engine, "fact", classes, rules, constants, leaves, by_value, reasoning.equality)
    pairs = f"SELECT s AS a, o AS b FROM fact WHERE p = {SAME_AS} AND s <> o"
    engine.load(CLASSES, engine.components(pairs).rename_columns(["term", "representative"]))
    apart = " AND ".join(
        f"NOT EXISTS (SELECT 1 FROM {CLASSES} m WHERE m.term = f.{c} AND m.representative <> m.term)" for c in "spo"
    )
    engine.create(FACT, f"SELECT f.s, f.p, f.o FROM fact f WHERE f.p <> {SAME_AS} AND {apart}")
    leaves = _leaves(engine, reasoning.equality, CLASSES) if by_value else "asserted"
    kept = tuple(rule for rule in rules if rule not in congruence)
    return Source(engine, FACT, CLASSES, kept, constants, leaves, by_value, reasoning.equality)


def _leaves(engine: Engine, equality: Equality, classes: str | None) -> str:
    """The name of what proofs rest on where literals stand for values: given facts, and types of literals (dt-type2),
    which no rule derives. classes: the name of the classes, whose literals have all their types."""
    of_literals = f"SELECT s, p, o FROM fact WHERE p = {TYPE} AND s >= {FIRST_LITERAL}"
    equal = f"SELECT t.* FROM term t JOIN {classes} m ON m.term = t.id WHERE t.id >= {FIRST_LITERAL}"
    several = classes is not None and count(engine, f"({equal}) t") > 0
    if not several and not count(engine, f"({of_literals}) f"):
        return GIVEN
    names = representatives(engine, equality)
    types = types_sql(engine.dialect, names, names)
    same = "t.s = f.s AND t.o = f.o"
    found = f"SELECT f.s, f.p, f.o FROM ({of_literals}) f JOIN ({types}) t ON {same}"
    if several:
        found += f" UNION {every_type_sql(engine.dialect, f'({equal})')}"
    engine.create(TYPES, found)
    engine.view(LEAVES, f"SELECT s, p, o FROM {GIVEN} UNION ALL SELECT s, p, o FROM {TYPES}")
    return LEAVES
