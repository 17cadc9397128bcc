"""NOT of an equality of a constant with itself: it holds as long as the constant occurs in no triple."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.stores import as_terms, tokens
from triplestore import Store

GROUPS = (":k, owl:sameAs, :k", ":k, owl:sameAs, ?w", "?w, owl:sameAs, :k")
FACT = ("<http://e/a>", "<http://e/p>", "<http://e/b>")
FOUND = ("<http://e/a>", "<http://e/q>", "<http://e/b>")
COMES = (
    ("<http://e/k>", "<http://e/r>", "<http://e/b>"),
    ("<http://e/a>", "<http://e/k>", "<http://e/b>"),
    ("<http://e/a>", "<http://e/r>", "<http://e/k>"),
    ("<http://e/k>", "<http://www.w3.org/2002/07/owl#sameAs>", "<http://e/k>"),
)


def _store(folder: Path, rules: str, equality: str) -> Store:
    file = folder / "own.dlog"
    file.write_text(f"PREFIX : <http://e/>\n{rules}\n", encoding="utf-8")
    return Store.create(folder / "kg", ["none", str(file)], equality, engine="duckdb")


@pytest.mark.parametrize("equality", ["rewrite", "axioms"])
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.sampled(each=4)
def test_a_constant_equals_itself_where_it_occurs(tmp_path: Path, group: str, equality: str) -> None:
    with _store(tmp_path, f"[?x, :q, ?y] :- [?x, :p, ?y], NOT [{group}] .", equality) as store:
        store.update(add=as_terms([FACT]))
        assert tokens(store) == {FACT, FOUND}
        assert store.explain(next(iter(as_terms([FOUND])))) is not None
        for come in COMES:
            store.update(add=as_terms([come]))
            assert FOUND not in tokens(store), come
            store.update(delete=as_terms([come]))
            assert tokens(store) == {FACT, FOUND}, come


def test_without_equality_it_is_a_property(tmp_path: Path) -> None:
    with _store(tmp_path, "[?x, :q, ?y] :- [?x, :p, ?y], NOT [:k, owl:sameAs, :k] .", "off") as store:
        store.update(add=as_terms([FACT, COMES[0]]))
        assert FOUND in tokens(store)
        store.update(add=as_terms([COMES[3]]))
        assert FOUND not in tokens(store)


@pytest.mark.parametrize("equality", ["rewrite", "axioms"])
def test_a_rule_that_makes_it_occur_comes_first(tmp_path: Path, equality: str) -> None:
    rules = "[?x, :q, ?y] :- [?x, :p, ?y], NOT [:k, owl:sameAs, ?w] .\n[?x, :r, :k] :- [?x, :s, ?y] ."
    with _store(tmp_path, rules, equality) as store:
        store.update(add=as_terms([FACT]))
        assert FOUND in tokens(store)
        store.update(add=as_terms([("<http://e/a>", "<http://e/s>", "<http://e/b>")]))
        assert FOUND not in tokens(store)
