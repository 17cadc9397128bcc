"""Histories of stores whose rules have NOT, AGGREGATE or expressions, compared with the oracle."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import event

from tests.support.custom_programs import REFUSED, agree, agreed
from tests.support.random_programs import Triple
from tests.support.stores import as_terms, tokens
from triplake.rulesets import datalog
from triplestore import Store
from triplestore.engine import Engine
from triplestore.model.errors import InputError
from triplestore.model.rule import Rule

if TYPE_CHECKING:
    pass


def follow(
    updates: list[tuple[list[Triple], list[Triple]]],
    rules: tuple[Rule, ...],
    equality: str,
    oracles: Engine,
    told: Callable[[str], None] = event,
    **kind: Any,
) -> None:
    """After each update a store is what the oracle says; an update that leaves no strata is refused as a whole. At last
    rules go, and come back, one after the other.

    oracles: an engine of theirs. told: hears the algorithms. kind: `engine` or `spark` of the store.
    """
    asserted: set[Triple] = set()
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder, f"own{number}.dlog")) for number, _ in enumerate(rules)]
        for file, rule in zip(files, rules, strict=True):
            Path(file).write_text(f"@rule {rule.name}\n{datalog.render(rule)}\n", encoding="utf-8")
        if agree(oracles, [], rules, equality) is None:
            with pytest.raises(InputError, match=REFUSED):
                Store.create(Path(folder, "kg"), files, equality, **kind)
            return
        store = Store.create(Path(folder, "kg"), files, equality, **kind)
        for number, (add, delete) in enumerate(updates):
            if number % 2:  # updates of one process, and of several
                store.close()
                store = Store.open(Path(folder, "kg"), **kind)
            then = (asserted - set(delete)) | set(add)
            wanted = agreed(oracles, sorted(then), rules, equality)
            if wanted is None:
                with pytest.raises(InputError, match=REFUSED):
                    store.update(add=as_terms(add), delete=as_terms(delete))
            else:
                way = ("auto", "backward-forward", "dred")[number % 3]
                report = store.update(add=as_terms(add), delete=as_terms(delete), maintain=way)
                told(str(report.get("algorithm")))
                asserted = then
                assert (tokens(store), set(store.violated())) == wanted
            assert tokens(store, "asserted") == asserted
        for file, rule in zip(files, rules, strict=True):
            if rule.negative:
                others = tuple(other for other in rules if other is not rule)
                for change, left in (({"remove": [Path(file).name]}, others), ({"add": [file]}, rules)):
                    wanted = agreed(oracles, sorted(asserted), left, equality)
                    if wanted is not None:
                        told(str(store.change_rules(**change, maintain="auto")["algorithm"]))
                        assert (tokens(store), set(store.violated())) == wanted
        store.close()
