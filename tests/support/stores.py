"""Histories of a store, compared with the oracle after each update."""

from __future__ import annotations

from pathlib import Path

from tests.support.closure import expected, unreadable
from tests.support.random_programs import _USER_RULES, Triple, rules_of
from triplake import rulesets
from triplestore import Store
from triplestore.model.errors import InputError, LimitError
from triplestore.model.terms import from_rdflib, to_rdflib

Update = tuple[list[Triple], list[Triple]]


def tokens(store: Store, what: str = "all") -> set[Triple]:
    return {(from_rdflib(s), from_rdflib(p), from_rdflib(o)) for s, p, o in store.triples(what)}


def as_terms(triples: list[Triple]) -> list[tuple[object, object, object]]:
    return [(to_rdflib(s), to_rdflib(p), to_rdflib(o)) for s, p, o in triples]


def follow(store: Store, history: tuple[list[Triple], list[Update]], program: tuple[str, ...], equality: str) -> None:
    """Apply a history to an empty store; after each step compare it with the oracle, and with itself made anew. A step
    that is refused, as it would leave no lists or too many to rules that read some, leaves the store as it was."""
    rules = rules_of(program)
    start, updates = history
    asserted: set[Triple] = set()
    for add, delete in [(start, []), *updates]:
        then = (asserted - set(delete)) | set(add)
        try:
            store.update(add=as_terms(add), delete=as_terms(delete))
        except InputError as refused:
            if not unreadable(refused):
                raise
        except LimitError as refused:
            if "ways lead along rdf:rest" not in str(refused):
                raise
        else:
            asserted = then
        got, stats = tokens(store), store.stats()
        wanted, violated = expected(sorted(asserted), rules, equality, "owl2rl" in program)
        assert got - wanted == set(), "derived too much"
        assert wanted - got == set(), "derived too little"
        assert tokens(store, "asserted") == asserted
        assert tokens(store, "inferred") == wanted - asserted
        assert stats["asserted"] == len(asserted)
        assert stats["expanded"] == len(got)
        assert bool(store.check()) == bool(violated)
        with Store.open(store.path, engine="duckdb") as reopened:
            assert tokens(reopened) == got
            fresh = reopened.stats()
            assert {k: fresh[k] for k in fresh} == {k: stats[k] for k in fresh}
            reopened.materialise()
            assert tokens(reopened) == got, "an update equals materialisation"
            assert reopened.stats()["facts"] == stats["facts"]
            assert reopened.stats()["violations"] == stats["violations"]


def rule_names(program: tuple[str, ...], folder: str) -> list[str]:
    """The program as `Store.create` takes it: a ruleset's name, and a file of the user's rules."""
    own = [rule for rule in _USER_RULES if rule.name in program[1:]]
    if not own:
        return [program[0]]
    file = Path(folder, "own.dlog")
    file.write_text("".join(f"@rule {r.name}\n{rulesets.datalog.render(r)}\n" for r in own), encoding="utf-8")
    return [program[0], str(file)]
