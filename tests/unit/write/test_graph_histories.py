"""Random histories of changes over named graphs: the quads are those of a model, and the closure is what follows."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.conftest import MakeStore
from tests.support.seeds import seeds
from triplestore import Store
from triplestore.model.dataset import DEFAULT
from triplestore.model.terms import OWL, RDF, RDFS, to_ntriples

E = "http://e/"
INDIVIDUALS = [f"<{E}{name}>" for name in "abcd"]
CLASSES = [f"<{E}{name}>" for name in "CD"]
GRAPHS = [f"<{E}g1>", f"<{E}g2>", f"<{E}a>", f"<{OWL}sameAs>"]
SAME, TYPE, SUB = f"<{OWL}sameAs>", f"<{RDF}type>", f"<{RDFS}subClassOf>"

ALGORITHMS = ["auto", "dred", "backward-forward", "fixpoint-update", "rematerialise"]

Quad = tuple[str, ...]


def random_triple(rng: Random) -> Quad:
    kind = rng.randrange(5)
    if kind == 0:
        return rng.choice(INDIVIDUALS), SAME, rng.choice(INDIVIDUALS)
    if kind == 1:
        return rng.choice(INDIVIDUALS), TYPE, rng.choice(CLASSES)
    if kind == 2:
        return CLASSES[0], SUB, CLASSES[1]
    return rng.choice(INDIVIDUALS), f"<{E}p>", rng.choice([*INDIVIDUALS, '"1"', '"01"^^<http://e/t>'])


class Model:
    """What a dataset is to be: its quads, the default graph, and graphs that are there even without triples."""

    def __init__(self, union: bool) -> None:
        self.union, self.quads, self.made = union, set[Quad](), set[str]()

    def delete(self, quad: Quad) -> None:
        if len(quad) == 4 and quad[3] == DEFAULT:
            self.quads.discard(quad[:3])
        elif len(quad) == 3 and self.union:
            self.quads = {q for q in self.quads if q[:3] != quad}
        else:
            self.quads.discard(quad)

    def add(self, quad: Quad) -> None:
        self.quads.add(quad[:3] if quad[3:] == (DEFAULT,) else quad)

    def content(self, graph: str) -> set[Quad]:
        """The triples of a graph."""
        if graph == DEFAULT:
            return {q for q in self.quads if len(q) == 3}
        return {q[:3] for q in self.quads if q[3:] == (graph,)}

    def clear(self, graph: str) -> None:
        for triple in self.content(graph):
            self.quads.discard(triple if graph == DEFAULT else (*triple, graph))

    def sizes(self) -> dict[str, int]:
        """The named graphs that there are, and how many triples they have; the unnamed one if it has some."""
        names = {DEFAULT, *(q[3] for q in self.quads if len(q) == 4)}
        return dict.fromkeys(self.made, 0) | {name: len(found) for name in names if (found := self.content(name))}

    def asserted(self) -> set[Quad]:
        """What the rules see."""
        return {q[:3] for q in self.quads} if self.union else self.content(DEFAULT)


def written(quads: list[Quad]) -> str:
    """Quads as a request has them."""
    parts = []
    for s, p, o, *graph in quads:
        triple = f"{s} {p} {to_ntriples(o)}"
        parts.append(f"GRAPH {graph[0]} {{ {triple} }}" if graph else f"{triple} .")
    return " ".join(parts)


def step(rng: Random, store: Store, model: Model, folder: Path) -> str:
    """One random change of both; how the store was asked."""
    names = [*GRAPHS, DEFAULT]
    quads: list[Quad] = []
    for _ in range(rng.randint(1, 3)):
        graph = rng.choice([(), *((name,) for name in names)])
        quads.append((*random_triple(rng), *graph))
    if model.quads and rng.random() < 0.5:
        known = rng.choice(sorted(model.quads))
        quads[0] = rng.choice([known, known[:3], (*known[:3], rng.choice(names))])
    kind, algorithm = (
        rng.randrange(9),
        rng.choice(["auto", "dred", "backward-forward", "fixpoint-update", "rematerialise"]),
    )
    if kind <= 1:
        text = f"INSERT DATA {{ {written(quads)} }}"
        for quad in quads:
            model.add(quad)
    elif kind <= 3:
        text = f"DELETE DATA {{ {written(quads)} }}"
        for quad in quads:
            model.delete(quad)
    elif kind == 4:
        texts, places = [], [(), *((name,) for name in names)]
        for _ in range(rng.randint(2, 5)):
            insert, some = rng.random() < 0.5, [(*rng.choice(quads)[:3], *rng.choice(places)) for _ in range(2)]
            texts.append(f"{'INSERT' if insert else 'DELETE'} DATA {{ {written(some)} }}")
            for quad in some:
                (model.add if insert else model.delete)(quad)
        text = " ; ".join(texts)
    elif kind == 5:
        source, target = rng.sample(names, 2)
        form = rng.choice(["ADD", "COPY", "MOVE"])
        ends = ("DEFAULT" if name == DEFAULT else name for name in (source, target))
        text = f"{form} SILENT {' TO '.join(ends)}"
        triples = model.content(source)
        if form != "ADD":
            model.clear(target)
        if form == "MOVE":
            model.clear(source)
            model.made.discard(source)
        for triple in triples:
            model.add((*triple, target))
    elif kind == 6:
        graph, form = rng.choice(names), rng.choice(["CLEAR", "DROP"])
        text = f"{form} SILENT {'DEFAULT' if graph == DEFAULT else f'GRAPH {graph}'}"
        model.clear(graph)
        model.made -= {graph} if form == "DROP" else set()
    elif kind == 7:
        graph, inserted = rng.choice(GRAPHS), (rng.choice(INDIVIDUALS), f"<{E}p>")
        text = f"CREATE SILENT GRAPH {graph} ; INSERT {{ {' '.join(inserted)} ?g }} WHERE {{ GRAPH ?g {{}} }}"
        model.made.add(graph)
        for name in model.sizes().keys() - {DEFAULT}:
            model.add((*inserted, name))
    else:
        path = folder / "some.nq"
        plain = [tuple(token for token in quad if token != DEFAULT) for quad in quads]
        path.write_text("".join(f"{' '.join(map(to_ntriples, quad))} .\n" for quad in plain))
        store.load(path, maintain=algorithm)
        for quad in plain:
            model.add(quad)
        return f"load {plain}"
    store.sparql_update(text, maintain=algorithm)
    return f"{text} by {algorithm}"


def check_history(store: Store, rng: Random, steps: int, folder: Path, note: str) -> None:
    model, done = Model(store.default_graph == "union"), []
    for _ in range(steps):
        done.append(step(rng, store, model, folder))
        told = f"{note}: {' | '.join(done)}"
        assert {quad for batch in store.quad_batches() for quad in batch} == model.quads, told
        assert {t for batch in store.token_batches("asserted") for t in batch} == model.asserted(), told
        sizes = {size.name: size.triples for size in store.graphs() if size.triples or size.name != DEFAULT}
        assert sizes == model.sizes(), told
        named = {name for (name,) in store.query("SELECT ?g { GRAPH ?g {} }").tokens()}
        assert named == sizes.keys() - {DEFAULT}, told
    maintained = {t for batch in store.token_batches() for t in batch}
    store.materialise()
    assert {t for batch in store.token_batches() for t in batch} == maintained, f"{note}: {' | '.join(done)}"


@pytest.mark.parametrize("default_graph", ["union", "separate"])
@pytest.mark.parametrize("seed", seeds(range(4), 1))
@pytest.mark.sampled(each=2)
def test_histories(tmp_path: Path, seed: int, default_graph: str) -> None:
    rules = Random(seed).choice([["owl2rl"], ["rdfs-plus"], ["rdfs"]])
    with Store.create(tmp_path / "kg", rules, engine="duckdb", default_graph=default_graph) as store:
        check_history(store, Random(seed), 12, tmp_path, f"seed {seed}")


@pytest.mark.long
@pytest.mark.parametrize("default_graph", ["union", "separate"])
@pytest.mark.parametrize("seed", range(100, 104))
def test_many_histories(tmp_path: Path, seed: int, default_graph: str) -> None:
    with Store.create(tmp_path / "kg", ["rdfs-plus"], engine="duckdb", default_graph=default_graph) as store:
        check_history(store, Random(seed), 30, tmp_path, f"seed {seed}")


@pytest.mark.long_on_spark
def test_a_history_on_either_engine(make_store: MakeStore, tmp_path: Path) -> None:
    store = make_store(["rdfs-plus"])
    check_history(store, Random(7), 6, tmp_path, "either")


@pytest.mark.parametrize("seed", seeds(range(4), 1))
def test_the_default_graph_is_changed_and_changed_back(tmp_path: Path, seed: int) -> None:
    """What rules see follows, what is in each graph stays."""
    rng, folder = Random(seed), tmp_path / "kg"
    with Store.create(folder, ["rdfs-plus"], engine="duckdb") as store:
        model = Model(union=True)
        for _ in range(6):
            step(rng, store, model, tmp_path)
        for kind in ("separate", "union", "separate"):
            store.change_default_graph(kind)
            model.union = kind == "union"
            assert {quad for batch in store.quad_batches() for quad in batch} == model.quads
            assert {t for batch in store.token_batches("asserted") for t in batch} == model.asserted()
            maintained = {t for batch in store.token_batches() for t in batch}
            store.materialise()
            assert {t for batch in store.token_batches() for t in batch} == maintained
            step(rng, store, model, tmp_path)
            assert {quad for batch in store.quad_batches() for quad in batch} == model.quads
