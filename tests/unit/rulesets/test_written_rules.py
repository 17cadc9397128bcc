"""Rules written at random, with NOT, AGGREGATE and expressions within each other, against the oracle."""

from __future__ import annotations

from random import Random

import pytest

from tests.support.closure import MODES
from tests.support.custom_programs import agree
from tests.support.custom_updates import follow
from tests.support.random_programs import Triple
from tests.support.seeds import seeds
from tests.support.written_rules import Writer, written_facts
from triplake import rulesets
from triplestore.engine import Engine
from triplestore.model.errors import EndlessError


@pytest.mark.parametrize("seed", seeds(range(12), 1))
@pytest.mark.long_on_spark(each=5)
def test_closures(engine: Engine, seed: int) -> None:
    """Some forty programs a seed (on Spark two)."""
    for number in range(40 if engine.resident else 2):
        dice = Random(f"{seed} {number}")
        rules = Writer(dice).rules()
        rules = (*rulesets.named(dice.choice(["none", "none", "rdfs-plus"])).rules, *rules)
        try:
            agree(engine, written_facts(dice), rules, dice.choice(MODES))
        except EndlessError:
            continue


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_updates(embedded: Engine, seed: int) -> None:
    for number in range(6):
        dice = Random(f"{seed} {number} updates")
        rules = Writer(dice).rules()
        facts = written_facts(dice)
        now, updates = {*facts}, [(facts, list[Triple]())]
        for _ in range(3):
            gone = dice.sample(sorted(now), min(len(now), dice.randint(0, 3)))
            new = [triple for triple in dice.sample(written_facts(dice), 2) if triple not in gone]
            updates.append((new, gone))
            now = now - {*gone} | {*new}
        try:
            follow(updates, rules, dice.choice(MODES), embedded, told=lambda _: None, engine="duckdb")
        except EndlessError:
            continue
