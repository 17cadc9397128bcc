"""The bundled data: what the generators promise, and the museum's numbers by a second opinion, owlrl."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyoxigraph
import pytest
import rdflib
from rdflib import OWL, RDF, URIRef
from rdflib.compare import isomorphic

from datasets.clique.generate import EX, clique, expanded
from datasets.links.generate import Links, chain, links
from datasets.links.generate import triples as links_triples
from datasets.output import as_ntriples, write
from datasets.university.dice import Dice
from datasets.university.generate import UB, generate
from tests import ROOT

MUSEUM = ROOT / "datasets/museum"
UNIVERSITY = ROOT / "datasets/university"
SUITES = Path(os.environ.get("TRIPLAKE_SUITES", ROOT.parent / "shared/suites"))


def lines(pieces: Iterable[str]) -> list[str]:
    return "".join(pieces).splitlines()


def profile(triples: Iterable[str]) -> Counter[str]:
    """How many triples of each property, and instances of each class (as `a C`)."""
    count: Counter[str] = Counter()
    for line in triples:
        _, p, o = line.rstrip(" .\n").split(" ", 2)
        count[f"a {o}" if p == f"<{RDF.type}>" else p] += 1
    return count


class TestUniversity:
    def test_is_valid_and_repeats_nothing(self) -> None:
        text = "".join(generate(1, seed=3))
        quads = list(pyoxigraph.parse(text.encode(), format=pyoxigraph.RdfFormat.N_TRIPLES))
        assert len(quads) == len(set(quads)) == text.count("\n")
        assert 85_000 < len(quads) < 185_000

    def test_depends_on_seed_and_number_only(self) -> None:
        three = lines(generate(3, seed=5))
        assert three == [line for n in range(3) for line in lines(generate(1, seed=5, start=n))]
        assert lines(generate(1, seed=5)) != lines(generate(1, seed=6))

    def test_aliases_only_add(self) -> None:
        plain, aliased = set(lines(generate(1))), set(lines(generate(1, aliases=0.1)))
        extra = profile(aliased - plain)
        people = profile(plain)[f"<{UB}emailAddress>"]
        assert plain < aliased
        assert set(extra) == {f"<{UB}emailAddress>", f"<{UB}officeNumber>"}
        assert extra[f"<{UB}emailAddress>"] == extra[f"<{UB}officeNumber>"] == pytest.approx(0.1 * people, rel=0.2)
        owners = Counter(line.split(" ", 2)[2] for line in aliased if "#emailAddress>" in line)
        assert Counter(owners.values())[2] == extra[f"<{UB}emailAddress>"]

    def test_rules_of_the_profile(self) -> None:
        """What holds of each person, not on average only."""
        has: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        kinds: dict[str, set[str]] = defaultdict(set)
        for line in lines(generate(1, seed=1)):
            s, p, o = line[:-2].split(" ", 2)
            if p == f"<{RDF.type}>":
                kinds[s].add(o.removeprefix(f"<{UB}")[:-1])
            else:
                has[p.removeprefix(f"<{UB}")[:-1]][s].append(o)
        group = {k: {s for s, of in kinds.items() if k in of} for k in set().union(*kinds.values())}
        assert {len(has["takesCourse"][s]) for s in group["UndergraduateStudent"]} == {2, 3, 4}
        assert {len(has["takesCourse"][s]) for s in group["GraduateStudent"]} == {1, 2, 3}
        assert all(len(has["advisor"][s]) == 1 for s in group["GraduateStudent"])
        assert all("Professor" in who for found in has["advisor"].values() for who in found)
        assert group["TeachingAssistant"] == set(has["teachingAssistantOf"]) < group["GraduateStudent"]
        assert not group["TeachingAssistant"] & group["ResearchAssistant"]
        assert Counter(len(found) for found in has["headOf"].values()) == {1: len(group["Department"])}
        assert len({o for found in has["headOf"].values() for o in found}) == len(group["Department"])
        assert 15 <= len(group["Department"]) <= 25
        schools = {
            o
            for p in ("undergraduate", "masters", "doctoral")
            for found in has[f"{p}DegreeFrom"].values()
            for o in found
        }
        assert schools <= group["University"]

    def test_proportions_are_those_of_lubm(self) -> None:
        path = SUITES / "lubm/lubm1_seed0.nt.gz"
        if not path.exists():
            pytest.skip(f"{path} is not there: set TRIPLAKE_SUITES to the folder of the external suites")
        with gzip.open(path, "rt") as file:
            theirs = profile(file)
        ours = profile(lines(generate(6)))
        department = f"a <{UB}Department>"
        # Their documents' headers, which we leave out; and alma maters, which are typed once a university.
        meant = {f"a <{OWL.Ontology}>", f"<{OWL.imports}>", f"a <{UB}University>"}
        assert set(theirs) - set(ours) == meant - {f"a <{UB}University>"}
        assert set(ours) <= set(theirs)
        for key in set(theirs) - meant:
            expected = theirs[key] / theirs[department]
            close = 0.015 if key[0] == "<" and expected > 100 else 0.04
            assert ours[key] / ours[department] == pytest.approx(expected, rel=close), key

    def test_vocabulary_is_in_the_ontology(self) -> None:
        named = {str(s) for s in rdflib.Graph().parse(UNIVERSITY / "ontology.ttl").subjects() if isinstance(s, URIRef)}
        used = {key.removeprefix("a ")[1:-1] for key in profile(lines(generate(1)))}
        assert used <= named

    def test_ontology_as_ntriples(self) -> None:
        turtle = UNIVERSITY / "ontology.ttl"
        assert isomorphic(rdflib.Graph().parse(turtle), rdflib.Graph().parse(data=as_ntriples(turtle), format="nt"))
        assert as_ntriples(turtle) == as_ntriples(turtle)

    def test_command(self, tmp_path: Path) -> None:
        packed = tmp_path / "u.nt.gz"
        run = [sys.executable, "-m", "datasets.university", "--seed", "2", "--ontology"]
        subprocess.run([*run, "-o", str(packed)], check=True, cwd=ROOT)
        shown = subprocess.run(run, check=True, cwd=ROOT, capture_output=True).stdout
        assert gzip.decompress(packed.read_bytes()) == shown
        assert shown.decode() == as_ntriples(UNIVERSITY / "ontology.ttl") + "".join(generate(1, seed=2))
        wrong = subprocess.run([*run, "--aliases", "2"], cwd=ROOT, capture_output=True, text=True)
        assert wrong.returncode == 2
        assert "between 0 and 1" in wrong.stderr


class TestDice:
    def test_the_stream_is_fixed(self) -> None:
        """Data made years ago must come out the same: these numbers may never change."""
        assert Dice(0).between(1, 6, 12).tolist() == [4, 2, 1, 1, 5, 6, 4, 5, 4, 6, 5, 1]

    def test_distinct(self) -> None:
        rows = Dice(7).distinct(5, 4, 20_000)
        assert all(len(set(row)) == 4 for row in rows.tolist())
        for column in rows.T:  # each value is as likely as any other, in each place
            assert np.bincount(column, minlength=5) / 20_000 == pytest.approx([0.2] * 5, abs=0.02)
        with pytest.raises(ValueError, match="cannot draw 4"):
            Dice(7).distinct(3, 4, 1)


class TestClique:
    def test_sizes(self) -> None:
        triples = lines(clique(200, 5))
        assert len(triples) == len(set(triples)) == 1_200
        assert expanded(200, 5) == 240_000

    @pytest.mark.parametrize(("n", "k"), [(2, 0), (2, 1), (5, 3), (9, 2)])
    def test_closed_form(self, n: int, k: int) -> None:
        """By brute force: everyone is reached from everyone along the links, and has everyone's facts."""
        graph = rdflib.Graph().parse(data="".join(clique(n, k)), format="nt")
        reached = {r: set(graph.transitive_objects(r, OWL.sameAs)) for r in set(graph.subjects(OWL.sameAs))}
        closure = {(a, OWL.sameAs, b) for a, found in reached.items() for b in found}
        closure |= {(b, p, o) for s, p, o in graph if p != OWL.sameAs for b in reached[s]}
        assert len(graph) == n * (k + 1)
        assert len(closure) == expanded(n, k)
        assert all(str(s).startswith(EX) for s in reached)


class TestLinks:
    @staticmethod
    def least(data: Links) -> dict[int, int]:
        """The least number of each resource's class, by an independent union-find (path halving, lesser root wins)."""
        parent = {member: member for member in data.members.tolist()}

        def root(x: int) -> int:
            while parent[x] != x:
                parent[x] = x = parent[parent[x]]
            return x

        for a, b in zip(data.a.tolist(), data.b.tolist(), strict=True):
            low, high = sorted((root(a), root(b)))
            parent[high] = low
        return {member: root(member) for member in parent}

    @pytest.mark.parametrize(("count", "largest", "extra"), [(1, 2, 0), (3_000, 400, 0.2), (500, 500, 0), (90, 20, 2)])
    def test_labels_are_the_classes(self, count: int, largest: int, extra: float) -> None:
        data = links(count, largest, extra, seed=1)
        assert len(data.a) == len(data.b) == count
        assert np.array_equal(np.sort(data.members), np.arange(len(data.members)))
        assert self.least(data) == dict(zip(data.members.tolist(), data.labels.tolist(), strict=True))
        sizes = np.bincount(np.unique(data.labels, return_inverse=True)[1])
        assert sizes.min() >= 2
        assert sizes.max() >= largest
        assert (sizes - 1).sum() == round(count / (1 + extra))

    def test_chain_is_one_class_and_long(self) -> None:
        data = chain(1_000, seed=1)
        assert set(self.least(data).values()) == {0} == set(data.labels.tolist())
        degrees = np.bincount(np.concatenate([data.a, data.b]))
        assert np.bincount(degrees).tolist() == [0, 2, 999]

    def test_same_seed_same_triples(self) -> None:
        assert list(links_triples(links(200, 20, seed=3))) == list(links_triples(links(200, 20, seed=3)))
        assert "".join(links_triples(links(200, 20, seed=3))).count("\n") == 200

    def test_too_few_links_for_the_largest_class(self) -> None:
        run = [sys.executable, "-m", "datasets.links", "--count", "10"]
        wrong = subprocess.run(run, cwd=ROOT, capture_output=True, text=True)
        assert wrong.returncode == 2
        assert "a class of 177794 needs 177793 links" in wrong.stderr


class TestMuseum:
    """The README's numbers. The reasoner is owlrl: slow, but right on this data."""

    FILES = ("ontology", "rijksmuseum", "mauritshuis", "links")

    def graph(self) -> rdflib.Graph:
        graph = rdflib.Graph()
        for name in self.FILES:
            graph.parse(MUSEUM / f"{name}.ttl")
        return graph

    def test_sizes(self) -> None:
        sizes = [len(rdflib.Graph().parse(MUSEUM / f"{name}.ttl")) for name in self.FILES]
        assert sizes == [22, 34, 30, 3]
        assert len(self.graph()) == sum(sizes) == 89

    def test_answers_step_by_step(self) -> None:
        owlrl = pytest.importorskip("owlrl", reason="owlrl is in the `bench` extra")
        graph = self.graph()
        base = "http://example.org/museum/"

        def observe() -> tuple[list[int], tuple[int, int], bool]:
            closure = rdflib.Graph()
            for triple in graph:
                closure.add(triple)
            owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(closure)
            rows = [
                len(closure.query((MUSEUM / f"queries/{name}.rq").read_text()))
                for name in ("goldfinch", "masters", "school", "works")
            ]
            same: dict[object, set[object]] = defaultdict(set)
            for a, b in closure.subject_objects(OWL.sameAs):
                if str(a).startswith(base) and a != b:
                    same[a] |= {a, b}
            classes = {frozenset(members) for members in same.values()}
            clashes = {(carel, OWL.sameAs, barent), (barent, OWL.differentFrom, carel)} <= set(closure)
            return rows, (len(classes), max(map(len, classes))), clashes

        carel, barent = URIRef(base + "rijksmuseum/carel"), URIRef(base + "rijksmuseum/barent")
        assert observe() == ([3, 4, 6, 4], (9, 3), True)
        graph.remove((URIRef(base + "mauritshuis/p5"), OWL.sameAs, barent))
        assert observe() == ([2, 4, 5, 4], (9, 2), False)
        graph.update((MUSEUM / "updates/2-a-third-catalogue.ru").read_text())
        assert observe() == ([2, 4, 5, 5], (9, 3), False)
        graph.remove((URIRef(base + "vocabulary#authorityNumber"), RDF.type, OWL.InverseFunctionalProperty))
        assert observe() == ([2, 3, 5, 2], (4, 2), False)

    @pytest.mark.long_on_spark
    @pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
    def test_store_gives_the_same(self, engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
        """The table of the README, its counts of representatives too, on a store with each engine."""
        from triplestore.store import Store

        session = request.getfixturevalue("spark") if engine == "spark" else None

        def observe() -> tuple[list[tuple[int, int]], tuple[int, int], int]:
            queries = [
                (MUSEUM / f"queries/{name}.rq").read_text() for name in ("goldfinch", "masters", "school", "works")
            ]
            rows = [(len(store.query(text)), len(store.query(text, same_as="canonical"))) for text in queries]
            stats = store.stats()
            return rows, (stats["classes"], stats["largest_class"]), len(store.check())

        with Store.create(tmp_path / "kg", engine=engine, spark=session) as store:
            store.load(*(MUSEUM / f"{name}.ttl" for name in self.FILES))
            steps = [observe()]
            for path in sorted((MUSEUM / "updates").iterdir()):
                store.update_files(str(path))
                steps.append(observe())
        assert steps == [
            ([(3, 1), (4, 2), (6, 3), (4, 4)], (9, 3), 1),
            ([(2, 1), (4, 2), (5, 3), (4, 4)], (9, 2), 0),
            ([(2, 1), (4, 2), (5, 3), (5, 5)], (9, 3), 0),
            ([(2, 1), (3, 2), (5, 3), (2, 2)], (4, 2), 0),
        ]

    def test_patches_delete_what_is_there(self) -> None:
        graph = self.graph()
        for path in sorted(MUSEUM.glob("updates/*.rdfp")):
            deleted = "\n".join(line[2:] for line in path.read_text().splitlines() if line.startswith("D "))
            triples = set(rdflib.Graph().parse(data=deleted, format="nt"))
            assert len(triples) == 1
            assert triples <= set(graph), path.name


def test_write_is_reproducible(tmp_path: Path) -> None:
    for name in ("a.nt.gz", "b.nt.gz", "a.nt"):
        write(clique(3, 1), str(tmp_path / name))
    assert (tmp_path / "a.nt.gz").read_bytes() == (tmp_path / "b.nt.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.nt.gz").read_bytes()) == (tmp_path / "a.nt").read_bytes()
