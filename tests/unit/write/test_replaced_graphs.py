"""Graphs replaced and added to one by one, and updates whose graphs are chosen from outside of their text."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from rdflib import URIRef

from tests.conftest import MakeStore
from tests.support.seeds import seeds
from triplestore import Store
from triplestore.model.errors import UsageError

UNNAMED = "urn:x-triplake:default"
QUADS = "<x:s> <x:p> <x:u> . <x:g> { <x:s> <x:p> <x:g1> , <x:both> } <x:h> { <x:s> <x:p> <x:h1> , <x:both> }"


@pytest.fixture
def graphs(tmp_path: Path) -> Path:
    """A file of three graphs."""
    (tmp_path / "graphs.trig").write_text(QUADS)
    return tmp_path / "graphs.trig"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A file of one triple."""
    (tmp_path / "other.ttl").write_text("<x:s> <x:p> <x:new> .")
    return tmp_path / "other.ttl"


def held(store: Store) -> dict[str, set[str]]:
    """The objects in each graph, by its name."""
    found: dict[str, set[str]] = {graph.name: set() for graph in store.graphs() if graph.name != f"<{UNNAMED}>"}
    for batch in store.quad_batches():
        for _, _, o, *graph in batch:
            found.setdefault("".join(graph), set()).add(o[3:-1])
    return found


@pytest.mark.long_on_spark
def test_one_graph_alone_is_replaced(make_store: MakeStore, graphs: Path, other: Path) -> None:
    store = make_store(["none"])
    store.load(graphs)
    store.replace(other, graph="x:g")
    assert held(store) == {"": {"u"}, "<x:g>": {"new"}, "<x:h>": {"h1", "both"}}
    assert sorted(o.n3()[3:-1] for _, _, o in store.triples()) == ["both", "h1", "new", "u"]
    store.replace(other, graph=UNNAMED)
    assert held(store) == {"": {"new"}, "<x:g>": {"new"}, "<x:h>": {"h1", "both"}}
    version = store.version
    store.replace(other, graph="<x:g>")
    assert store.version == version
    store.replace(graph="x:h")
    assert held(store) == {"": {"new"}, "<x:g>": {"new"}, "<x:h>": set()}
    assert store.has_graph("<x:h>")
    store.replace(graph=UNNAMED)
    store.load(other, graph="x:h")
    assert held(store) == {"<x:g>": {"new"}, "<x:h>": {"new"}}
    store.replace(graphs)
    assert held(store) == {"": {"u"}, "<x:g>": {"g1", "both"}, "<x:h>": {"h1", "both"}}


def test_refusals(graphs: Path, tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", ["none"]) as store:
        store.load(graphs)
        version = store.version
        for graph in (UNNAMED, "x:g"):
            with pytest.raises(UsageError, match="has triples in other named graphs"):
                store.replace(graphs, graph=graph)
        for graph in ("urn:x-triplake:asserted", "urn:x-triplake:inferred"):
            with pytest.raises(UsageError, match="not a graph that can be changed"):
                store.load(graphs, graph=graph)
        for graph in ("g", "x:a b", "<x:a> <x:b>"):
            with pytest.raises(UsageError):
                store.replace(graphs, graph=graph)
        assert store.version == version


@pytest.mark.parametrize(
    "update",
    ["CREATE GRAPH <{}>", "COPY <x:g> TO <{}>", "MOVE SILENT <x:g> TO <{}>", "ADD <{}> TO <x:g>", "DROP GRAPH <{}>"],
)
@pytest.mark.parametrize("part", ["asserted", "inferred"])
def test_parts_of_a_store_are_no_graphs_to_change(tmp_path: Path, update: str, part: str) -> None:
    """Graphs of these names were made, which no query could read by them."""
    with Store.create(tmp_path / "kg", ["none"], engine="duckdb") as store:
        store.sparql_update("INSERT DATA { GRAPH <x:g> { <x:s> <x:p> <x:o> } }")
        with pytest.raises(UsageError, match="not a graph that can be changed"):
            store.sparql_update(update.format(f"urn:x-triplake:{part}"))
        assert [graph.name for graph in store.graphs() if graph.triples] == ["<x:g>"]


@pytest.mark.parametrize("named", ["", "GRAPH <x:g> { <x:a> <x:p> <x:o> }"])
def test_the_unnamed_graph_is_there_by_its_name(tmp_path: Path, named: str) -> None:
    with Store.create(tmp_path / "kg", ["none"], engine="duckdb") as store:
        store.sparql_update(f"INSERT DATA {{ <x:s> <x:p> <x:o> {named} }}")
        with pytest.raises(UsageError, match="already"):
            store.sparql_update(f"CREATE GRAPH <{UNNAMED}>")
        store.sparql_update(f"CLEAR GRAPH <{UNNAMED}>")
        store.sparql_update(f"DROP GRAPH <{UNNAMED}>")
        assert store.count("asserted") == bool(named)


@pytest.mark.parametrize("default", ["union", "separate"])
@pytest.mark.parametrize("seed", seeds(range(2), 1))
@pytest.mark.sampled(each=2)
def test_the_closure_is_that_of_what_is_left(tmp_path: Path, default: str, seed: int) -> None:
    """After each of several replacements, whatever they share: as of a store that has never had anything else."""
    random = Random(seed)
    names = ["", UNNAMED, "x:g", "x:h"]
    content: dict[str, set[str]] = {}
    with Store.create(tmp_path / "kg", ["owl2rl"], engine="duckdb", default_graph=default) as store:
        for step in range(4):
            graph, lines = random.choice(names[1:]), {_line(random) for _ in range(random.randrange(5))}
            (tmp_path / "step.nt").write_text("\n".join(lines))
            if random.random() < 0.3:
                store.load(tmp_path / "step.nt", graph=graph)
                lines |= content.get(graph, set())
            else:
                store.replace(tmp_path / "step.nt", graph=graph)
            content[graph] = lines
            fresh = tmp_path / f"fresh{step}"
            with Store.create(fresh, ["owl2rl"], engine="duckdb", default_graph=default) as scratch:
                for name, lines in content.items():
                    (tmp_path / "fresh.nt").write_text("\n".join(lines))
                    scratch.load(tmp_path / "fresh.nt", graph=name)
                assert _lines(scratch) == _lines(store)
                assert _quads(scratch) == _quads(store)


def _line(random: Random) -> str:
    same, kind = "<http://www.w3.org/2002/07/owl#sameAs>", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    things = [f"<x:{name}>" for name in "abcd"]
    sub = "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"
    return f"{random.choice(things)} {random.choice([same, kind, sub, '<x:p>'])} {random.choice(things)} ."


def _lines(store: Store) -> list[str]:
    return [line for batch in store.lines(ordered=True) for line in batch]


def _quads(store: Store) -> list[tuple[str, ...]]:
    return sorted(quad for batch in store.quad_batches() for quad in batch)


def test_blank_nodes_stay_those_of_the_graph(tmp_path: Path) -> None:
    """What was read of a graph can replace it; the same labels, put into another one, are other nodes."""
    (tmp_path / "a.ttl").write_text("<x:s> <x:p> [ <x:q> _:b ] .")
    with Store.create(tmp_path / "kg", ["none"]) as store:
        store.load(tmp_path / "a.ttl", graph="x:g")
        triples = [triple for batch in store.graph_batches("<x:g>") for triple in batch]
        (tmp_path / "b.nt").write_text("".join(f"{' '.join(triple)} .\n" for triple in triples))
        version = store.version
        store.replace(tmp_path / "b.nt", graph="x:g")
        assert store.version == version
        store.replace(tmp_path / "b.nt", graph="x:h")
        others = {term for batch in store.graph_batches("<x:h>") for triple in batch for term in triple}
        assert not {term for triple in triples for term in triple if term.startswith("_:")} & others


def test_graphs_from_outside(graphs: Path, tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", ["none"]) as store:
        store.load(graphs)
        text = "SELECT ?o WHERE { ?s ?p ?o }"

        def found(**chosen: str | list[str]) -> list[str]:
            return sorted(str(row[0])[2:] for row in store.query(text, **chosen))  # type: ignore[arg-type]

        assert found(default_graphs="x:g") == ["both", "g1"]
        assert found(default_graphs=["<x:g>", "x:h"]) == ["both", "g1", "h1"]
        assert found(default_graphs=UNNAMED) == ["u"]
        assert found(named_graphs="x:g") == []
        text = "SELECT ?o FROM <x:g> { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
        assert found() == ["both", "g1"]
        assert found(default_graphs=UNNAMED, named_graphs=["x:h"]) == ["both", "h1", "u"]
        move = "DELETE { GRAPH <x:g> { ?s ?p ?o } } INSERT { ?s ?p ?o } WHERE { ?s ?p ?o }"
        store.sparql_update(move, default_graphs="x:g")
        assert held(store) == {"": {"u", "g1", "both"}, "<x:h>": {"h1", "both"}}
        for text in (f"WITH <x:h> {move}", move.replace("WHERE", "USING <x:h> WHERE")):
            with pytest.raises(UsageError, match="USING or WITH"):
                store.sparql_update(text, default_graphs="x:g")
            store.sparql_update(text, dry_run=True)


def test_empty_graphs_after_other_operations(tmp_path: Path) -> None:
    """CREATE and DROP of an empty graph count, too, where operations before them have changed something."""
    with Store.create(tmp_path / "kg", ["none"]) as store:
        store.sparql_update("INSERT DATA { <x:s> <x:p> <x:o> } ; CREATE GRAPH <x:g> ; CREATE GRAPH <x:h>")
        assert held(store) == {"": {"o"}, "<x:g>": set(), "<x:h>": set()}
        assert list(store.query("SELECT ?g { GRAPH ?g {} } ORDER BY ?g").tokens()) == [("<x:g>",), ("<x:h>",)]
        assert store.query("ASK { GRAPH <x:g> {} GRAPH <x:h> { OPTIONAL { ?s ?p ?o } } }")
        assert not store.query("ASK { GRAPH <x:i> {} }")
        store.sparql_update("INSERT DATA { <x:s> <x:p> <x:n> } ; DROP GRAPH <x:g>")
        assert held(store) == {"": {"o", "n"}, "<x:h>": set()}


def test_refresh(graphs: Path, other: Path, tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", ["none"]) as store, Store.open(tmp_path / "kg") as reader:
        store.load(graphs)
        with Store.open(tmp_path / "kg", at=1) as old:
            assert (reader.version, reader.has_graph("<x:g>")) == (1, False)
            assert (reader.refresh(), reader.has_graph("<x:g>")) == (2, True)
            assert old.refresh() == 1


@pytest.mark.long_on_spark
def test_names_that_are_no_graphs_own(make_store: MakeStore, tmp_path: Path) -> None:
    """In what is loaded, and as what a request makes: the unnamed graph is meant by its name, parts of a store cannot
    be changed."""
    file = tmp_path / "named.nq"
    file.write_text(f"<x:s> <x:p> <x:u> <{UNNAMED}> .\n<x:s> <x:p> <x:g1> <x:g> .\n")
    store = make_store(["none"])
    assert store.load(file, graph="x:h").named == 1
    assert held(store) == {"": {"u"}, "<x:g>": {"g1"}}
    store.sparql_update(f"CREATE SILENT GRAPH <{UNNAMED}> ; CLEAR GRAPH <{UNNAMED}>")
    assert held(store) == {"<x:g>": {"g1"}}
    with pytest.raises(UsageError, match="there is a graph"):
        store.sparql_update(f"CREATE GRAPH <{UNNAMED}>")
    version = store.version
    for part in ("urn:x-triplake:asserted", "urn:x-triplake:inferred"):
        file.write_text(f"<x:s> <x:p> <x:o> <{part}> .\n")
        for load in (store.load, store.replace):
            with pytest.raises(UsageError, match="not a graph that can be changed"):
                load(file)
        for text in ("CREATE GRAPH", "COPY <x:g> TO", "ADD <x:g> TO", "MOVE <x:g> TO"):
            with pytest.raises(UsageError, match="not a graph that can be changed"):
                store.sparql_update(f"{text} <{part}>")
    assert (store.version, held(store)) == (version, {"<x:g>": {"g1"}})
    store.sparql_update("DROP GRAPH <x:g>")
    store.update_files(drop_graphs=UNNAMED)
    assert held(store) == {}


def test_graphs_are_named_by_iris_and_tokens(tmp_path: Path) -> None:
    with Store.create(tmp_path / "kg", ["none"], engine="duckdb") as store:
        store.load(data=f"{QUADS} _:g {{ <x:s> <x:p> <x:n> }}", format="trig")
        (blank,) = (size.name for size in store.graphs() if size.name.startswith("_:"))
        for name in "x:g", "<x:g>", URIRef("x:g"), blank:
            assert store.has_graph(name)
            assert [len(batch) for batch in store.graph_batches(name)] == [1 if name == blank else 2]
        assert store.graph_support("x:g") == store.graph_support("<x:g>")
        assert not store.has_graph("x:none")
        with pytest.raises(UsageError, match="'no graph' cannot name a graph"):
            store.has_graph("no graph")
