"""Random datasets, and queries with GRAPH and FROM over them, from a seed."""

from __future__ import annotations

from random import Random

from tests.support.sparql import Quad, Triple
from tests.support.sparql_random import IRIS, LITERALS, NAMES, PREDICATES, NestedWriter, PathWriter, Vocabulary

GRAPHS = [*IRIS[:2], "<http://e/g1>", "<http://e/g2>"]
"""Names of graphs; some are terms of triples too."""

ABSENT = "<http://e/none>"


def random_quads(rng: Random, facts: list[Triple]) -> list[Quad]:
    """Triples of named graphs: some of the facts, in one graph or several, and others like them."""
    graphs, found = rng.sample(GRAPHS, rng.randint(1, 4)), set[Quad]()
    for s, p, o in facts:
        for graph in graphs:
            if rng.random() < 0.3:
                found.add((s, p, o, graph))
    few = [*rng.sample(IRIS, 3), rng.choice(GRAPHS)]
    for _ in range(rng.randint(6, 24)):
        o = rng.choice([*few, *few, *rng.sample(LITERALS, 3)])
        found.add((rng.choice(few), rng.choice(PREDICATES), o, rng.choice(graphs)))
    return sorted(found)


class DatasetWriter(NestedWriter):
    """Writes patterns with GRAPH in them."""

    def bgp(self) -> str:
        """Mostly one triple, as graphs are small."""
        return self.triple() if self.rng.random() < 0.7 else super().bgp()

    def triple(self) -> str:
        if self.one_in(3):
            return super().triple()
        s, p, o = (f"?{self.name()}" for _ in range(3))
        return f"{s} {p if self.one_in(2) else self.rng.choice(self.vocabulary.predicates)} {o} ."

    def graph(self) -> str:
        if self.rng.random() < 0.5:
            return f"?{self.rng.choice(['g', 'g', 'h', self.name()])}"
        return self.rng.choice([*GRAPHS, *GRAPHS, ABSENT])

    def graph_pattern(self, depth: int) -> str:
        """A GRAPH. Of a variable it has no sub-SELECTs: Oxigraph and RDFLib lose in which graph their solutions are
        (`tests.unit.sparql.test_sparql_datasets` compares such with the graphs one by one)."""
        name = self.graph()
        return f"GRAPH {name} {{ {self.inside(depth, constant=name[0] != '?')} }}"

    def inside(self, depth: int, constant: bool) -> str:
        """What stands in a GRAPH: a kind of nested pattern."""
        bgp = self.bgp()
        match self.rng.randrange(12):
            case 0:
                return f"{bgp} OPTIONAL {{ {self.bgp()} }}"
            case 1:
                return f"{bgp} OPTIONAL {{ {self.bgp()} FILTER({self.test(1)}) }}"
            case 2:
                return f"{{ {bgp} }} UNION {{ {self.bgp()} }}"
            case 3:
                return f"{bgp} MINUS {{ {self.bgp()} }}"
            case 4:
                return f"{bgp} FILTER {self.rng.choice(['', 'NOT '])}EXISTS {{ {self.bgp()} }}"
            case 5 if constant:
                names = " ".join(f"?{name}" for name in self.rng.sample(NAMES, 2))
                return f"{{ SELECT {self.rng.choice(['', 'DISTINCT '])}{names} {{ {bgp} }} }}"
            case 6 if constant:
                key = self.name()
                return f"{{ SELECT ?{key} (COUNT(*) AS ?c) {{ {bgp} }} GROUP BY ?{key} }}"
            case 7:
                return f"{bgp} BIND({self.value(1)} AS ?v{depth})"
            case 8:
                return f"VALUES ?{self.name()} {self.column()} {bgp}"
            case 9:
                return ""
        return bgp

    def element(self, depth: int) -> str:
        if self.one_in(2):
            return self.graph_pattern(depth)
        return super().element(depth)

    def select(self) -> str:
        if self.one_in(2):
            return super().select()
        after = self.rng.choice(["", "", self.bgp(), self.graph_pattern(2), self.element(1)])
        return f"SELECT * {{ {self.graph_pattern(1)} {after} }}"

    def within(self, depth: int) -> str:
        if self.one_in(3):
            return f"{self.graph_pattern(depth)} {super().within(depth)}"
        return super().within(depth)


class DatasetPathWriter(PathWriter):
    """Writes repeated paths in GRAPH, between variables: a constant that is not in the graph leads to itself by a path
    of length zero, which Oxigraph leaves out."""

    def node(self, literal: bool) -> str:
        return f"?{self.name()}"

    def group(self, depth: int) -> str:
        graph = self.rng.choice(["?g", "?g", *GRAPHS])
        inside = f"{self.bgp()} {self.rng.choice(['', f'OPTIONAL {{ {self.bgp()} }}'])}"
        return f"GRAPH {graph} {{ {inside} }} {self.rng.choice(['', self.bgp()])}"


def random_dataset_query(rng: Random) -> str:
    """A query that reads named graphs, those of the dataset or those that it chooses."""
    vocabulary = Vocabulary([*IRIS, *GRAPHS[2:]], PREDICATES, LITERALS, LITERALS)
    writer = DatasetWriter(rng, vocabulary) if rng.random() < 0.8 else DatasetPathWriter(rng, vocabulary)
    text = writer.select()
    if rng.random() < 0.7:
        return text
    chosen = [
        f"FROM {'NAMED ' if rng.random() < 0.5 else ''}{graph}" for graph in rng.sample(GRAPHS, rng.randint(1, 3))
    ]
    head, brace, rest = text.partition("{")
    return f"{head}{' '.join(chosen)} {brace}{rest}"
