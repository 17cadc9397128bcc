"""What a version changed: `log --facts` equals the difference of two exports, however the versions were written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rdflib import Literal
from rdflib.namespace import OWL, RDF, RDFS, XSD, Namespace
from rdflib.term import Node

from tests.conftest import MakeStore
from tests.support.cli import done, run
from triplestore import Store
from triplestore.model.errors import UsageError
from triplestore.model.terms import from_rdflib
from triplestore.read.differences import KINDS, SIGNS

E = Namespace("http://e/")
Triple = tuple[str, ...]
Changes = dict[tuple[str, str], set[str]]


def lines(triples: set[Triple]) -> set[str]:
    return {f"{s} {p} {o} ." for s, p, o in triples}


def exported(store: Store, version: int) -> dict[str, set[Triple]]:
    """A version's asserted triples; its closure, and what is inferred of it, by representatives; its equalities."""
    with Store.open(store.path, engine="duckdb", at=version) as then:
        classes = [[from_rdflib(m) for m in members] for _, members in then.equality_classes(100, 1000)]
        pi = {member: first for first, *rest in classes for member in (first, *rest)}
        found = {"asserted": {tuple(map(from_rdflib, t)) for t in then.triples("asserted")}}
        for what in ("inferred", "all"):
            triples = (map(from_rdflib, t) for t in then.triples(what, "canonical"))
            found[what] = {tuple(pi.get(term, term) for term in t) for t in triples}
    found["equal"] = {(member, f"<{OWL.sameAs}>", first) for first, *rest in classes for member in rest}
    return found


def told(store: Store, version: int) -> Changes:
    with store.log_facts(version) as change:
        assert change.counts.keys() == set(KINDS)
        found = {(kind, sign): list(change.lines(kind, sign)) for kind in KINDS for sign in SIGNS}
        assert {key: change.counts[key[0]][key[1]] for key in found} == {key: len(v) for key, v in found.items()}
        assert all(list(change.lines(*key, limit=1)) == value[:1] for key, value in found.items())
    assert all(value == sorted(value) for value in found.values())
    return {key: set(value) for key, value in found.items()}


def expected(store: Store) -> dict[int, Changes]:
    """The changes of all versions, from their exports."""
    exports = {n: exported(store, n) for n in range(1, store.version + 1)}
    changes = {}
    for version in range(2, store.version + 1):
        found: Changes = {}
        for sign, now, then in (
            ("added", exports[version], exports[version - 1]),
            ("removed", exports[version - 1], exports[version]),
        ):
            found["asserted", sign] = lines(now["asserted"] - then["asserted"])
            found["inferred", sign] = lines((now["all"] - then["all"]) & now["inferred"])
            found["equal", sign] = lines(now["equal"] - then["equal"])
        changes[version] = found
    return changes


def history(store: Store) -> None:
    """Versions of every kind: patches and whole tables; a merge and a split; an axiom that comes and goes."""
    data: list[tuple[Node, Node, Node]] = [(E[f"s{i}"], E.knows, E[f"s{i + 1}"]) for i in range(6)]
    axiom, mail = (E.knows, RDFS.range, E.Person), (E.mail, RDF.type, OWL.InverseFunctionalProperty)
    store.update(add=[*data, axiom, mail, (E.s1, E.mail, E.m), (E.s3, E.age, Literal(4))])
    store.update(add=[(E.s5, E.mail, E.m)])  # s1 and s5 are one
    store.update(delete=[axiom, data[0]])
    store.update(delete=[(E.s1, E.mail, E.m)], add=[data[0], (E.s6, RDF.type, E.Person)])
    store.update(add=[axiom], delete=data[1:4], maintain="rematerialise")
    store.compact()
    store.update(delete=[(E.s6, RDF.type, E.Person)])  # still inferred: gone from what was asserted only
    store.materialise()


@pytest.mark.long_on_spark
def test_a_change_is_the_difference_of_two_exports(make_store: MakeStore) -> None:
    store = make_store()
    history(store)
    changed = 0
    for version, wanted in expected(store).items():
        assert told(store, version) == wanted, version
        changed += any(wanted.values())
    assert changed == 6
    assert {"<http://e/s5> <http://www.w3.org/2002/07/owl#sameAs> <http://e/s1> ."} == told(store, 3)["equal", "added"]
    assert told(store, store.version - 1)["inferred", "added"] == set(), "what is inferred now held before"
    assert set(store.triples()), "the store reads its own version afterwards"


@pytest.mark.long_on_spark
@pytest.mark.parametrize("equality", ["axioms", "off"])
@pytest.mark.sampled(each=2)
def test_without_rewriting_equalities_are_facts(make_store: MakeStore, equality: str) -> None:
    store = make_store(["owl2rl"], equality)
    history(store)
    for version, wanted in expected(store).items():
        assert told(store, version) == {**wanted, ("equal", "added"): set(), ("equal", "removed"): set()}


@pytest.mark.long_on_spark
def test_literals_of_one_value(make_store: MakeStore) -> None:
    """A value that was asserted in two forms does not go with one of them."""
    store = make_store()
    four, other = (Literal(text, datatype=XSD.integer, normalize=False) for text in ("4", "04"))
    store.update(add=[(E.a, E.age, four), (E.age, RDFS.subPropertyOf, E.number)])
    store.update(add=[(E.a, E.age, other)])
    assert told(store, 3)["asserted", "added"] == {f'<http://e/a> <http://e/age> "04"^^<{XSD.integer}> .'}
    assert told(store, 3)["inferred", "added"] == set()
    store.update(delete=[(E.a, E.age, four)])
    assert told(store, 4)["asserted", "removed"] == {f'<http://e/a> <http://e/age> "4"^^<{XSD.integer}> .'}
    assert told(store, 4)["inferred", "removed"] == set()


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Store.create("kg") as store:
        history(store)
    out = done("log", "kg", "4", "--facts").splitlines()
    assert out[0].startswith("# version 4, ")
    assert out[0].endswith("update, since version 3")
    assert out[1:4] == [
        "# asserted: 0 added, 2 removed",
        "- <http://e/knows> <http://www.w3.org/2000/01/rdf-schema#range> <http://e/Person> .",
        "- <http://e/s0> <http://e/knows> <http://e/s1> .",
    ]
    few = done("log", "kg", "2", "--facts", "--limit", "1").splitlines()
    assert "# asserted: 10 added, 0 removed" in few
    assert "# ... and 9 more added; --limit 0 shows all" in few
    everything = done("log", "kg", "2", "--facts", "--limit", "0").splitlines()
    assert sum(line.startswith("+ ") for line in everything) == 10 + int(everything[12].split()[-4])
    found = json.loads(done("log", "kg", "4", "--facts", "--json"))
    assert (found["version"], found["before"], found["operation"]) == (4, 3, "update")
    assert found["changes"]["asserted"] == {"added": 0, "removed": 2}
    assert [f"- {line}" for line in found["triples"]["asserted"]["removed"]] == out[2:4]
    assert done("log", "kg", "--facts") == done("log", "kg", "9", "--facts")
    assert len(done("log", "kg", "4").splitlines()) == 2
    assert run("log", "kg", "99", "--facts").code == 2
    assert run("log", "kg", "--limit", "5").code == 2


def test_a_version_whose_predecessor_is_gone(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg") as store:
        store.update(add=[(E.a, E.p, E.b)])
        store.update(add=[(E.a, E.p, E.c)])
        assert told(store, 1)["asserted", "added"] == set()
        store.vacuum(keep=2)
        with pytest.raises(UsageError, match=r"version 1, which .* has been vacuumed; the change of version 3 can"):
            told(store, 2)
        assert told(store, 3)["asserted", "added"] == {"<http://e/a> <http://e/p> <http://e/c> ."}
        with pytest.raises(UsageError, match="no version 7"):
            told(store, 7)


def test_no_more_rows_than_asked_are_compared(make_store: MakeStore) -> None:
    store = make_store()
    store.update(add=[(E.a, E.p, E.b)])
    with store.log_facts(most=2) as change:
        assert change.counts["asserted"] == {"added": 1, "removed": 0}
    for graphs in False, True:  # where graphs alone gain triples, these are compared as well
        if graphs:
            store.sparql_update("COPY DEFAULT TO <http://e/g>")
        with (
            pytest.raises(UsageError, match=rf"version {store.version} wrote, or took away, files of \d+ rows"),
            store.log_facts(most=0),
        ):
            pass
    assert len(list(store.match(E.a, E.p))) == 1
