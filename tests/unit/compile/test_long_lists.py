"""Rdf lists of many members in ontologies: no recursion over them, and a limit told where each member is a join."""

from __future__ import annotations

from pathlib import Path

import pytest
from rdflib import OWL, RDF, Graph, Namespace
from rdflib.term import Node

from tests.conftest import MakeStore
from tests.support.cli import run
from triplestore import Store
from triplestore.model.errors import LimitError

EX = Namespace("http://e/")
PREFIXES = "@prefix : <http://e/> .\n@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"


def members(n: int) -> str:
    return " ".join(f":m{i}" for i in range(n))


@pytest.mark.parametrize("operator", ["unionOf", "oneOf"])
def test_a_long_list_is_read(tmp_path: Path, operator: str) -> None:
    path = tmp_path / "x.ttl"
    path.write_text(f"{PREFIXES}:C owl:{operator} ( {members(2_000)} ) . :x a :m1999 .")
    with Store.create(tmp_path / "kg") as store:
        store.load(path)
        what = {"unionOf": "http://e/x", "oneOf": "http://e/m1999"}[operator]
        assert store.query(f"ASK {{ <{what}> a <http://e/C> }}").boolean


def test_a_key_of_many_properties(tmp_path: Path) -> None:
    """Whether two halves of a join are each other's image is found without trying all atoms for all."""
    path = tmp_path / "x.ttl"
    values = "; ".join(f":m{i} :v{i}" for i in range(30))
    path.write_text(f"{PREFIXES}:C owl:hasKey ( {members(30)} ) . :x a :C; {values} . :y a :C; {values} .")
    with Store.create(tmp_path / "kg") as store:
        store.load(path)
        assert store.query("ASK { <http://e/x> <http://www.w3.org/2002/07/owl#sameAs> <http://e/y> }").boolean
    path.write_text(f"{PREFIXES}:C owl:hasKey ( {members(100)} ) . :x a :C; {values} . :y a :C; {values} .")
    with Store.create(tmp_path / "more") as store:
        store.load(path)


@pytest.mark.long
@pytest.mark.parametrize("equality", ["rewrite", "axioms"])
def test_several_keys_of_many_properties(tmp_path: Path, equality: str) -> None:
    """Keys of one length are one statement, whose time grows with their members."""
    path, texts = tmp_path / "x.ttl", []
    for key in "abc":
        names = [f":{key}{i}" for i in range(60)]
        values = "; ".join(f"{name} :v" for name in names[1:])
        texts += [f":{key} owl:hasKey ( {' '.join(names)} ) ."]
        texts += [f":{key}x a :{key}; {names[0]} :v; {values} . :{key}y a :{key}; {names[0]} :w; {values} ."]
    path.write_text("\n".join([PREFIXES, *texts, ":by :b0 :v ."]))
    link = tmp_path / "link.ttl"
    link.write_text(f"{PREFIXES}:ay :a0 :v . :cy :c0 :v .")
    same = "http://www.w3.org/2002/07/owl#sameAs"
    with Store.create(tmp_path / "kg", equality=equality) as store:
        store.load(path)
        for _ in range(2):
            found = [store.query(f"ASK {{ <http://e/{k}x> <{same}> <http://e/{k}y> }}").boolean for k in "abc"]
            assert found == [False, True, False]
            store.update(add=triples(link))
            found = [store.query(f"ASK {{ <http://e/{k}x> <{same}> <http://e/{k}y> }}").boolean for k in "abc"]
            assert found == [True, True, True]
            store.update(delete=triples(link))


def agreeing(properties: int, values: int) -> list[tuple[Node, Node, Node]]:
    """Members of a key in four pairs that have all values of all properties in common, the first but in its pair."""
    key = Graph().parse(data=f"{PREFIXES}:C owl:hasKey ( {members(properties)} ) .")
    found = list(key)
    for member in range(8):
        found.append((EX[f"x{member}"], RDF.type, EX.C))
        for value in range(values):
            found.append((EX[f"x{member}"], EX.m0, EX[f"pair{member // 2}{value}"]))
            found += [(EX[f"x{member}"], EX[f"m{n}"], EX[f"v{value}"]) for n in range(1, properties)]
    return found


def pairs(store: Store) -> set[tuple[int, int]]:
    found = store.query(f"SELECT ?a ?b {{ ?a <{OWL.sameAs}> ?b FILTER(STRSTARTS(STR(?a), '{EX.x}')) }}")
    ends = ((int(str(a)[-1]), int(str(b)[-1])) for a, b in found)
    return {(a, b) for a, b in ends if a < b}


@pytest.mark.long_on_spark
def test_two_members_stay_one_when_others_join_them(make_store: MakeStore) -> None:
    """No fact says that two members of a class are equal."""
    different = "[] a owl:AllDifferent ; owl:members ( :d :c :b ) . :c owl:sameAs :b . :a :p :e ."
    more = list(Graph().parse(data=f"{PREFIXES}:e owl:sameAs :b ."))
    store = make_store(add=list(Graph().parse(data=f"{PREFIXES}{different}")))
    for _ in range(2):
        assert {violation.rule for violation in store.check()} == {"eq-diff2"}
        store.update(add=more)
        assert {violation.rule for violation in store.check()} == {"eq-diff2"}
        store.update(delete=more)


@pytest.mark.long_on_spark
@pytest.mark.parametrize(
    ("equality", "algorithm"),
    [
        ("rewrite", "auto"),
        ("rewrite", "backward-forward"),
        ("axioms", "backward-forward"),
        ("axioms", "dred"),
        ("off", "fixpoint-update"),
        ("off", "rematerialise"),
    ],
)
@pytest.mark.sampled(each=2)
def test_members_of_a_key_with_several_values(make_store: MakeStore, equality: str, algorithm: str) -> None:
    """Two members with two values of each of 20 properties agree in 2^20 ways, which are not tried one by one."""
    apart = {(0, 1), (2, 3), (4, 5), (6, 7)}
    one = apart | {(a, b) for a in (0, 1) for b in (2, 3)}
    link = [(EX.x1, EX.m0, EX.pair10)]
    with make_store(equality=equality) as store:
        store.update(add=agreeing(20, 2))
        assert pairs(store) == apart
        store.update(add=link)
        assert pairs(store) == (one if equality != "off" else apart | {(1, 2), (1, 3)})
        store.update(delete=link, maintain=algorithm)
        assert pairs(store) == apart


@pytest.mark.parametrize(("axiom", "most"), [("hasKey", 100), ("propertyChainAxiom", 400), ("intersectionOf", 1_000)])
def test_a_list_too_long_to_be_joined_is_told(tmp_path: Path, axiom: str, most: int) -> None:
    path = tmp_path / "x.ttl"
    path.write_text(f"{PREFIXES}:C owl:{axiom} ( {members(most + 1)} ) . :x :m1 :y; a :m1, :C .")
    outcome = run("load", tmp_path / "new", path)
    assert (outcome.code, f"a list of the data has {most + 1:,} members: at most {most:,}" in outcome.err) == (
        2,
        True,
    ), outcome
    with Store.create(tmp_path / "kg") as store, pytest.raises(LimitError):
        store.load(path)


@pytest.mark.parametrize(
    ("kind", "link", "data", "rule"),
    [
        ("AllDisjointClasses", "members", ":x a :m7 , :m19999 .", "cax-adc"),
        ("AllDifferent", "members", ":m7 owl:sameAs :m19999 .", "eq-diff2"),
        ("AllDifferent", "distinctMembers", ":m7 owl:sameAs :m19999 .", "eq-diff3"),
        ("AllDisjointProperties", "members", ":x :m7 :y ; :m19999 :y .", "prp-adp"),
    ],
)
@pytest.mark.parametrize("equality", ["rewrite", pytest.param("axioms", marks=pytest.mark.long)])
@pytest.mark.sampled(each=2)
def test_two_members_of_a_long_list(tmp_path: Path, kind: str, link: str, data: str, rule: str, equality: str) -> None:
    """The list is joined as a table: a load and an update cost its members, not its pairs."""
    path, clash = tmp_path / "list.ttl", tmp_path / "clash.ttl"
    path.write_text(f"{PREFIXES}[] a owl:{kind} ; owl:{link} ( {members(20_000)} ) . :z :m1 :y ; a :m2 .")
    clash.write_text(f"{PREFIXES}{data}")
    with Store.create(tmp_path / "kg", equality=equality) as store:
        store.load(path)
        assert store.check() == []
        for _ in range(2):
            store.update(add=triples(clash))
            assert {v.rule for v in store.check()} == {rule}
            store.update(delete=triples(clash))
            assert store.check() == []


def triples(path: Path) -> list[tuple[Node, Node, Node]]:
    return list(Graph().parse(path))


def near(folder: Path, link: str, order: str = "FILTER(?i < ?j)") -> str:
    """A file with a rule that derives from two members of the lists that this predicate leads to."""
    rules = folder / "near.dlog"
    body = f"[?x, {link}, ?l], MEMBER[?l, ?a, ?i], MEMBER[?l, ?b, ?j], {order}"
    rules.write_text(f"PREFIX : <http://e/>\n[?a, :near, ?b] :- {body} .\n")
    return str(rules)


def test_a_rule_that_derives_from_two_members_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "x.ttl"
    path.write_text(f"{PREFIXES}[] owl:members ( {members(4_000)} ) .")
    with (
        Store.create(tmp_path / "kg", rules=[near(tmp_path, "owl:members")]) as store,
        pytest.raises(LimitError, match="a list of the data has 4,000 members: at most 3,000"),
    ):
        store.load(path)


def test_a_rule_that_derives_from_two_members_has_a_limit_over_all_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each cell of a list begins one, which matters where a rule asks for the lists of any data."""
    monkeypatch.setattr("triplestore.compile.data_rule.MOST_PAIRS", 100)
    path = tmp_path / "x.ttl"
    path.write_text(f"{PREFIXES}:x :pairs ( {members(12)} ) .")
    with (
        Store.create(tmp_path / "kg", rules=[near(tmp_path, ":pairs")]) as store,
        pytest.raises(LimitError, match="the lists of the data have more than 100 such pairs"),
    ):
        store.load(path)


@pytest.mark.parametrize("axiom", [":C owl:unionOf", ":C owl:intersectionOf", "[] a owl:AllDifferent ; owl:members"])
def test_a_list_of_too_many_ways_is_refused(tmp_path: Path, axiom: str) -> None:
    """Each node the rest of all: as many lists as ways through them, which no computer counts."""
    path, nodes = tmp_path / "x.ttl", range(12)
    cells = " ".join(f":n{i} rdf:first :m{i} ; rdf:rest {', '.join(f':n{j}' for j in nodes)}, rdf:nil ." for i in nodes)
    prefix = "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n"
    path.write_text(f"{PREFIXES}{prefix}{axiom} :n0 . {cells} :x a :m3 .")
    with Store.create(tmp_path / "kg") as store:
        with pytest.raises(LimitError, match="more than 100,000 ways lead along rdf:rest"):
            store.load(path)
        assert list(store.triples("asserted")) == []
    with Store.create(tmp_path / "rdfs", ["rdfs"]) as store:
        store.load(path)
        assert store.query("ASK { <http://e/x> a <http://e/m3> }").boolean


BRANCHING = """@prefix : <http://e/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
:x :pairs :n0 .
:n0 rdf:first :a ; rdf:rest :b1, :c1 .
:b1 rdf:first :b ; rdf:rest () .
:c1 rdf:first :c ; rdf:rest ( :d ) .
"""
"""The lists (a b) and (a c d)."""


@pytest.mark.parametrize(
    ("order", "pairs"),
    [
        ("FILTER(?i < ?j)", {"ab", "ac", "ad", "cd"}),
        ("FILTER(?i != ?j)", {"ab", "ac", "ad", "cd", "ba", "ca", "da", "dc"}),
        ("FILTER(?i = ?j)", {"aa", "bb", "cc", "dd"}),
    ],
)
def test_positions_are_compared_in_one_list(tmp_path: Path, order: str, pairs: set[str]) -> None:
    """Where several lists begin at a node, no member of one stands before a member of another."""
    path = tmp_path / "x.ttl"
    path.write_text(BRANCHING)
    with Store.create(tmp_path / "kg", rules=[near(tmp_path, ":pairs", order)]) as store:
        store.load(path)
        found = [triple for triple in store.triples() if triple[1] == EX.near]
        assert {f"{a[-1]}{b[-1]}" for a, _, b in found} == pairs
        assert all(store.explain(triple) for triple in found)


def test_members_of_two_lists_at_a_node_may_be_equal(tmp_path: Path) -> None:
    """b and d are in no list together; c and d are, and the proof reads that list for both."""
    path = tmp_path / "x.ttl"
    different = "@prefix owl: <http://www.w3.org/2002/07/owl#> . :x a owl:AllDifferent ; owl:members :n0 .\n"
    path.write_text(f"{BRANCHING}{different}:b owl:sameAs :d .\n")
    with Store.create(tmp_path / "kg") as store:
        store.load(path)
        assert store.check() == []
        store.update(add=[(EX.c, OWL.sameAs, EX.d)])
        assert {violation.rule for violation in store.check()} == {"eq-diff2"}
        read = str(store.explain_violation("eq-diff2"))
        assert "c1" in read
        assert "b1" not in read
