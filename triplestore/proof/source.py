"""The closure of a version as proofs read it."""

from __future__ import annotations

from typing import Final

from triplestore.engine import Engine
from triplestore.maintain import Reasoning
from triplestore.proof.slices import Source
from triplestore.rule import Rule
from triplestore.terms import FIRST_LITERAL, SAME_AS

FACT: Final = "proof_fact"
CLASSES: Final = "proof_same_as"


def source(engine: Engine, reasoning: Reasoning, congruence: tuple[Rule, ...]) -> Source:
    """What to explain, of the working tables (or views) `asserted`, `fact`, `same_as` and `term`.

    Equality `axioms` stores what equality `rewrite` knows by classes: it is read, and explained, as if it were that;
    `congruence` are the rules that then say nothing new.
    """
    rules, constants = reasoning.rules, reasoning.constants
    if reasoning.equality != "axioms":
        return Source(engine, "fact", "same_as" if reasoning.equality == "rewrite" else None, rules, constants)
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
    return Source(engine, FACT, CLASSES, kept, constants)
