"""The datatypes of OWL 2 RL: literals one by one, all together in the encoding, and in rules and answers."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import rdflib
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.conftest import MakeStore
from tests.support import literal_values, oracle
from tests.support.closure import materialised
from tests.support.datatypes import E, Triple, closure, each_mode, loaded, of_data, triples
from tests.support.rule_cases import ntriples
from triplestore import Store
from triplestore.dictionary import encoding, literals
from triplestore.dictionary.datatypes import DATATYPES, KNOWN, Space, in_space, value_of
from triplestore.dictionary.fingerprints import Fingerprints
from triplestore.engine import Engine
from triplestore.engine.queries import count
from triplestore.materialise import datatypes as rules
from triplestore.model.errors import DamagedStoreError
from triplestore.model.tables import TERM, token_sql
from triplestore.model.terms import FIRST_LITERAL, RDF, XSD, builtin, from_rdflib, literal_token, to_rdflib
from triplestore.storage.manifest import Counters

_signs = st.sampled_from(["", "", "+", "-"])
_digits = st.text("0019", max_size=3)
_whole = st.one_of(
    st.builds("{}{}{}".format, _signs, _digits, st.sampled_from(["0", "1", "127", "128", "255", "256", "65535"])),
    st.integers(-(2**65), 2**65).map(str),
    st.sampled_from([2**n + d for n in (7, 8, 15, 16, 31, 32, 63, 64, 70) for d in (-1, 0, 1)]).map(str),
)
_fractions = st.builds("{}{}.{}".format, _signs, _digits, _digits)
_floating = st.one_of(
    st.builds("{}{}.{}e{}".format, _signs, _digits, _digits, st.integers(-50, 50)),
    st.builds("{}{}E{}".format, _signs, st.sampled_from(["1", "16777217", "3.4028235677973366"]), _whole),
    st.floats().map(lambda x: repr(x).replace("inf", "INF").replace("nan", "NaN")),
    st.sampled_from(["0", "-0", "+0.0", "INF", "-INF", "+INF", "NaN", "inf", "1e400", "-1e400", "1e-400", "1e39"]),
)
_texts = st.text("ab:-_1 \t\né\x00\ufffe", max_size=5)
_zones = st.sampled_from(["", "Z", "+00:00", "-00:00", "+01:00", "-05:30", "+14:00", "+14:01", "+1:00"])
_days = st.sampled_from(
    ["2020-02-29", "2019-02-29", "2020-12-31", "0001-01-01", "2020-13-01", "1999-04-30", "99-01-01"]
)
_times = st.sampled_from(["00:00:00", "24:00:00", "23:59:60", "12:30:00.5", "12:30:00.50", "24:00:00.1", "1:00:00"])
_xml = st.sampled_from(
    [
        "",
        "a",
        "<b/>",
        "<b></b>",
        "<b x='1' y='2'/>",
        '<b y="2" x="1"></b>',
        "<b>",
        "a&amp;b",
        "a&b",
        "<!-- c -->",
        "</r><r>",
    ]
)
_forms = {
    **dict.fromkeys(literal_values.RANGES, st.one_of(_whole, _whole, _fractions)),
    XSD + "decimal": st.one_of(_whole, _fractions, _fractions),
    **dict.fromkeys((XSD + "double", XSD + "float"), st.one_of(_floating, _whole, _fractions)),
    **dict.fromkeys(literal_values.TEXTS, _texts),
    XSD + "language": st.sampled_from(["en", "EN", "en-GB", "abcdefghi", "1a", "", "a-b-1"]),
    RDF + "PlainLiteral": st.one_of(
        _texts, st.builds("{}@{}".format, _texts, st.sampled_from(["", "en", "EN", "a_b"]))
    ),
    XSD + "boolean": st.sampled_from(["true", "false", "1", "0", "True", "", " 1"]),
    XSD + "dateTime": st.builds("{}T{}{}".format, _days, _times, _zones),
    XSD + "dateTimeStamp": st.builds("{}T{}{}".format, _days, _times, _zones),
    XSD + "date": st.builds("{}{}".format, _days, _zones),
    XSD + "hexBinary": st.text("aAfF0g", max_size=4),
    XSD + "base64Binary": st.text("QAg= ", max_size=5),
    XSD + "anyURI": st.sampled_from(["http://e/", "a b", "", "\x00"]),
    RDF + "XMLLiteral": _xml,
    "http://e/own": _texts,
}
_spaced = st.sampled_from(["{}", "{}", "{}", "{}", "{}", " {}", "{}\n"])
typed = st.sampled_from(sorted(_forms)).flatmap(
    lambda datatype: st.builds(lambda f, t: literal_token(f.format(t), datatype), _spaced, _forms[datatype])
)
tagged = st.builds(lambda text, tag: literal_token(text, None, tag), _texts, st.sampled_from(["en", "EN", "de"]))
tokens = st.one_of(typed, typed, typed, typed, tagged)


# -- one by one, against Python's own types


def test_every_datatype_of_the_profile_is_known() -> None:
    assert set(literal_values.KNOWN) == set(KNOWN)
    assert set(literal_values.DATATYPES) | {RDF + "langString"} == set(DATATYPES)


@settings(max_examples=1500, deadline=None, derandomize=True)
@given(st.lists(tokens, min_size=2, max_size=6))
@example([literal_token(x, XSD + "float") for x in ("16777217", "16777216", "16777217.0000000001")])
@example([literal_token(x, XSD + "double") for x in ("0.0", "-0.0", "1e-400")])
def test_values_are_those_of_pythons_own_types(literals_: list[str]) -> None:
    found = [value_of(token) for token in literals_]
    wanted = [literal_values.value(token) for token in literals_]
    assert [value is None for value in found] == [value is literal_values.ILL for value in wanted]
    for one, one_wanted in zip(found, wanted, strict=True):
        for other, other_wanted in zip(found, wanted, strict=True):
            if one and other:
                assert (one.canonical == other.canonical) == (one_wanted == other_wanted)
        if one and one.space is not Space.OTHER:
            canonical = value_of(one.canonical)
            assert canonical is not None, "a canonical token can be read"
            assert canonical.canonical == one.canonical, "a canonical token is its own"
            for datatype in literal_values.DATATYPES:
                assert in_space(one, datatype) == literal_values.within(one_wanted, datatype), datatype


# -- all together, by SQL, against one by one


def numbered(engine: Engine, batches: list[list[str]], in_memory: bool) -> dict[str, dict[str, Any]]:
    """The rows of TERM of literals that came in batches, by token. in_memory: the first batch apart, what is known is
    known by its fingerprints."""
    encoding.builtin_terms(engine, "term")
    counters, known = Counters(), None
    for batch in batches:
        if known is None:
            rows = [("<http://e/s>", "<http://e/p>", token) for token in batch]
            engine.load("raw", pa.table({c: [row[i] for row in rows] for i, c in enumerate("spo")}))
            new, counters = encoding.encode(engine, "raw", counters)
        else:
            found = encoding.numbered(engine, (), batch, counters, known)
            new, counters = len(found.new), found.counters
            known.add(found.new)
            assert found.ids == encoding.numbered(engine, batch, (), counters, known).ids
        if new:
            engine.append("term", [f"SELECT {TERM.select} FROM new_term"])
        if in_memory and known is None:
            known = Fingerprints.read(engine)
        if known is not None:
            assert len(known) == count(engine, "term")
    found = engine.query(f"SELECT {token_sql()} AS token, t.* FROM term t WHERE id >= {FIRST_LITERAL}").to_pylist()
    assert counters.equal_valued == sum(row["value"] is not None for row in found)
    assert counters.ill_typed == sum(row["ill_typed"] for row in found)
    return {row["token"]: row for row in found}


def check_numbered(engine: Engine, batches: list[list[str]], in_memory: bool = False) -> None:
    found = numbered(engine, batches, in_memory)
    assert set(found) == {token for batch in batches for token in batch}
    first: dict[Any, int] = {}
    for token, row in sorted(found.items(), key=lambda item: item[1]["id"]):
        meaning = literal_values.value(token)
        assert row["ill_typed"] == (meaning is literal_values.ILL), token
        home = row["id"] if meaning is literal_values.ILL else first.setdefault(meaning, row["id"])
        assert (row["value"] if row["value"] is not None else row["id"]) == home, token
    asked = [token for batch in batches for token in batch]
    ids = literals.equal_to(engine, asked)
    assert ids == {token: found[token]["value"] or found[token]["id"] for token in asked}
    selects = rules.types_sql(engine.dialect, range(len(DATATYPES)), {n: [d] for n, d in enumerate(DATATYPES)})
    types = defaultdict(set)
    for fact in engine.query(selects).to_pylist():
        types[fact["s"]].add(DATATYPES[fact["o"]])
    for token, row in found.items():
        value = value_of(token)
        known = value is not None and value.space is not Space.OTHER and row["value"] is None
        assert types[row["id"]] == ({d for d in DATATYPES if in_space(value, d)} if known and value else set()), token


@pytest.mark.parametrize("how", ["one by one", "by SQL", "in memory"])
@settings(max_examples=10, deadline=None, derandomize=True)
@given(batches=st.lists(st.lists(tokens, max_size=12), min_size=1, max_size=3))
def test_the_dictionary_knows_the_values(embedded: Engine, batches: list[list[str]], how: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if how == "by SQL":
            patch.setattr(encoding, "SMALL", -1)
        check_numbered(embedded, batches, in_memory=how == "in memory")


@pytest.mark.long
@pytest.mark.spark
@settings(max_examples=2, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(batches=st.lists(st.lists(tokens, min_size=60, max_size=80), min_size=2, max_size=2))
def test_the_dictionary_knows_the_values_on_spark(spark_engine: Engine, batches: list[list[str]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "SMALL", -1)
        check_numbered(spark_engine, batches)


# -- in stores


EQUAL = """
:key a owl:InverseFunctionalProperty . :a :key 1 . :b :key "01"^^xsd:integer . :c :key "1"^^xsd:byte . :d :key 1e0 .
:a :name "A" . :b :name "A"^^xsd:token . :c :p "x@en"^^rdf:PlainLiteral , "x"@en .
:R owl:hasValue "1.0"^^xsd:decimal ; owl:onProperty :key .
"""


@pytest.mark.long_on_spark
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


@pytest.mark.long_on_spark
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


@pytest.mark.long_on_spark
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


@pytest.mark.long_on_spark
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


@pytest.mark.long_on_spark
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
    store = make_store(["rdfs"])
    (tmp_path / "data.nt").write_text(ntriples(triples(text)), encoding="utf-8")
    store.load(str(tmp_path / "data.nt"))
    assert [str(row[0]) for row in store.query(f"SELECT ?s {{ ?s <{E}p> 1 }}")] == [E + "a"]
    assert store.check() == []
    assert of_data(closure(store)) == triples(text)


@pytest.mark.long_on_spark
def test_adding_the_datatype_rules_merges_the_values(make_store: MakeStore, tmp_path: Path) -> None:
    text = ':a :p 1 . :b :p "01"^^xsd:integer . :a :q "abc"^^xsd:integer .'
    store = make_store(["rdfs"])
    (tmp_path / "data.nt").write_text(ntriples(triples(text)), encoding="utf-8")
    store.load(str(tmp_path / "data.nt"))
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


def test_datatypes_have_ids() -> None:
    assert len({builtin(name) for name in DATATYPES}) == len(DATATYPES)


@pytest.mark.long_on_spark
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
