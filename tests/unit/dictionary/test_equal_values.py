"""Literals of equal value in stores: one in joins, as asserted in answers; ill-typed ones; types that rules ask for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import rdflib

from tests.conftest import MakeStore
from tests.support import oracle
from tests.support.closure import materialised
from tests.support.datatypes import E, Triple, closure, each_mode, loaded, of_data, triples
from triplestore import Store
from triplestore.engine import Engine
from triplestore.model.errors import DamagedStoreError
from triplestore.model.terms import XSD, from_rdflib, literal_token, to_rdflib

EQUAL = """
:key a owl:InverseFunctionalProperty . :a :key 1 . :b :key "01"^^xsd:integer . :c :key "1"^^xsd:byte . :d :key 1e0 .
:a :name "A" . :b :name "A"^^xsd:token . :c :p "x@en"^^rdf:PlainLiteral , "x"@en .
:R owl:hasValue "1.0"^^xsd:decimal ; owl:onProperty :key .
"""


@pytest.mark.long_on_spark(each=3)
@each_mode
def test_equal_values_are_one_in_joins(make_store: MakeStore, tmp_path: Path, equality: str) -> None:
    store = loaded(make_store, tmp_path, EQUAL, equality)
    found = closure(store)
    wanted = oracle.closure_by_value(triples(EQUAL), _owl2rl(), equality)
    assert found == oracle.rdf_only(wanted.triples)
    same = {(s, o) for s, p, o in found if p == oracle.SAME_AS and s != o}
    linked = {(f"<{E}{x}>", f"<{E}{y}>") for x in "abc" for y in "abc" if x != y}
    assert same >= linked
    assert not any(f"<{E}d>" in pair for pair in same), "a double is no decimal"
    assert (f"<{E}b>", oracle.TYPE, f"<{E}R>") in found
    stats = store.stats()
    assert stats["expanded"] == len(found)
    assert closure(store, "inferred") == found - triples(EQUAL)
    assert store.check() == []


def _owl2rl() -> Any:
    from triplake import rulesets

    return rulesets.named("owl2rl").rules


@pytest.mark.long_on_spark(each=3)
@each_mode
def test_the_forms_that_were_asserted_come_back(make_store: MakeStore, tmp_path: Path, equality: str) -> None:
    text = ':a :p 1 , "01"^^xsd:integer . :b :p "1"^^xsd:int . :p rdfs:subPropertyOf :q . :c :r 2 . :c owl:sameAs :d .'
    store = loaded(make_store, tmp_path, text, equality)
    assert of_data(closure(store)) == of_data(oracle.closure_by_value(triples(text), _owl2rl(), equality).triples)
    assert of_data(closure(store)) >= of_data(triples(text))

    prefix = f"PREFIX : <{E}> PREFIX xsd: <{XSD}> "

    def rows(query: str) -> list[tuple[str, ...]]:
        return sorted(tuple(from_rdflib(term) for term in row) for row in store.query(prefix + query))

    a, b, one = f"<{E}a>", f"<{E}b>", literal_token("1", XSD + "integer")
    zero_one, as_int = literal_token("01", XSD + "integer"), literal_token("1", XSD + "int")
    assert rows("SELECT ?s ?o { ?s :p ?o }") == sorted([(a, one), (a, zero_one), (b, as_int)])
    assert len(rows("SELECT ?s ?o { ?s :q ?o }")) == 2, "inferred: once for each value"
    assert rows("SELECT ?s { ?s :p 1 }") == [(a,), (b,)]
    assert rows('SELECT ?s { ?s :p "001"^^xsd:long }') == [(a,), (b,)], "a form that was never met"
    assert rows("SELECT ?s { ?s :p 1e0 }") == []
    assert rows("SELECT ?s { ?s :p ?o . ?s :p 1 FILTER(sameTerm(?o, 1)) }") == [(a,)]
    assert rows("SELECT DISTINCT ?s ?t { ?s :p ?o . ?t :p ?o }") == [(a, a), (a, b), (b, a), (b, b)]
    assert rows("SELECT ?s ?t { ?s :p ?o . ?t :q ?o FILTER(?s != ?t) }") == [(a, b), (a, b), (b, a)]
    assert rows("SELECT DISTINCT ?s ?t { ?s :p/^:p ?t }") == [(a, a), (a, b), (b, a), (b, b)]
    assert rows("SELECT ?s { ?s :p+ '001'^^xsd:long }") == [(a,), (b,)]
    assert rows("SELECT ?s { ?s :p ?o FILTER(?o = 1) }") == [(a,), (a,), (b,)], "a row for each form"
    assert rows("SELECT DISTINCT ?o { ?s :p ?o }") == sorted([(one,), (zero_one,), (as_int,)])
    made = {tuple(map(from_rdflib, t)) for t in store.query(prefix + "CONSTRUCT { ?s :r ?o } { ?s :p ?o }")}
    assert made == {(a, f"<{E}r>", one), (a, f"<{E}r>", zero_one), (b, f"<{E}r>", as_int)}


@pytest.mark.long_on_spark(each=3)
@each_mode
def test_deleting_one_form_keeps_the_value(make_store: MakeStore, tmp_path: Path, equality: str) -> None:
    text = ':a :p 1 , "01"^^xsd:integer . :p rdfs:subPropertyOf :q . :b :q "1"^^xsd:int .'
    store = loaded(make_store, tmp_path, text, equality)
    a, p, q = (rdflib.URIRef(E + x) for x in "apq")
    one, padded = (rdflib.Literal(x, datatype=rdflib.XSD.integer, normalize=False) for x in ("1", "01"))
    last = store.update(delete=[(a, p, padded)])
    assert (last["added"], last["deleted"]) == (0, 0)
    present = {o for s, pp, o in store.triples() if (s, pp) == (a, p)}
    assert [str(o) for o in present] == ["1"]
    store.update(delete=[(a, p, one)])
    assert not any(s == a and pp in (p, q) for s, pp, _ in store.triples())
    store.update(add=[(a, p, padded)])
    assert [str(o) for s, pp, o in store.triples() if (s, pp) == (a, p)] == ["01"]
    assert of_data(closure(store)) >= {(f"<{E}a>", f"<{E}p>", from_rdflib(padded))}
    before = closure(store)
    store.materialise()
    assert closure(store) == before
    assert store.stats()["expanded"] == len(before)


@pytest.mark.long_on_spark(each=3)
@each_mode
def test_an_equality_of_two_values_is_a_violation(make_store: MakeStore, tmp_path: Path, equality: str) -> None:
    store = loaded(
        make_store,
        tmp_path,
        """:p a owl:FunctionalProperty . :a :p 1 , "01"^^xsd:integer . :b :p "x" , "x"^^xsd:token .
        :c :p "u"^^:own , "v"^^:own . :e :p true , "1"^^xsd:boolean .""",
        equality,
    )
    assert store.check() == []
    one, two = (rdflib.Literal(x, datatype=rdflib.XSD.double, normalize=False) for x in ("1", "2"))
    b, p = rdflib.URIRef(E + "d"), rdflib.URIRef(E + "p")
    store.update(add=[(b, p, one), (b, p, two)])
    expected = {"rewrite": {"eq-diff1"}, "axioms": {"eq-diff1"}, "off": set()}[equality]
    assert {violation.rule for violation in store.check()} == expected
    store.update(delete=[(b, p, two)])
    assert store.check() == []


ILL = """
:a :p "abc"^^xsd:integer . :b :p "300"^^xsd:byte . :c :p " 1 "^^xsd:int . :d :p "2019-02-29"^^xsd:date . :e :p "1" .
:r rdfs:range xsd:integer . :f :r "1.5"^^xsd:decimal , 2 , "3.0"^^xsd:decimal . :g :r "4" . :h :r "5"^^:own .
"""


@pytest.mark.long_on_spark(each=3)
@each_mode
def test_what_is_no_value_is_a_violation(make_store: MakeStore, tmp_path: Path, equality: str) -> None:
    store = loaded(make_store, tmp_path, ILL, equality)
    found = oracle.closure_by_value(triples(ILL), _owl2rl(), equality)
    at_fault = {
        (v.rule, frozenset(tuple(from_rdflib(t) for t in triple) for triple in v.triples)) for v in store.check()
    }
    assert at_fault == found.violations
    assert {rule for rule, _ in at_fault} == {"dt-not-type"}
    assert len(at_fault) == 6
    wrong = {triple for _, facts in at_fault for triple in facts}
    bad = {o if p != oracle.TYPE else s for s, p, o in wrong}
    store.update(delete=[t for t in store.triples("asserted") if from_rdflib(t[2]) in bad])
    assert store.check() == []
    good, ill = (
        (rdflib.URIRef(E + "z"), rdflib.URIRef(E + "p"), rdflib.Literal(x, datatype=rdflib.XSD.int)) for x in ("1", "x")
    )
    store.update(add=[good])
    assert store.check() == []
    store.update(add=[ill])
    assert [violation.rule for violation in store.check()] == ["dt-not-type"]


TYPES = """
:Adult owl:someValuesFrom xsd:byte ; owl:onProperty :age . :a :age 18 . :b :age 300 . :c :age "18.0"^^xsd:decimal .
:d :age "18" . xsd:token rdfs:subClassOf :Short . :Short owl:disjointWith :Long . :l :text "one two" .
"""


@pytest.mark.long_on_spark(each=3)
@each_mode
def test_types_of_literals_that_rules_ask_for(make_store: MakeStore, tmp_path: Path, equality: str) -> None:
    store = loaded(make_store, tmp_path, TYPES, equality)
    found = closure(store)
    assert found == oracle.rdf_only(oracle.closure_by_value(triples(TYPES), _owl2rl(), equality).triples)
    adults = {s for s, p, o in found if p == oracle.TYPE and o == f"<{E}Adult>"}
    assert adults == {f"<{E}a>", f"<{E}c>"}
    e, age = rdflib.URIRef(E + "e"), rdflib.URIRef(E + "age")
    number = rdflib.Literal("19", datatype=rdflib.XSD.int)
    store.update(add=[(e, age, number)])
    assert (str(e), rdflib.RDF.type, rdflib.URIRef(E + "Adult")) in {(str(s), p, o) for s, p, o in store.triples()}
    store.update(delete=[(e, age, number)])
    assert closure(store) == found


@pytest.mark.long_on_spark
def test_without_the_datatype_rules_literals_are_terms(make_store: MakeStore, tmp_path: Path) -> None:
    text = ':a :p 1 . :b :p "01"^^xsd:integer , "abc"^^xsd:integer .'
    store = loaded(make_store, tmp_path, text, None, "rdfs")
    assert [str(row[0]) for row in store.query(f"SELECT ?s {{ ?s <{E}p> 1 }}")] == [E + "a"]
    assert store.check() == []
    assert of_data(closure(store)) == triples(text)


@pytest.mark.long_on_spark
def test_adding_the_datatype_rules_merges_the_values(make_store: MakeStore, tmp_path: Path) -> None:
    text = ':a :p 1 . :b :p "01"^^xsd:integer . :a :q "abc"^^xsd:integer .'
    store = loaded(make_store, tmp_path, text, None, "rdfs")
    store.change_rules(add=["owl2rl"])
    assert len(list(store.query(f"SELECT ?s {{ ?s <{E}p> 1 }}"))) == 2
    assert of_data(closure(store)) == triples(text)
    assert [violation.rule for violation in store.check()] == ["dt-not-type"]
    store.change_rules(remove=["owl2rl"])
    assert len(list(store.query(f"SELECT ?s {{ ?s <{E}p> 1 }}"))) == 1
    assert store.check() == []


@pytest.mark.long_on_spark
def test_copies_and_compacted_stores_keep_the_values(make_store: MakeStore, tmp_path: Path) -> None:
    store = loaded(make_store, tmp_path, EQUAL)
    store.update(
        add=[(rdflib.URIRef(E + "z"), rdflib.URIRef(E + "p"), rdflib.Literal("0001", datatype=rdflib.XSD.int))]
    )
    found = closure(store)
    store.compact()
    store.vacuum(keep=1)
    assert closure(store) == found
    store.copy(tmp_path / "copy")
    with Store.open(tmp_path / "copy", engine="duckdb") as copied:
        assert closure(copied) == found
        assert copied.stats()["expanded"] == len(found)


def test_a_store_of_the_format_before_is_refused(tmp_path: Path) -> None:
    Store.create(tmp_path / "kg").close()
    (tmp_path / "kg" / "triplake.json").write_text('{"format": 1}')
    with pytest.raises(DamagedStoreError, match="of store format 1, this program reads from 2 on; export"):
        Store.open(tmp_path / "kg")


@pytest.mark.long_on_spark(each=3)
@each_mode
def test_proofs_go_down_to_the_forms_that_were_asserted(make_store: MakeStore, tmp_path: Path, equality: str) -> None:
    text = ':p rdfs:subPropertyOf :q . :a :p 1 . :b :p "01"^^xsd:integer . ' + TYPES + ILL
    store = loaded(make_store, tmp_path, text, equality)
    said = triples(text)

    def proved(turtle: str) -> list[tuple[str, Triple | None]]:
        (triple,) = triples(turtle)
        found = store.explain(tuple(map(to_rdflib, triple)))
        assert found is not None
        assert found.tokens == triple
        assert set(found.asserted()) <= said
        return [(step.by, step.tokens) for step in found.steps() if step.by.startswith("dt-")]

    one, padded, other = (literal_token(x, XSD + "integer") for x in ("1", "01", "001"))
    assert proved(":b :q 1 .") == [("dt-eq", (padded, oracle.SAME_AS, one))]
    assert proved(":a :p 1 .") == proved(':b :p "01"^^xsd:integer .') == []
    chain = [("dt-eq", (padded, oracle.SAME_AS, other)), ("dt-eq", (one, oracle.SAME_AS, padded))]
    assert proved(':a :p "001"^^xsd:integer .') == chain
    assert [by for by, _ in proved(":a a :Adult .")] == ["dt-type2"]
    (absent,) = triples(":a :p 3 .")
    assert store.explain(tuple(map(to_rdflib, absent))) is None
    for number in (1, 2, 3):
        assert set(store.explain_violation("dt-not-type", number).asserted()) <= said


@pytest.mark.parametrize("many", [0, 3])
def test_types_are_asked_for_through_a_large_schema_too(embedded: Engine, many: int) -> None:
    """With schema facts joined by the engine, from the start or grown too large on the way."""
    more = " ".join(
        f":R{i} owl:someValuesFrom xsd:{t} ; owl:onProperty :age ." for i, t in enumerate(["int", "string"])
    )
    found, _ = materialised(embedded, sorted(triples(TYPES + more)), _owl2rl(), "rewrite", many, datatypes=True)
    assert found == oracle.rdf_only(oracle.closure_by_value(triples(TYPES + more), _owl2rl()).triples)
    assert (f"<{E}d>", oracle.TYPE, f"<{E}R1>") in found


def test_what_reads_any_class_asks_for_no_types(embedded: Engine) -> None:
    facts = triples("rdf:type owl:inverseOf :has . :a :age 5 . :a a :C .")
    found, _ = materialised(embedded, sorted(facts), _owl2rl(), "rewrite", datatypes=True)
    assert found == oracle.rdf_only(oracle.closure_by_value(facts, _owl2rl()).triples)
    assert (f"<{E}C>", f"<{E}has>", f"<{E}a>") in found
    assert not any(p == f"<{E}has>" and o.startswith('"') for _, p, o in found)
