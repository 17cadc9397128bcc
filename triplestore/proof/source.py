"""The closure of a version as proofs read it."""

from __future__ import annotations

from typing import Final

from triplestore.engine import Engine
from triplestore.engine.queries import count
from triplestore.maintain import Reasoning
from triplestore.materialise.datatypes import representatives, types_sql
from triplestore.proof.computed import Source
from triplestore.rule import Rule
from triplestore.tables import STATED
from triplestore.terms import FIRST_LITERAL, SAME_AS, TYPE

FACT: Final = "proof_fact"
CLASSES: Final = "proof_same_as"
TYPES: Final = "proof_type"
LEAVES: Final = "proof_leaf"


def source(engine: Engine, reasoning: Reasoning, congruence: tuple[Rule, ...]) -> Source:
    """What to explain, of the working tables (or views) `asserted`, `stated`, `fact`, `same_as` and `term`.

    Equality `axioms` stores what equality `rewrite` knows by classes: it is read, and explained, as if it were that;
    `congruence` are the rules that then say nothing new.
    """
    rules, constants = reasoning.rules, reasoning.constants
    by_value = reasoning.datatypes is not None
    leaves = _leaves(engine, reasoning.equality) if by_value else "asserted"
    if reasoning.equality != "axioms":
        classes = "same_as" if reasoning.equality == "rewrite" else None
        return Source(engine, "fact", classes, rules, constants, leaves, by_value, reasoning.equality)
    pairs = (
        f"SELECT s AS a, o AS b FROM fact WHERE p = {SAME_AS} AND s <> o "
        f"AND s < {FIRST_LITERAL} AND o < {FIRST_LITERAL}"
    )
    engine.load(CLASSES, engine.components(pairs).rename_columns(["term", "representative"]))
    apart = " AND ".join(
        f"NOT EXISTS (SELECT 1 FROM {CLASSES} m WHERE m.term = f.{c} AND m.representative <> m.term)" for c in "spo"
    )
    engine.create(FACT, f"SELECT f.s, f.p, f.o FROM fact f WHERE f.p <> {SAME_AS} AND {apart}")
    kept = tuple(rule for rule in rules if rule not in congruence)
    return Source(engine, FACT, CLASSES, kept, constants, leaves, by_value, reasoning.equality)


def _leaves(engine: Engine, equality: str) -> str:
    """The name of what proofs rest on where literals stand for values: stated facts, and types of literals (dt-type2),
    which no rule derives."""
    of_literals = f"SELECT s, p, o FROM fact WHERE p = {TYPE} AND s >= {FIRST_LITERAL}"
    if not count(engine, f"({of_literals}) f"):
        return STATED
    names = representatives(engine, equality)
    types = types_sql(engine.dialect, names, names)
    same = "t.s = f.s AND t.o = f.o"
    engine.create(TYPES, f"SELECT f.s, f.p, f.o FROM ({of_literals}) f JOIN ({types}) t ON {same}")
    engine.view(LEAVES, f"SELECT s, p, o FROM {STATED} UNION ALL SELECT s, p, o FROM {TYPES}")
    return LEAVES
