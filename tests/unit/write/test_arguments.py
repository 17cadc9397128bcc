"""What the methods of a store refuse, before they do anything: UsageError, with what to give."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from rdflib import OWL, Literal, URIRef
from rdflib.term import Node

from triplestore import Store
from triplestore.materialise.limits import Limits
from triplestore.model.errors import UsageError
from triplestore.storage.retention import Retention

WRONG = "<urn:a> <urn:p> <urn:b> .\nthis is not a triple\n"


@pytest.mark.parametrize("on_error", ["Stop", "STOP", "ignore", "", None, ["stop"]])
def test_on_error_is_stop_or_skip(tmp_path: Path, on_error: Any) -> None:
    (tmp_path / "wrong.nt").write_text(WRONG)
    with Store.create(tmp_path / "kg", ["none"]) as store:
        for load in (
            lambda: store.load(tmp_path / "wrong.nt", on_error=on_error),
            lambda: store.load_dataframe(None, on_error=on_error),  # type: ignore[arg-type]
        ):
            with pytest.raises(UsageError, match="on_error is one of 'stop', 'skip', not"):
                load()
        assert store.version == 1


A = URIRef("http://ex/a")
WHOLE: dict[str, Callable[[Any, Any], object]] = {
    "check limit": lambda s, n: s.check(limit=n),
    "search most": lambda s, n: s.search("x", most=n),
    "suspects most": lambda s, n: s.suspects(most=n),
    "cuts most": lambda s, n: s.cuts(A, A, most=n),
    "class most": lambda s, n: s.equality_class(A, most=n),
    "classes most": lambda s, n: s.equality_classes(most=n),
    "classes members": lambda s, n: s.equality_classes(members=n),
    "stats most": lambda s, n: s.equality_stats(most=n),
    "violation": lambda s, n: s.explain_violation("prp-fp", n),
    "vacuum keep": lambda s, n: s.vacuum(keep=n, dry_run=True),
    "retries": lambda s, n: setattr(s, "retries", n),
    "log": lambda s, n: s.log(n),
    "open at": lambda s, n: Store.open(s.path, at=n),
    "restore": lambda s, n: Store.restore(s.path, n),
}
OTHERS: dict[str, tuple[Callable[[Any], object], str]] = {
    "query": (lambda s: s.query(None), "a query is a text: not None"),
    "query of bytes": (lambda s: s.query(b"ASK {}"), "a query is a text: not b'ASK {}'"),
    "explain_query": (lambda s: s.explain_query(None), "a query is a text: not None"),
    "sparql_update": (lambda s: s.sparql_update(None), "an update is a text: not None"),
    "search": (lambda s: s.search(None), "what to search for is a text: not None"),
    "vacuum days": (lambda s: s.vacuum(keep_days="x"), "versions are kept for 0 to 36,500 days"),
    "retention": (lambda s: Retention(versions=2.5), "the number of versions to keep is a whole number, 1 or more"),
    "limits": (lambda s: Limits(terms=1.5), "max_terms is a whole number, 1 or more: not 1.5"),
    "binding": (
        lambda s: s.query("ASK {}", bindings={"x": object()}),
        "the binding of x is not a value of a literal: give",
    ),
    "no binding": (
        lambda s: s.query("ASK {}", bindings={"x": None}),
        "the binding of x is not a value of a literal: give",
    ),
    "bindings": (lambda s: s.query("ASK {}", bindings=["x"]), "bindings are a dict, variables -> rdflib terms"),
    "pair": (lambda s: s.explain((A, A)), "is not a triple: give a tuple of subject, predicate and object"),
    "text": (lambda s: s.explain("a b c"), "'a b c' is not a triple: give a tuple of subject, predicate and object"),
    "add": (lambda s: s.update(add=None), r"None holds no triples: give an iterable of them, .* or \(\) for none"),
    "delete": (lambda s: s.update(delete=None), "None holds no triples: give an iterable of them"),
    "memory_limit": (lambda s: Store.create("kg", memory_limit=5), "a memory limit is a size, .* not 5"),  # type: ignore[arg-type]
    "rules": (lambda s: Store.create("kg", rules=5), "5 is neither a text or a path nor a list of these: give "),  # type: ignore[arg-type]
    "list of rules": (lambda s: Store.create("kg", rules=[5]), r"\[5\] is neither"),  # type: ignore[list-item]
    "prefer": (lambda s: list(s.lines(prefer=5)), "5 is neither"),
    "has_graph": (lambda s: s.has_graph(5), "the name of a graph is a text: not 5"),
    "retention of a store": (lambda s: setattr(s, "retention", "all"), "retention is a Retention, .* not 'all'"),
    "a long name": (lambda s: Store.create(s.path / ("a" * 300)), "File name too long; give a shorter path"),
    "no such name": (lambda s: Store.open(s.path / ("a" * 300)), "File name too long; give a shorter path"),
    "open": (lambda s: Store.open(None), "None is not a path of a store: give a text, or a pathlib.Path"),
    "create": (lambda s: Store.create(""), "the path of the store is empty: give a folder"),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.create(tmp_path_factory.mktemp("arguments") / "kg", ["owl2rl"]) as made:
        made.update(add=[(A, A, Literal("x")), (A, OWL.sameAs, URIRef("http://ex/b"))])
        yield made


@pytest.mark.parametrize("method", WHOLE)
@pytest.mark.parametrize("number", [-1, "x", 1.5, "1; DROP TABLE fact"], ids=str)
def test_whole_numbers(store: Store, method: str, number: Any) -> None:
    with pytest.raises(UsageError, match=f" is a whole number, [01] or more.*: not {re.escape(repr(number))}"):
        WHOLE[method](store, number)


def test_vacuum_keeps_a_version(store: Store) -> None:
    with pytest.raises(UsageError, match="keep is a whole number, 1 or more"):
        store.vacuum(keep=0, dry_run=True)
    assert store.vacuum(keep=1, dry_run=True).kept == 1


@pytest.mark.parametrize("method", OTHERS)
def test_what_methods_are_given(store: Store, method: str) -> None:
    call, says = OTHERS[method]
    with pytest.raises(UsageError, match=says):
        call(store)


def test_values_that_are_bound(store: Store) -> None:
    for value in ("x", True, 1, 1.5, Decimal("1.5"), date(2026, 1, 1), Literal("x"), A):
        (row,) = store.query("SELECT ?x { }", bindings={"x": value})
        assert row.x == (value if isinstance(value, Node) else Literal(value))
