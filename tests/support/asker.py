"""Random queries in every form over a closure with classes, and the comparison of their answers."""

from __future__ import annotations

from collections import Counter
from random import Random

from tests.support.answers import check
from tests.support.equality_programs import LITERALS
from tests.support.random_programs import CLASSES, PROPERTIES, SAME, THINGS, TYPE, Triple
from tests.support.sparql import bag, ox_store, ox_token
from tests.support.sparql_random import Vocabulary, Writer
from triplake.sparql import Graph, query
from triplestore.closure.view import ClosureView
from triplestore.engine import Engine
from triplestore.model.equality import Equality
from triplestore.model.terms import FIRST_BLANK, FIRST_LITERAL, SAME_AS

VOCABULARY = Vocabulary(
    iris=[thing for thing in THINGS if thing[0] == "<"] + CLASSES[:2] + PROPERTIES[:2],
    predicates=[*PROPERTIES, TYPE],
    literals=LITERALS,
    matched=[literal for literal in LITERALS if "^^" not in literal],  # numbers match by value, in Oxigraph by form
)


def graph_of(engine: Engine, by_value: bool = False) -> Graph:
    """What is in the engine, as queries read it."""
    classes = engine.query("SELECT count(DISTINCT representative) AS n FROM same_as").column(0)[0].as_py()
    odd = engine.query(f"SELECT 1 FROM fact WHERE s >= {FIRST_LITERAL} OR p >= {FIRST_BLANK} LIMIT 1").num_rows > 0
    named = engine.query(f"SELECT 1 FROM same_as WHERE representative = {SAME_AS}").num_rows > 0
    literals = engine.query(f"SELECT 1 FROM same_as WHERE term >= {FIRST_LITERAL}").num_rows > 0
    view = ClosureView(Equality.REWRITE, classes, by_value, by_value, named, literals, odd)
    return Graph(engine, view)


class Asker(Writer):
    """Asks in every form, and compares."""

    def __init__(self, rng: Random, graph: Graph, triples: set[Triple], note: str) -> None:
        super().__init__(rng, VOCABULARY)
        self.graph, self.triples, self.note = graph, triples, note
        self.reference = ox_store(triples)

    def select_any(self) -> None:
        check(self.graph, self.triples, self.select(), self.note)

    def equalities(self) -> None:
        """owl:sameAs with either end bound, both, or neither; and classes met in every position."""
        a, b = self.rng.sample(VOCABULARY.iris, 2)
        ends = self.rng.choice(["?x {} ?y", f"{a} {{}} ?y", f"?x {{}} {a}", f"{a} {{}} {b}", "?x {} ?x"])
        more = self.rng.choice(["", "?x ?p ?z .", "?z ?y ?w .", "?z ?p ?y .", f"FILTER(?y IN ({a}, {b}))"])
        head = self.rng.choice(["*", "(COUNT(*) AS ?n)", "DISTINCT ?x", "?y", "(COUNT(DISTINCT ?y) AS ?n)"])
        check(self.graph, self.triples, f"SELECT {head} {{ {ends.format(SAME)} . {more} }}", self.note)

    def counts(self) -> None:
        """Patterns that are counted without being enumerated."""
        p, q = self.rng.sample(VOCABULARY.predicates, 2)
        body = self.rng.choice(
            [
                f"?x {p} ?y . ?x {q} ?z",
                f"?x {p} ?y . ?y {q} ?z . ?z ?r ?w",
                f"?x {p} ?y . ?y {q} ?x . ?x ?r ?z",
                f"?x {p} ?y . ?z {q} ?w",
                f"?x {p} ?y . ?x {p} ?z . ?y ?r ?x",
                f"?x ?r ?y . ?r {p} ?z",
                f"?x {TYPE} ?y . ?x {p} ?z . ?x {p} ?z",
                self.bgp(),
            ]
        )
        body = self.rng.choice(["{}", "{}", "{} FILTER(?x != ?y)", "{} OPTIONAL {{ ?y ?s ?x }}"]).format(body)
        body = self.rng.choice(["{}", "{}", "{{ SELECT DISTINCT ?x ?y {{ {} }} }}"]).format(body)
        what = self.rng.choice(["*", "?x", "DISTINCT ?x", "DISTINCT *", "?z", "isIRI(?y)", "DISTINCT ?y"])
        if "[]" in body and what == "DISTINCT *":  # which Oxigraph takes for a variable, though no solution has it
            what = "DISTINCT ?y"
        key = self.rng.choice(["", "", "?x", "?y"])
        also = self.rng.choice(
            [
                "",
                '(MAX(IF(isIRI(?y), STR(?y), "")) AS ?m)',
                "(COUNT(?y) AS ?m)",
                "(SUM(?y) AS ?m)",
                "(SAMPLE(?x) AS ?m)",
            ]
        )
        if also.startswith("(SAMPLE") and key != "?x":
            also = ""
        group = f"GROUP BY {key}" if key else ""
        text = f"SELECT {key} (COUNT({what}) AS ?n) {also} {{ {body} }} {group}"
        check(self.graph, self.triples, text, self.note)

    def paths(self) -> None:
        p, q = self.rng.sample([*VOCABULARY.predicates, SAME], 2)  # no !(p|^q): neither reference has all its solutions
        path = self.rng.choice([f"{p}+", f"{p}*", f"{p}?", f"({p}/{q})+", f"^{p}/{q}?", f"!({p}|{q})", f"({p}/^{p})*"])
        s, o = self.rng.choice([("?x", "?y"), (self.rng.choice(VOCABULARY.iris), "?y"), ("?x", "?x")])
        check(self.graph, self.triples, f"SELECT * {{ {s} {path} {o} . {self.bgp()} }}", self.note)

    def first_few(self) -> None:
        """LIMIT: so many of the answers; with ORDER BY those that have the first keys."""
        body, length, start = self.group(1), self.rng.randint(1, 6), self.rng.choice([0, 0, 2])
        names = self.rng.choice(["?x", "?x ?y", "DISTINCT ?y", "?z ?x"])
        key = names.split()[-1]
        order = self.rng.choice(["", f"ORDER BY {key}", f"ORDER BY DESC(STR({key})) {key}"])
        whole = f"SELECT {names} {{ {body} }} {order}"
        text = f"{whole} LIMIT {length}" + (f" OFFSET {start}" if start else "")
        rows, every = (list(query(self.graph, each).tokens()) for each in (text, whole))
        place = names.replace("DISTINCT ", "").split().index(key)
        assert len(rows) == min(length, max(len(every) - start, 0)), f"{self.note}: {text}"
        assert bag(rows) <= bag(every), f"{self.note}: {text}"
        if order:
            expected_keys = [row[place] for row in every[start : start + length]]
            assert [row[place] for row in rows] == expected_keys, f"{self.note}: {text}"
        check(self.graph, self.triples, f"SELECT {names} {{ {body} }}", self.note)

    def ask(self) -> None:
        text = f"ASK {{ {self.group(1)} }}"
        assert bool(query(self.graph, text)) == bool(self.reference.query(text)), f"{self.note}: {text}"

    def construct(self) -> None:
        text = f"CONSTRUCT {{ ?x ?y ?z . ?y <http://e/made> ?x }} {{ {self.group(1)} }}"
        theirs = Counter(
            (ox_token(t.subject), ox_token(t.predicate), ox_token(t.object)) for t in set(self.reference.query(text))
        )
        assert bag(query(self.graph, text).tokens()) == bag(theirs), f"{self.note}: {text}"

    def round(self, queries: int) -> None:
        """As many random questions."""
        forms = (
            *(self.select_any, self.select_any, self.equalities, self.equalities, self.counts, self.counts),
            *(self.paths, self.first_few, self.ask, self.construct),
        )
        for _ in range(queries):
            self.rng.choice(forms)()
