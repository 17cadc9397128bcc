"""SPARQL Update requests on a store: each operation sees the closure of what came before, the whole is one version."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import BNode, Literal
from rdflib.namespace import OWL, RDF, RDFS, Namespace

from tests.conftest import MakeStore
from tests.support.closure import MODES, PHASES, expected
from tests.support.random_programs import CLASSES, PROPERTIES, SAME, THINGS, TYPE, Triple, facts, programs, rules_of
from tests.support.sparql import ox_store, reference
from tests.support.stores import as_terms, rule_names, tokens
from triplestore import Store
from triplestore.model.errors import InputError, TriplakeError, UsageError
from triplestore.model.terms import to_ntriples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

E = Namespace("http://e/")
PREFIXES = (
    "PREFIX : <http://e/> PREFIX owl: <http://www.w3.org/2002/07/owl#> "
    "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
)


def asserted(store: Store) -> set[object]:
    return set(store.triples("asserted"))


# -- examples --------------------------------------------------------------------------------------------------------


@pytest.mark.long_on_spark
def test_operations_see_what_those_before_them_made_true(make_store: MakeStore) -> None:
    """On each engine: inference, equality and deletion inside one request, which is one version."""
    store = make_store()
    before = store.version
    done = store.sparql_update(
        PREFIXES
        + """
        INSERT DATA { :Cat rdfs:subClassOf :Animal . :tom a :Cat ; :age 3 } ;
        INSERT { ?x a :Living } WHERE { ?x a :Animal } ;
        INSERT DATA { :tom owl:sameAs :thomas } ;
        INSERT { ?x :years ?n } WHERE { :thomas :age ?n . ?x a :Living } ;
        DELETE { ?x :age ?n } WHERE { ?x :age ?n }
        """
    )
    assert store.version == before + 1
    assert asserted(store) == {
        (E.Cat, RDFS.subClassOf, E.Animal),
        (E.tom, RDF.type, E.Cat),
        (E.tom, RDF.type, E.Living),
        (E.tom, OWL.sameAs, E.thomas),
        (E.tom, E.years, Literal(3)),
        (E.thomas, E.years, Literal(3)),
    }
    assert done["not_asserted"] == 1  # :thomas :age 3, which held for :tom was asserted
    assert not list(store.match(predicate=E.age))
    with Store.open(store.path, engine="duckdb") as reopened:
        assert set(reopened.triples()) == set(store.triples())
        assert asserted(reopened) == asserted(store)
        assert reopened.log()[-1]["operation"] == "update"


def test_a_term_that_is_too_long(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", ["none"], engine="duckdb") as store:
        with pytest.raises(InputError, match=r"1, column 1\d: a term among these triples is longer than 16 MiB"):
            store.sparql_update("INSERT DATA { <u:a> <u:b> '" + "x" * (17 << 20) + "' }")
        assert not asserted(store)


def test_only_asserted_triples_go(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", engine="duckdb") as store:
        store.sparql_update(PREFIXES + "INSERT DATA { :p rdfs:domain :C . :a :p 1 ; owl:sameAs :b }")
        version, closure = store.version, set(store.triples())
        done = store.sparql_update(PREFIXES + "DELETE WHERE { ?x a :C } ; DELETE { :b :p ?n } WHERE { :b :p ?n }")
        assert (done["not_asserted"], done["algorithm"], store.version) == (3, "none", version)
        assert set(store.triples()) == closure
        done = store.sparql_update(PREFIXES + "DELETE { ?x :p ?n } WHERE { :b :p ?n . ?x :p ?n }")
        assert done["not_asserted"] == 1
        assert not {E.C, E.p} & {p for triple in store.match(E.b) for p in triple}


def test_a_triple_both_deleted_and_inserted_stays(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", ["none"], engine="duckdb") as store:
        store.sparql_update(PREFIXES + "INSERT DATA { :a :p 1 , 2 }")
        done = store.sparql_update(PREFIXES + "DELETE { ?x :p ?n } INSERT { ?x :p ?n } WHERE { ?x :p ?n }")
        assert done["not_asserted"] == 0
        store.sparql_update(PREFIXES + "DELETE DATA { :a :p 1 } ; INSERT DATA { :a :p 1 } ; DELETE DATA { :a :p 2 }")
        assert asserted(store) == {(E.a, E.p, Literal(1))}


def test_blank_nodes_of_templates_are_new_for_each_solution(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", ["none"], engine="duckdb") as store:
        store.sparql_update(PREFIXES + "INSERT DATA { :a :p 1 , 2 }")
        text = PREFIXES + "INSERT { ?x :has _:b . _:b :value ?n ; :in [] } WHERE { ?x :p ?n }"
        store.sparql_update(text)
        store.sparql_update(text)
        nodes = {o for _, _, o in store.match(predicate=E.has)}
        assert len(nodes) == 4
        assert all(isinstance(node, BNode) for node in nodes)
        assert {node: len(list(store.match(node, E.value))) for node in nodes} == dict.fromkeys(nodes, 1)
        assert len({o for _, _, o in store.match(predicate=E["in"])}) == 4
        store.sparql_update(PREFIXES + "DELETE { ?x :has ?b . ?b ?p ?o } WHERE { ?x :has ?b . ?b ?p ?o }")
        assert len(asserted(store)) == 2


def test_clear_takes_all_that_was_asserted(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", engine="duckdb") as store:
        store.sparql_update(PREFIXES + "INSERT DATA { :p a owl:SymmetricProperty . :a :p :b }")
        store.sparql_update(PREFIXES + "INSERT DATA { :a :p :c } ; CLEAR DEFAULT ; INSERT DATA { :a :p :b }")
        assert set(store.triples()) & {(E.a, E.p, E.b), (E.b, E.p, E.a), (E.a, E.p, E.c)} == {(E.a, E.p, E.b)}
        store.sparql_update("DROP ALL")
        assert asserted(store) == set()
        assert store.sparql_update("CLEAR DEFAULT")["deleted"] == 0


def test_load_reads_files_of_the_folder_only(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    (folder / "one.ttl").write_text("<http://e/a> <http://e/p> [] .")
    (folder / "deep" / "two words.nt").write_text("<http://e/b> <http://e/p> _:x .\n")
    (folder / "bad.nt").write_text("<http://e/b> oops\n")
    (tmp_path / "secret.ttl").write_text("<http://e/s> <http://e/p> 1 .")
    (folder / "link.ttl").symlink_to(tmp_path / "secret.ttl")
    with Store.create(tmp_path / "kg", ["none"], engine="duckdb") as store:

        def refused(text: str, says: str, kind: type[TriplakeError] = UsageError) -> None:
            version = store.version
            with pytest.raises(kind, match=says):
                store.sparql_update("INSERT DATA { <x:a> <x:p> 1 } ; " + text, load_folder=folder)
            assert store.version == version

        inside = (folder / "deep" / "two words.nt").as_uri()
        store.sparql_update(f"LOAD <one.ttl> ; LOAD <{inside}>", load_folder=folder)
        assert {(s, p) for s, p, _ in asserted(store)} == {(E.a, E.p), (E.b, E.p)}  # type: ignore[misc, has-type]
        store.sparql_update("LOAD <one.ttl>", load_folder=folder)
        assert len(asserted(store)) == 3, "the blank nodes of a document are new each time"
        refused(
            "LOAD <../secret.ttl>",
            r"line 1, column 33: LOAD <\.\./secret\.ttl> is refused: it is not in the load folder",
        )
        refused(f"LOAD <{(tmp_path / 'secret.ttl').as_uri()}>", "not in the load folder")
        refused("LOAD <link.ttl>", "not in the load folder")
        refused("LOAD <file://elsewhere/one.ttl>", "only files in the load folder")
        refused("LOAD <http://e/one.ttl>", "only files in the load folder")
        refused("LOAD <none.ttl>", "no such file", InputError)
        refused("LOAD <bad.nt>", r"bad\.nt:1:", InputError)
        with pytest.raises(UsageError, match=r"LOAD is refused: no folder .*--load-folder"):
            store.sparql_update("LOAD <one.ttl>")
        version = store.version
        store.sparql_update("LOAD SILENT <../secret.ttl> ; LOAD SILENT <http://e/x>; LOAD SILENT <bad.nt>")
        store.sparql_update(f"LOAD SILENT <{'x' * 300}.nt>", load_folder=folder)
        assert store.version == version


@pytest.mark.long_on_spark
def test_what_fails_late_leaves_the_store_as_it_was(make_store: MakeStore) -> None:
    store = make_store()
    store.update(add=[(E.p, RDFS.domain, E.C), (E.a, E.p, E.b)])
    version, before = store.version, set(store.triples())
    text = PREFIXES + "INSERT DATA { :c :p :d } ; INSERT { ?x :q 1 } WHERE { ?x a :C } ; LOAD <nowhere.ttl>"
    with pytest.raises(UsageError):
        store.sparql_update(text)
    assert (store.version, set(store.triples())) == (version, before)
    would = store.sparql_update(text.replace("LOAD <nowhere.ttl>", "DELETE WHERE { :a :p ?o }"), dry_run=True)
    assert (store.version, set(store.triples())) == (version, before)
    assert would["added"] >= 4
    merging = PREFIXES + "INSERT DATA { :a owl:sameAs :z } ; INSERT { ?x :q 1 } WHERE { ?x :p :nothing }"
    assert len(store.sparql_update(merging, dry_run=True)["merges"]) == 1
    merging += " ; DELETE { ?z :p ?y } WHERE { :z :p ?y . ?z :p ?y }"
    assert len(store.sparql_update(merging, dry_run=True)["merges"]) == 1
    store.sparql_update(PREFIXES + "DELETE WHERE { ?x :p ?y }")
    assert asserted(store) == {(E.p, RDFS.domain, E.C)}


@pytest.mark.long_on_spark
def test_a_dry_run_of_several_changes_compares_inconsistencies(make_store: MakeStore) -> None:
    store = make_store()
    store.sparql_update(PREFIXES + "INSERT DATA { :a owl:sameAs :b . :a owl:differentFrom :b }")
    text = (
        "DELETE { ?x owl:differentFrom ?y } WHERE { ?x owl:differentFrom ?y } ; "
        "INSERT { :c owl:sameAs :d . :c owl:differentFrom :d } WHERE { :a owl:sameAs :b }"
    )
    found = store.sparql_update(PREFIXES + text, dry_run=True).violations
    assert found is not None
    assert (found.made, found.mended) == (1, 1)


@pytest.mark.long_on_spark
def test_a_store_that_is_asked_often_answers_as_before(make_store: MakeStore) -> None:
    """Constants are remembered and tables come into memory; changes of this and of other writers are seen."""
    store = make_store()
    text = PREFIXES + "SELECT ?x { ?x :p 1 ; a :C }"
    store.sparql_update(PREFIXES + "INSERT DATA { :p rdfs:domain :C . :a :p 2 }")
    for _ in range(4):
        assert list(store.query(text)) == []
    store.sparql_update(PREFIXES + "INSERT DATA { :b :p 1 }")
    for _ in range(4):
        assert list(store.query(text)) == [(E.b,)]
    store.sparql_update(PREFIXES + "INSERT DATA { :b owl:sameAs :a }", dry_run=True)
    assert list(store.query(text)) == [(E.b,)]
    with Store.open(store.path, engine="duckdb") as other:
        other.sparql_update(PREFIXES + "INSERT DATA { :b owl:sameAs :c } ; DELETE DATA { :a :p 2 }")
        for _ in range(4):
            assert set(other.query(text)) == {(E.b,), (E.c,)}
    assert list(store.query(text)) == [(E.b,)], "a store reads its version"
    store.sparql_update(PREFIXES + "INSERT DATA { :d :p 3 }")
    for _ in range(4):
        assert set(store.query(text)) == {(E.b,), (E.c,)}


def test_patterns_need_a_closure(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text("<http://e/a> <http://e/p> <http://e/b> .\n")
    with Store.create(tmp_path / "kg", engine="duckdb") as store:
        store.load(tmp_path / "a.nt", materialise=False)
        with pytest.raises(UsageError, match="triplake materialise"):
            store.sparql_update("DELETE WHERE { ?s ?p ?o }")
        store.sparql_update("INSERT DATA { <x:a> <x:p> 1 } ; DELETE WHERE { ?s <http://e/p> ?o }")
        assert len(asserted(store)) == 1


# -- random requests -------------------------------------------------------------------------------------------------


class _Writer:
    """Random operations over the vocabulary of `tests.support.random_programs`, each with its meaning: the terms of its
    templates, and its pattern."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.things = [t for t in THINGS if t[0] == "<"]

    def term(self, names: str, others: list[str]) -> str:
        return self.rng.choice([f"?{name}" for name in names] * 2 + others)

    def template(self) -> Triple:
        p = self.rng.choice([*PROPERTIES, *PROPERTIES, TYPE, SAME])
        objects = CLASSES if p == TYPE else self.things
        return self.term("xy", self.things), p, self.term("yz", objects)

    def data(self) -> Triple:
        p = self.rng.choice([*PROPERTIES, TYPE, SAME])
        return self.rng.choice(self.things), p, self.rng.choice(CLASSES if p == TYPE else self.things)

    def pattern(self) -> str:
        p = self.rng.choice([*PROPERTIES, TYPE, SAME, "?z"])
        found = f"{self.term('xx', self.things[:1])} {p} ?y ."
        if self.rng.random() < 0.4:
            found += f" ?y {self.rng.choice([*PROPERTIES, TYPE])} ?z ."
        if self.rng.random() < 0.3:
            found += " FILTER(?x != ?y)"
        return found

    def operation(self) -> tuple[list[Triple], list[Triple], str | None]:
        """(templates to delete, to insert, pattern; None: the templates are data)."""
        templates = [[self.template() for _ in range(self.rng.randint(0, 2))] for _ in range(2)]
        if self.rng.random() < 0.5:
            return templates[0], templates[1], self.pattern()
        data = [self.data() for _ in range(self.rng.randint(1, 2))]
        return (data, [], None) if self.rng.random() < 0.4 else ([], data, None)


def _text(triples: list[Triple]) -> str:
    return "{ " + " ".join(f"{' '.join(t if t[0] == '?' else to_ntriples(t) for t in row)} ." for row in triples) + " }"


def _written(operation: tuple[list[Triple], list[Triple], str | None]) -> str:
    delete, insert, pattern = operation
    if pattern is None:
        return f"DELETE DATA {_text(delete)}" if delete else f"INSERT DATA {_text(insert)}"
    return f"DELETE {_text(delete)} INSERT {_text(insert)} WHERE {{ {pattern} }}"


def _carried_out(
    operation: tuple[list[Triple], list[Triple], str | None], now: set[Triple], closure: set[Triple]
) -> set[Triple]:
    """What is asserted after an operation, by Oxigraph over the oracle's closure."""
    delete, insert, pattern = operation
    if pattern is None:
        return (now - set(delete)) | set(insert)
    solutions = reference(ox_store(closure), f"SELECT ?x ?y ?z WHERE {{ {pattern} }}", ["x", "y", "z"])

    def filled(templates: list[Triple]) -> set[Triple]:
        found = set()
        for row in solutions:
            terms = dict(zip(("?x", "?y", "?z"), row, strict=True))
            for template in templates:
                s, p, o = (terms[t] if t[0] == "?" else t for t in template)
                if s and p and o and s[0] != '"' and p[0] == "<":
                    found.add((s, p, o))
        return found

    return (now - filled(delete)) | filled(insert)


def follow(store: Store, start: list[Triple], program: tuple[str, ...], equality: str, seed: int) -> None:
    """Two requests of two operations on a store with a random program; then it equals the oracle."""
    rules, writer, by_value = rules_of(program), _Writer(seed), "owl2rl" in program
    store.update(add=as_terms(start))
    now = set(start)
    for _ in range(2):
        operations = [writer.operation() for _ in range(2)]
        text = " ;\n".join(map(_written, operations))
        for operation in operations:
            now = _carried_out(operation, now, expected(sorted(now), rules, equality, by_value)[0])
        store.sparql_update(text)
        assert tokens(store, "asserted") == now, text
        wanted, violated = expected(sorted(now), rules, equality, by_value)
        assert tokens(store) == wanted, text
        assert bool(store.check()) == bool(violated)
        with Store.open(store.path, engine="duckdb") as reopened:
            assert tokens(reopened) == wanted
            assert tokens(reopened, "asserted") == now


def _followed(
    start: list[Triple], program: tuple[str, ...], equality: str, seed: int, spark: SparkSession | None = None
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.create(
            Path(folder, "kg"), rule_names(program, folder), equality, "spark" if spark else "duckdb", spark
        ) as store,
    ):
        follow(store, start, program, equality, seed)


_SEEDS = st.integers(0, 1 << 30)


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES)
@given(start=facts(odd=False), program=programs, equality=st.sampled_from(MODES), seed=_SEEDS)
def test_requests_equal_the_oracle(start: list[Triple], program: tuple[str, ...], equality: str, seed: int) -> None:
    _followed(start, program, equality, seed)


@pytest.mark.long
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(start=facts(odd=False), program=programs, equality=st.sampled_from(MODES), seed=_SEEDS)
def test_requests_equal_the_oracle_often(
    start: list[Triple], program: tuple[str, ...], equality: str, seed: int
) -> None:
    _followed(start, program, equality, seed)


@pytest.mark.spark
@pytest.mark.long
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES)
@given(start=facts(odd=False), program=programs, equality=st.sampled_from(MODES), seed=_SEEDS)
def test_requests_equal_the_oracle_on_spark(
    spark: SparkSession, start: list[Triple], program: tuple[str, ...], equality: str, seed: int
) -> None:
    _followed(start, program, equality, seed, spark)
