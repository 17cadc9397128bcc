"""Random SPARQL Update requests over graphs, in stores without rules: the quads are those that Oxigraph has."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pyoxigraph
import pytest

from tests.conftest import MakeStore
from tests.support.seeds import seeds
from tests.support.sparql import ox_token
from triplestore import Store
from triplestore.model.dataset import DEFAULT

E = "http://e/"
TERMS = [f"<{E}{name}>" for name in "abc"]
PREDICATES = [f"<{E}p>", f"<{E}q>"]
GRAPHS = [f"<{E}g1>", f"<{E}g2>", f"<{E}a>"]
VARIABLES = ["?x", "?y", "?z"]


class Writer:
    """Writes requests of a few operations."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def triple(self, variables: bool) -> str:
        some = [*TERMS, *VARIABLES * 2 * variables]
        predicate = self.rng.choice([*PREDICATES, *["?p"] * variables])
        end = self.rng.choice([*some, '"1"'])
        return f"{self.rng.choice(some)} {predicate} {end} ."

    def triples(self, variables: bool) -> str:
        return " ".join(self.triple(variables) for _ in range(self.rng.randint(1, 2)))

    def quads(self, variables: bool) -> str:
        parts = []
        for _ in range(self.rng.randint(1, 2)):
            triples = self.triples(variables)
            graph = self.rng.choice([*GRAPHS, *["?g"] * variables])
            parts.append(triples if self.rng.random() < 0.4 else f"GRAPH {graph} {{ {triples} }}")
        return " ".join(parts)

    def data(self) -> str:
        """Quads, the unnamed graph by either of its names."""
        quads = self.quads(False)
        return quads if self.rng.random() < 0.5 else f"{quads} GRAPH {DEFAULT} {{ {self.triples(False)} }}"

    def where(self) -> str:
        parts = []
        for _ in range(self.rng.randint(1, 2)):
            triples = self.triples(True)
            graph = self.rng.choice([*GRAPHS, "?g", "?g"])
            parts.append(triples if self.rng.random() < 0.4 else f"GRAPH {graph} {{ {triples} }}")
        if self.rng.random() < 0.2:
            parts.append(f"OPTIONAL {{ GRAPH ?g {{ {self.triple(True)} }} }}")
        if self.rng.random() < 0.2:
            parts.append(f"FILTER NOT EXISTS {{ GRAPH ?g {{ {self.triple(True)} }} }}")
        return " ".join(parts)

    def operation(self) -> str:
        graph, other = self.rng.sample([*(f"GRAPH {name}" for name in GRAPHS), "DEFAULT"], 2)
        match self.rng.randrange(10):
            case 0 | 1 | 2:
                return f"INSERT DATA {{ {self.data()} }}"
            case 3:
                return f"DELETE DATA {{ {self.data()} }}"
            case 4:
                return f"DELETE WHERE {{ {self.where_only()} }}"
            case 5:
                return f"{self.rng.choice(['CLEAR', 'DROP'])} SILENT {self.rng.choice([graph, 'NAMED', 'DEFAULT'])}"
            case 6:
                form = self.rng.choice(["ADD", "COPY", "MOVE"])
                return f"{form} SILENT {graph.removeprefix('GRAPH ')} TO {other.removeprefix('GRAPH ')}"
        with_ = f"WITH {self.rng.choice(GRAPHS)} " if self.rng.random() < 0.3 else ""
        using = ""
        if self.rng.random() < 0.3:
            chosen = self.rng.sample(GRAPHS, self.rng.randint(1, 2))
            using = " ".join(f"USING {self.rng.choice(['', 'NAMED '])}{name}" for name in chosen)
        delete = f"DELETE {{ {self.quads(True)} }}" if self.rng.random() < 0.7 else ""
        insert = f"INSERT {{ {self.quads(True)} }}" if not delete or self.rng.random() < 0.6 else ""
        return f"{with_}{delete} {insert} {using} WHERE {{ {self.where()} }}"

    def where_only(self) -> str:
        """A pattern that is a template, too."""
        return self.quads(True)

    def request(self) -> str:
        return " ; ".join(self.operation() for _ in range(self.rng.randint(1, 3)))


def check_updates(store: Store, rng: Random, number: int, note: str) -> None:
    writer, other, done = Writer(rng), pyoxigraph.Store(), list[str]()
    for _ in range(number):
        text = writer.request()
        done.append(text)
        store.sparql_update(text)
        other.update(re.sub(rf"GRAPH {DEFAULT} {{(.*?)}}", r"\1", text))  # a name that is ours alone
        ours = {quad for batch in store.quad_batches() for quad in batch}
        theirs = set()
        for quad in other:
            named = () if isinstance(quad.graph_name, pyoxigraph.DefaultGraph) else (quad.graph_name,)
            theirs.add(tuple(str(ox_token(term)) for term in (quad.subject, quad.predicate, quad.object, *named)))
        assert ours == theirs, f"{note}: {' ;; '.join(done)}"


@pytest.mark.parametrize("seed", seeds(range(8), 2))
def test_quads_are_those_of_oxigraph(tmp_path: Path, seed: int) -> None:
    with Store.create(tmp_path / "kg", ["none"], engine="duckdb", default_graph="separate") as store:
        check_updates(store, Random(seed), 12, f"seed {seed}")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1012))
def test_many_quads_are_those_of_oxigraph(tmp_path: Path, seed: int) -> None:
    with Store.create(tmp_path / "kg", ["none"], engine="duckdb", default_graph="separate") as store:
        check_updates(store, Random(seed), 25, f"seed {seed}")


@pytest.mark.spark
def test_the_same_on_spark(make_store: MakeStore) -> None:
    store = make_store(["none"])
    store.change_default_graph("separate")
    check_updates(store, Random(3), 4, "Spark")
