"""The worked examples of the papers that the maintenance algorithms are from, with the sets that the papers give.

Motik, Nenov, Piro and Horrocks 2015 (B/F with equality), section 3.1; Hu, Motik and Horrocks 2018 (counting), examples
1 to 3 and figure 1; Kotowski, Bry and Brodt 2011 (FP-update), example 2 and table 1; Dell'Aglio and Della Valle 2014
(IMaRS), the running example of section 3.3.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from rdflib import Literal, Namespace

from tests.support.maintain import Bench, counts_of, state_of
from tests.support.random_programs import SAME, TYPE, Triple, ex
from triplake import rulesets
from triplake.rulesets import datalog
from triplestore import Store
from triplestore.compile.schema import Fact
from triplestore.engine import Engine
from triplestore.maintain.cache import Rows
from triplestore.maintain.imars import Imars
from triplestore.maintain.keys import NONE
from triplestore.maintain.policy import COUNTING, DELETING
from triplestore.model.rule import Rule
from triplestore.model.terms import OWL, RDFS

PREFIX = "PREFIX : <http://e/>\n"
NAMES = {"a": TYPE, "=": SAME, "inverseOf": f"<{OWL}inverseOf>", "range": f"<{RDFS}range>"}


def triples(text: str) -> list[Triple]:
    """Facts written `x R y, ...`; with `a` between them rdf:type, with `=` owl:sameAs."""
    found = []
    for fact in filter(None, (part.strip() for part in text.split(","))):
        s, p, o = fact.split()
        found.append((ex(s), NAMES.get(p, ex(p)), ex(o)))
    return found


def facts(text: str) -> set[str]:
    """The same as a set of facts, each as it is written there."""
    return {fact.strip() for fact in text.split(",") if fact.strip()}


@dataclass(frozen=True)
class Shown:
    """What an update showed: the algorithm's sets, all stored facts after it, and its rows."""

    sets: dict[str, set[str]]
    after: set[str]
    rows: Rows


class Example:
    """The closure of some facts under rules; `later` are those that updates add."""

    def __init__(
        self, engine: Engine, rules: str | tuple[Rule, ...], said: str, later: str = "", equality: str = "off"
    ) -> None:
        parsed = datalog.parse(PREFIX + rules, "example") if isinstance(rules, str) else rules
        self.bench = Bench(engine, triples(said) + triples(later), parsed, equality, False)
        known = {**self.bench.reasoning.constants, **self.bench.ids}
        self.names = {number: self._short(token) for token, number in known.items()}
        self.bench.materialise(set(self.bench.facts(triples(said))))
        self.memory = self.bench.read("none" if equality == "rewrite" else "counted")

    def window(self) -> Window:
        """A window over these facts as its background."""
        return Window(self)

    @staticmethod
    def _short(token: str) -> str:
        known = {name: short for short, name in NAMES.items()}
        return known.get(token, token.removeprefix("<http://e/").removesuffix(">"))

    def shown(self, found: Iterable[Fact]) -> set[str]:
        return {" ".join(self.names[term] for term in fact) for fact in found}

    @property
    def now(self) -> set[str]:
        """All stored facts."""
        return self.shown(state_of(self.memory)[0])

    def counts(self) -> dict[str, tuple[int, int]]:
        """fact -> its nonrecursive and recursive count."""
        return {" ".join(self.names[t] for t in fact): count for fact, count in counts_of(self.memory).items()}

    def classes(self) -> dict[str, str]:
        """term -> representative."""
        return {self.names[term]: self.names[named] for term, named in state_of(self.memory)[1]}

    def update(self, algorithm: str, minus: str = "", plus: str = "") -> Shown:
        sets: dict[str, set[str]] = {}

        def watch(name: str, found: list[Fact]) -> None:
            sets[name] = self.shown(found)

        change = self.bench.facts(triples(plus)), self.bench.facts(triples(minus))
        rows = self.bench.update(self.memory, *change, algorithm, watch)
        self.memory.commit()
        assert {name: len(found) for name, found in sets.items()} == rows.figures.sets
        return Shown(sets, self.now, rows)


class Window:
    """The closure of a window, by IMaRS."""

    def __init__(self, example: Example) -> None:
        self.example, self.memory = example, example.bench.read(expiring=True)
        self.imars = Imars(self.memory, str)

    def slide(self, now: int, **arrived: str) -> set[str]:
        """Let facts arrive, `e9="a R b"` until the time 9; all stored facts at a time."""
        layout, keys, ends = self.memory.state.layout, [], []
        for end, some in arrived.items():
            keys.append(layout.keys_of(self.example.bench.facts(triples(some))))
            ends.append(np.full(len(keys[-1]), int(end[1:]), dtype=np.int64))
        self.imars.slide(now, np.concatenate([*keys, NONE]), np.concatenate([*ends, NONE]))
        return self.example.shown(state_of(self.memory)[0])


class TestMotik:
    """Section 3.1: a bijective R; deleting one fact splits two classes, and the stored facts grow."""

    RULES = """
        [?y1, owl:sameAs, ?y2] :- [?y1, :R, ?x], [?y2, :R, ?x] .
        [?y1, owl:sameAs, ?y2] :- [?x, :R, ?y1], [?x, :R, ?y2] .
    """

    def example(self, engine: Engine) -> Example:
        return Example(engine, self.RULES, "a R b, c R d, a R d", equality="rewrite")

    def test_before(self, embedded: Engine) -> None:
        example = self.example(embedded)
        assert example.now == facts("a R b")
        assert example.classes() == {"a": "a", "c": "a", "b": "b", "d": "b"}

    @pytest.mark.parametrize("algorithm", ["backward-forward", "dred", "fixpoint-update"])
    def test_after(self, embedded: Engine, algorithm: str) -> None:
        example = self.example(embedded)
        shown = example.update(algorithm, minus="a R d")
        assert shown.after == facts("a R b, c R d")
        assert example.classes() == {}
        assert (shown.rows.merged, shown.rows.split) == (0, 2)
        assert example.shown(zip(*(c.tolist() for c in shown.rows.added), strict=True)) == facts("c R d")
        assert len(shown.rows.removed[0]) == 0

    def test_in_a_window(self, embedded: Engine) -> None:
        """The same fact is in a window: when it leaves, the classes split."""
        window = Example(embedded, self.RULES, "c R d", "a R b, a R d", equality="rewrite").window()
        assert window.slide(1, e3="a R b", e2="a R d") == facts("a R b")
        assert window.slide(2) == facts("a R b, c R d")
        assert window.slide(3, e4="a R d") == facts("a R d")

    def test_the_sets_of_bf(self, embedded: Engine) -> None:
        """D is the normal form of what went; it is checked, and each triple that it stood for and that is left
        proved."""
        shown = self.example(embedded).update("backward-forward", minus="a R d")
        assert shown.sets["doubted"] == shown.sets["checked"] == facts("a R b")
        assert shown.sets["proved"] == facts("a R b, c R d")
        assert shown.sets["delayed"] == shown.sets["disproved"] == set()

    def test_back(self, embedded: Engine) -> None:
        example = self.example(embedded)
        example.update("backward-forward", minus="a R d")
        assert example.update("semi-naive", plus="a R d").after == facts("a R b")
        assert example.classes() == {"a": "a", "c": "a", "b": "b", "d": "b"}


class TestHu:
    """Examples 1 to 3 and figure 1."""

    N = 20

    def example_1(self, engine: Engine) -> Example:
        said = ", ".join(f"a{i} R b, a{i} R c{i}" for i in range(self.N))
        return Example(engine, "[?y1, :S, ?y2] :- [?x, :R, ?y1], [?x, :R, ?y2] .", said)

    @pytest.mark.parametrize("algorithm", DELETING)
    def test_example_1(self, embedded: Engine, algorithm: str) -> None:
        shown = self.example_1(embedded).update(algorithm, minus=", ".join(f"a{i} R c{i}" for i in range(self.N)))
        assert shown.after == facts(", ".join(["b S b", *(f"a{i} R b" for i in range(self.N))]))

    def test_example_1_overdeletion(self, embedded: Engine) -> None:
        """DRed overdeletes just what goes, and searches for derivations of all of it in vain."""
        gone = [f"a{i} R c{i}" for i in range(self.N)]
        shown = self.example_1(embedded).update("dred", minus=", ".join(gone))
        pairs = [fact for i in range(self.N) for fact in (f"b S c{i}", f"c{i} S b", f"c{i} S c{i}")]
        assert shown.sets["overdeleted"] == {*gone, *pairs}
        assert shown.sets["rederived"] == set()
        figures = shown.rows.figures
        assert (figures.doubted, figures.checked, figures.proved) == (4 * self.N, 4 * self.N, 0)
        assert figures.derived == 3 * self.N

    def test_example_1_by_counting(self, embedded: Engine) -> None:
        """DRed^c fires each lost rule instance once, forwards, and looks for nothing."""
        gone = [f"a{i} R c{i}" for i in range(self.N)]
        shown = self.example_1(embedded).update("dred-counting", minus=", ".join(gone))
        assert len(shown.sets["overdeleted"]) == 4 * self.N
        assert shown.sets["rederived"] == set()
        figures = shown.rows.figures
        assert (figures.doubted, figures.checked, figures.proved, figures.looked_at) == (4 * self.N, 0, 0, 0)
        assert figures.derived == 3 * self.N

    def test_example_1_by_counting_and_search(self, embedded: Engine) -> None:
        """B/F^c reads no nonrecursive rule backwards."""
        gone = [f"a{i} R c{i}" for i in range(self.N)]
        shown = self.example_1(embedded).update("backward-forward-counting", minus=", ".join(gone))
        figures = shown.rows.figures
        assert (figures.doubted, figures.proved, figures.looked_at) == (4 * self.N, 0, 0)

    def example_2(self, engine: Engine) -> Example:
        """Every edge is of length 1, so z1 + z2 is what follows z1."""
        rules = """
            [?y, :D, :1] :- [:a, :B, ?y] .
            [?y, :D, ?z] :- [?x, :D, ?z1], [?x, :B, ?y], [?z1, :next, ?z] .
        """
        said = [f"a B c{i}, b{i} B d{j}" for i in range(1, 5) for j in range(1, 5)]
        return Example(engine, rules, ", ".join(["a B b1", "1 next 2", *said]))

    @pytest.mark.parametrize("algorithm", DELETING)
    def test_example_2(self, embedded: Engine, algorithm: str) -> None:
        example = self.example_2(embedded)
        before = example.now
        assert {f"d{j} D 2" for j in range(1, 5)} <= before
        shown = example.update(algorithm, minus="a B b1")
        assert before - shown.after == {"a B b1", "b1 D 1", *(f"d{j} D 2" for j in range(1, 5))}
        assert shown.after - before == set()

    @pytest.mark.parametrize("algorithm", [name for name in DELETING if name not in COUNTING])
    def test_example_2_with_its_sums(self, tmp_path: Path, algorithm: str) -> None:
        """The paper's own rules: sums are made by expressions."""
        e = Namespace("http://e/")
        rules = f"""{PREFIX}
            [?y, :D, ?z] :- [?e, :from, :a], [?e, :to, ?y], [?e, :length, ?z] .
            [?y, :D, ?z] :- [?x, :D, ?z1], [?e, :from, ?x], [?e, :to, ?y], [?e, :length, ?z2], BIND(?z1 + ?z2 AS ?z) .
        """
        (tmp_path / "sspe.dlog").write_text(rules)
        edges = [("a", "b1"), *(("a", f"c{i}") for i in range(3)), *((f"b{i}", f"d{i}") for i in range(3))]
        said = [
            fact
            for s, t in edges
            for fact in ((e[s + t], e["from"], e[s]), (e[s + t], e.to, e[t]), (e[s + t], e.length, Literal(1)))
        ]
        with Store.create(tmp_path / "kg", [str(tmp_path / "sspe.dlog")], engine="duckdb") as store:
            store.update(add=said)
            assert set(store.match(e.d1, e.D)) == {(e.d1, e.D, Literal(2))}
            figures = store.update(delete=[(e.ab1, e["from"], e.a)], maintain=algorithm)
            assert set(store.match(None, e.D)) == {(e[f"c{i}"], e.D, Literal(1)) for i in range(3)}
        wanted = algorithm if algorithm in ("dred", "backward-forward") else f"{algorithm}, by DRed"
        assert str(figures["algorithm"]).startswith(wanted)

    def test_example_3(self, embedded: Engine) -> None:
        """Figure 1: nonrecursive and recursive counts before the update, after overdeletion, and after the update."""
        example = Example(
            embedded,
            "[?y, a, :A] :- [?x, a, :A], [?x, :B, ?y] .",
            "a a A, b a A, d a A, a B c, b B c, c B d, d B e",
        )
        counts: list[dict[str, tuple[int, int]]] = []
        sets: dict[str, set[str]] = {}

        def watch(name: str, found: list[Fact]) -> None:
            sets[name] = example.shown(found)
            if name == "overdeleted":
                counts.append(example.counts())

        counts.append(example.counts())
        gone = example.bench.facts(triples("a a A"))
        example.bench.update(example.memory, [], gone, "dred-counting", watch)
        counts.append(example.counts())
        figure = {
            "a a A": [(1, 0), (0, 0), (0, 0)],
            "b a A": [(1, 0), (1, 0), (1, 0)],
            "c a A": [(0, 2), (0, 1), (0, 1)],
            "d a A": [(1, 1), (1, 0), (1, 1)],
            "e a A": [(0, 1), (0, 1), (0, 1)],
        }
        assert {fact: [time.get(fact, (0, 0)) for time in counts] for fact in figure} == figure
        assert sets["overdeleted"] == facts("a a A, c a A")
        assert sets["rederived"] == facts("c a A")
        assert sets["spared"] == facts("d a A")

    def test_example_3_by_dred(self, embedded: Engine) -> None:
        """Without counts four facts are overdeleted, and d is rederived as it is asserted."""
        example = Example(
            embedded,
            "[?y, a, :A] :- [?x, a, :A], [?x, :B, ?y] .",
            "a a A, b a A, d a A, a B c, b B c, c B d, d B e",
        )
        shown = example.update("dred", minus="a a A")
        assert shown.sets["overdeleted"] == facts("a a A, c a A, d a A, e a A")
        assert shown.sets["rederived"] == facts("c a A, d a A")


class TestKotowski:
    """Example 2: what is reachable in a graph, from which the edge (e, f) is removed.

    The graph is one with which the sets of table 1 come out. Its rounds do not: by rule r2 as it is printed,
    `b reach f` and `a reach f` are unsure as soon as the edge is.
    """

    RULES = """
        @rule r1 [?s, :reach, ?d] :- [?s, :edge, ?d] .
        @rule r2 [?s, :reach, ?d] :- [?s, :reach, ?i], [?i, :edge, ?d] .
    """
    EDGES = "ab ac be cf ed dg ef fg fh"
    UNSURE = "ef bf af eg eh bg bh ag ah"
    REDERIVED = "af bg eg ag"
    SUPPORTED = "af bg eg ag ah"

    @staticmethod
    def pairs(text: str, relation: str) -> set[str]:
        return {f"{pair[0]} {relation} {pair[1]}" for pair in text.split()}

    def example(self, engine: Engine) -> Example:
        return Example(engine, self.RULES, ", ".join(self.pairs(self.EDGES, "edge")))

    def test_table_1(self, embedded: Engine) -> None:
        example = self.example(embedded)
        before = example.now
        shown = example.update("fixpoint-update", minus="e edge f")
        unsure = self.pairs(self.UNSURE, "reach") | {"e edge f"}
        assert shown.sets["overdeleted"] == unsure
        assert shown.sets["kept"] == before - unsure
        assert shown.sets["rederived"] == self.pairs(self.REDERIVED, "reach")
        assert shown.sets["supported"] == self.pairs(self.SUPPORTED, "reach")
        assert [r.delta for r in shown.rows.figures.rounds[:3]] == [1, 3, 6]
        assert shown.after == shown.sets["kept"] | shown.sets["supported"]

    @pytest.mark.parametrize("algorithm", DELETING)
    def test_what_is_deleted(self, embedded: Engine, algorithm: str) -> None:
        example = self.example(embedded)
        before = example.now
        shown = example.update(algorithm, minus="e edge f")
        assert before - shown.after == self.pairs("ef eh bf bh", "reach") | {"e edge f"}
        assert shown.after - before == set()


class TestImars:
    """Section 3.3: posts in a window, which slides. Adam's account loses one reason and gets another."""

    RULES = tuple(r for r in rulesets.named("rdfs-plus").rules if r.name in ("rdfs3", "prp-inv1", "prp-inv2"))
    SCHEMA = "creator_of inverseOf has_creator, has_creator range UserAccount"
    T1, T2, T7 = "Adam creator_of tweet1", "Bob creator_of tweet2", "Adam creator_of tweet3"
    T3, T4, T8 = "tweet1 has_creator Adam", "tweet2 has_creator Bob", "tweet3 has_creator Adam"
    T5, T6 = "Adam a UserAccount", "Bob a UserAccount"

    def example(self, engine: Engine) -> Example:
        return Example(engine, self.RULES, f"{self.SCHEMA}, {self.T1}, {self.T2}", self.T7)

    def test_the_window_slides(self, embedded: Engine) -> None:
        example = self.example(embedded)
        assert example.now == facts(self.SCHEMA) | {self.T1, self.T2, self.T3, self.T4, self.T5, self.T6}
        shown = example.update("dred", minus=self.T1, plus=self.T7)
        assert shown.sets["overdeleted"] == {self.T1, self.T3, self.T5}
        assert shown.sets["rederived"] == set(), "what is new comes after"
        assert shown.after == facts(self.SCHEMA) | {self.T2, self.T4, self.T5, self.T6, self.T7, self.T8}
        assert example.shown(zip(*(c.tolist() for c in shown.rows.removed), strict=True)) == {self.T1, self.T3}
        assert example.shown(zip(*(c.tolist() for c in shown.rows.added), strict=True)) == {self.T7, self.T8}

    @pytest.mark.parametrize("algorithm", DELETING)
    def test_by_every_algorithm(self, embedded: Engine, algorithm: str) -> None:
        shown = self.example(embedded).update(algorithm, minus=self.T1, plus=self.T7)
        assert shown.after == facts(self.SCHEMA) | {self.T2, self.T4, self.T5, self.T6, self.T7, self.T8}

    def test_by_expiry(self, embedded: Engine) -> None:
        """The window is three steps wide: Adam's account, which ends with T1, ends with T7 instead."""
        window = Example(embedded, self.RULES, self.SCHEMA, f"{self.T1}, {self.T2}, {self.T7}").window()
        schema, first = facts(self.SCHEMA), {self.T1, self.T3, self.T5}
        assert window.slide(1, e4=self.T1) == schema | first
        assert window.slide(2, e5=self.T2) == schema | first | {self.T2, self.T4, self.T6}
        last = {self.T2, self.T4, self.T5, self.T6, self.T7, self.T8}
        assert window.slide(3, e6=self.T7) == schema | first | last
        assert window.slide(4) == schema | last
        assert window.slide(5) == schema | {self.T5, self.T7, self.T8}
        assert window.slide(6) == schema
