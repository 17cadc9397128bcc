"""What the joins of an update make: rows follow the input and the output, not what is between them; and their memory is
bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rdflib import BNode, Literal, Namespace
from rdflib.collection import Collection
from rdflib.graph import Graph
from rdflib.namespace import OWL, RDF, RDFS
from rdflib.term import Node

from tests.conftest import MakeStore
from tests.support.cli import run
from tests.support.pages import small_pages
from tests.support.thresholds import set_fields
from triplestore import Store
from triplestore.maintain import budget
from triplestore.maintain.bindings import Bindings
from triplestore.maintain.budget import Meter
from triplestore.maintain.thresholds import Thresholds
from triplestore.model.errors import MemoryLimitError

E = Namespace("http://e/")
WAYS = ("auto", "dred", "backward-forward", "fixpoint-update")
CHAIN = "[?x, :r, ?w] :- [?x, :p, ?y], [?y, :q, ?z], [?z, :s, ?w] ."
FILTERS = {
    "term": "FILTER(?n = ?m)",
    "term-and-not": "FILTER(?n = ?m), NOT [?x, a, :Odd]",
    "same-term": "FILTER(?n = ?m), FILTER(STRLEN(?n) > 1)",
    "computed": "FILTER(UCASE(?n) = UCASE(?m))",
    "bound": "BIND(UCASE(?n) AS ?k), BIND(UCASE(?m) AS ?l), FILTER(?k = ?l)",
}


class Rows:
    """The rows that joins make from now on."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.made = 0
        made = Meter.made

        def counted(meter: Meter, rows: int) -> None:
            self.made += rows
            made(meter, rows)

        patch.setattr(Meter, "made", counted)


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Rows:
    return Rows(monkeypatch)


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of a join makes few rows, as the large cases do with the room that there is."""
    set_fields(monkeypatch, Thresholds, room=1000)


def with_rule(make_store: MakeStore, folder: Path, rule: str, **options: object) -> Store:
    file = folder / "own.dlog"
    file.write_text(f"PREFIX : <http://e/>\n@rule own {rule}\n", encoding="utf-8")
    return make_store(["none", str(file)], **options)  # type: ignore[arg-type]


def each_way(
    store: Store, rows: Rows, gone: list[tuple[Node, Node, Node]], most: int
) -> tuple[set[tuple[Node, ...]], set[tuple[Node, ...]]]:
    """The closure with triples and without them: each algorithm deletes them, and they are added again, with fewer rows
    than `most` each time."""
    full, left = set(store.triples()), set[tuple[Node, ...]]()
    for way in WAYS:
        rows.made = 0
        store.update(delete=gone, maintain=way)
        assert rows.made < most, way
        found = set(store.triples())
        left = left or found
        assert found == left, way
        rows.made = 0
        store.update(add=gone)
        assert rows.made < most
        assert set(store.triples()) == full
    store.update(delete=gone)
    store.materialise()
    assert set(store.triples()) == left
    return full, left


@pytest.mark.long_on_spark
@pytest.mark.parametrize("ends", ["n", "z"])
def test_a_chain_through_a_hub(make_store: MakeStore, tmp_path: Path, rows: Rows, little_room: None, ends: str) -> None:
    """700 x have p with one y, which has q with 300 z: none of these, or all, have s."""
    store = with_rule(make_store, tmp_path, CHAIN)
    hub = [*((E.y, E.q, E[f"z{i}"]) for i in range(300)), *((E[f"{ends}{i}"], E.s, E.w) for i in range(300))]
    start = [(E[f"x{i}"], E.p, E.y) for i in range(700)]
    store.update(add=[*hub, *start])
    _, left = each_way(store, rows, start[:600], 6000)
    assert ((E.x650, E.r, E.w) in left) == (ends == "z")


@pytest.mark.long_on_spark(each=5)
@pytest.mark.parametrize("how", FILTERS)
def test_an_equation_is_a_join(make_store: MakeStore, tmp_path: Path, rows: Rows, how: str) -> None:
    """delete-filter-join: atoms that only a FILTER ties to each other."""
    rule = f"[?x, :same, ?y] :- [?x, :key0, ?n], [?y, :key, ?m], {FILTERS[how]} ."
    store = with_rule(make_store, tmp_path, rule)
    kinds = (("b", E.key), ("a", E.key0))
    store.update(add=[(E[f"{k}{i}"], key, Literal(f"name {i}")) for i in range(300) for k, key in kinds])
    full, left = each_way(store, rows, [(E.a5, E.key0, Literal("name 5"))], 3000)
    assert (E.a5, E.same, E.b5) in full - left
    assert (E.a6, E.same, E.b6) in left


def _key(members: int) -> list[tuple[Node, Node, Node]]:
    graph, head = Graph(), BNode("l")
    Collection(graph, head, [E.p, E.q])
    graph.add((E.C, OWL.hasKey, head))
    for i in range(members):
        for p, o in ((E.p, Literal("x")), (E.q, Literal("z")), (RDF.type, E.C)):
            graph.add((E[f"y{i}"], p, o))
    return list(graph)


def _inverse_functional(members: int) -> list[tuple[Node, Node, Node]]:
    shared = ((E[f"y{i}"], E.p, Literal("x")) for i in range(members))
    return [(E.p, RDF.type, OWL.InverseFunctionalProperty), *shared]


@pytest.mark.long_on_spark
@pytest.mark.parametrize("data", [_inverse_functional, _key], ids=["value", "key"])
def test_a_group_loses_a_member(
    make_store: MakeStore, rows: Rows, data: Callable[[int], list[tuple[Node, Node, Node]]]
) -> None:
    """delete-ifp-group: the work follows the members, not their pairs."""
    store = make_store(["owl2rl"], "rewrite")
    store.update(add=data(120))
    full, left = each_way(store, rows, [(E.y5, E.p, Literal("x"))], 5000)
    assert (E.y6, OWL.sameAs, E.y7) in left
    assert (E.y6, OWL.sameAs, E.y5) in full - left


def test_rows_that_come_to_nothing_are_work(
    make_store: MakeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A triangle that hardly ever closes: `auto` gives up what is more work than computing the closure from scratch."""
    rule = "[?x, :r, ?z] :- [?x, :p, ?y], [?y, :q, ?z], [?z, :s, ?x] ."
    store = with_rule(make_store, tmp_path, rule)
    start = [(E[f"x{i}"], E.p, E.y) for i in range(60)]
    others = [(E[f"w{i}"], E.s, E[f"x{j}"]) for i in range(60) for j in range(60)]
    store.update(add=[*start, *((E.y, E.q, E[f"z{i}"]) for i in range(60)), *others])
    set_fields(monkeypatch, Thresholds, fact=1, scratch=500, schema=0)
    report = store.update(delete=start[:54])
    assert report["algorithm"] == "rematerialise"
    assert "more work" in str(report["reason"])


def test_deleting_types_makes_as_many_rows_at_every_alignment(tmp_path: Path, rows: Rows) -> None:
    """Whatever stands before the types of students in the pages of the store's files."""
    found = []
    with small_pages(64):
        for others in range(0, 64, 7):
            with Store.create(tmp_path / f"kg{others}", ["owl2rl"], engine="duckdb") as store:
                students = [(E[f"s{i}"], RDF.type, E.Undergraduate) for i in range(300)]
                store.update(
                    add=[
                        (E.Undergraduate, RDFS.subClassOf, E.Student),
                        (E.advises, RDFS.domain, E.Professor),
                        *students,
                        *((E[f"s{i}"], E.takes, E[f"c{i % 40}"]) for i in range(300)),
                        *((E[f"f{i}"], E.advises, E[f"s{i}"]) for i in range(100)),
                        *((E[f"o{i}"], RDF.type, E.Other) for i in range(others)),
                    ]
                )
                store.compact()
            with Store.open(tmp_path / f"kg{others}", engine="duckdb") as store:
                rows.made = 0
                store.update(delete=students[:100], maintain="dred")
                found.append(rows.made)
    assert max(found) <= 1.3 * min(found), found


# -- memory --------------------------------------------------------------------------------------------------------


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Path]:
    """A store with a chain through a hub, which has been closed."""
    (tmp_path / "own.dlog").write_text(f"PREFIX : <http://e/>\n@rule own {CHAIN}\n", encoding="utf-8")
    with Store.create(tmp_path / "kg", ["none", str(tmp_path / "own.dlog")], engine="duckdb") as store:
        hub = [t for i in range(20) for t in ((E.y, E.q, E[f"z{i}"]), (E[f"z{i}"], E.s, E.w))]
        store.update(add=[*hub, *((E[f"x{i}"], E.p, E.y) for i in range(20))])
    return tmp_path / "kg"


@pytest.mark.parametrize("failing", ["limit", "machine"])
def test_a_join_that_runs_out_of_memory(chain: Path, failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name it is refused, and nothing has changed; `auto` computes the closure from scratch."""

    def allocate(bindings: Bindings) -> None:
        raise MemoryError("Unable to allocate 477. GiB for an array")

    with monkeypatch.context() as patch:
        if failing == "machine":
            patch.setattr(Bindings, "output", allocate)
        else:
            patch.setattr("triplestore.model.thresholds.Sizes.block", 1)
            taken = iter([0])
            patch.setattr(budget, "resident", lambda: next(taken, 1 << 50))
        with Store.open(chain, engine="duckdb") as store:
            before = set(store.triples())
            with pytest.raises(MemoryLimitError, match="out of memory") as raised:
                store.update(delete=[(E.x1, E.p, E.y)], maintain="dred")
            assert failing == "machine" or "--memory-limit" in str(raised.value)
            assert set(store.triples()) == before
            taken = iter([0])
            report = store.update(delete=[(E.x1, E.p, E.y)])
            assert report["algorithm"] == "rematerialise"
            assert "memory" in str(report["reason"])
    with Store.open(chain, engine="duckdb") as store:
        assert set(store.triples()) == before - {(E.x1, E.p, E.y), (E.x1, E.r, E.w)}


def test_the_command_ends_with_its_code(chain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def allocate(bindings: Bindings) -> None:
        raise MemoryError("Unable to allocate 477. GiB for an array")

    monkeypatch.setattr(Bindings, "output", allocate)
    (tmp_path / "gone.ru").write_text("DELETE DATA { <http://e/x1> <http://e/p> <http://e/y> }", encoding="utf-8")
    outcome = run("update", chain, tmp_path / "gone.ru", "--maintain", "dred")
    assert outcome.code == 7
    assert "out of memory (Unable to allocate 477. GiB" in outcome.err


def test_a_meter_measures_the_process() -> None:
    assert budget.resident() > 10 << 20
    Meter(memory=1 << 62).need(1 << 40)
    with pytest.raises(MemoryLimitError, match="Give more with --memory-limit"):
        Meter(memory=1 << 20).need(1 << 30)
    Meter(memory=1 << 30).need(100 << 20)
