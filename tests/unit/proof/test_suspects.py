"""Suspects: the links most likely wrong first, and the best sets of links to remove."""

from __future__ import annotations

import json
from itertools import chain, combinations
from math import log2
from pathlib import Path
from random import Random

import networkx
import pytest
from rdflib import Namespace

from tests.bench.suspects import KINDS, by_structure_alone, precision, ranked
from tests.conftest import MakeStore
from tests.support.cli import done, refused, run
from tests.support.turtle import graph
from triplestore import Store
from triplestore.model.errors import UsageError
from triplestore.proof.cuts import Edge, minimal_cuts
from triplestore.proof.error_degree import communities, error_degrees
from triplestore.proof.parting import LEFT, NEITHER, RIGHT, Parting
from triplestore.proof.record_linkage import Value, Weights, agree, words
from triplestore.proof.suspects import WRONG, _Links

EX = Namespace("http://ex/")
RIGHT_LINKS = " . ".join(
    f":a{n} owl:sameAs :b{n} . :a{n} :name 'N{n}' ; :born {1600 + n} . :b{n} :name 'N{n}' ; :born {1600 + n}"
    for n in range(20)
)
"""Twenty things with two names each, which agree on all."""


def made(make_store: MakeStore, text: str) -> Store:
    return make_store(add=[*graph(f"{RIGHT_LINKS} . {text}")])


def first(store: Store) -> tuple[frozenset[str], list[str]]:
    """The ends of the most suspect link, and its reasons, the strongest first."""
    (found,) = store.suspects(1)
    ends = frozenset(token.rsplit("/", 1)[1].rstrip(">") for token in (found.left, found.right))
    return ends, [reason.kind for reason in found.reasons if reason.bits > 0]


CASES = {
    "values": (":x owl:sameAs :y . :x :name 'Anna' ; :born 1700 . :y :name 'Zoe' ; :born 1800", "xy", "values"),
    "declared different": (":x owl:sameAs :y . :x owl:differentFrom :y", "xy", "different"),
    "all different": (
        ":x owl:sameAs :y . :y owl:sameAs :z . [] a owl:AllDifferent ; owl:members (:x :z :w) . "
        ":x :name 'X' . :y :name 'X' . :z :name 'Z'",
        "yz",
        "different",
    ),
    "disjoint types": (":x owl:sameAs :y . :C owl:disjointWith :D . :x a :C . :y a :D", "xy", "disjoint"),
    "disjoint by a domain and above": (
        ":x owl:sameAs :y . :C owl:disjointWith :D . :E rdfs:subClassOf :C . :p rdfs:domain :D . :x a :E . :y :p :o",
        "xy",
        "disjoint",
    ),
    "all disjoint": (
        ":x owl:sameAs :y . [] a owl:AllDisjointClasses ; owl:members (:C :D :E) . :x a :C . :y a :E",
        "xy",
        "disjoint",
    ),
    "functional": (
        ":x owl:sameAs :y . :f a owl:FunctionalProperty . :x :f 1 . :y :f 2",
        "xy",
        "functional",
    ),
    "the weakest of a chain": (
        ":x owl:sameAs :y . :y owl:sameAs :z . :x owl:differentFrom :z . :x :name 'Q' . :y :name 'Q' . :z :name 'R'",
        "yz",
        "different",
    ),
    "two names of a source": (
        "<http://s/1> owl:sameAs :x , :y . <http://s/2> owl:sameAs :z . :y owl:sameAs <http://s/2> . "
        + " . ".join(f"<http://s/{n + 3}> owl:sameAs :a{n}" for n in range(20)),
        "y2",
        "source",
    ),
}


@pytest.mark.long_on_spark(but=2)
@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_first(make_store: MakeStore, case: str) -> None:
    text, ends, kind = CASES[case]
    names, reasons = first(made(make_store, text))
    assert kind in reasons
    assert names == frozenset(ends)


def test_keys(make_store: MakeStore) -> None:
    """Of those who share a key's value the odd one is first, with what to delete."""
    store = made(
        make_store,
        ":box a owl:InverseFunctionalProperty . :x :box :m ; :name 'Eva Post' . :y :box :m ; :name 'Post, Eva' . "
        ":z :box :m ; :name 'Otto Kok'",
    )
    found = store.suspects(1)[0]
    assert (found.left, found.by, found.on, found.shared) == (f"<{EX.z}>", ("prp-ifp",), (f"<{EX.box}>",), 3)
    assert found.delete == ((f"<{EX.z}>", f"<{EX.box}>", f"<{EX.m}>"),)
    assert found.parts == (1, 2)


def test_an_update_file_takes_them_away(tmp_path: Path) -> None:
    (tmp_path / "data.ttl").write_text(
        f"@prefix : <{EX}> . @prefix owl: <http://www.w3.org/2002/07/owl#> . "
        "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
        f"{RIGHT_LINKS} . :x owl:sameAs :y ; owl:differentFrom :y . :y owl:sameAs :x ."
    )
    kg, change = tmp_path / "kg", tmp_path / "change.rdfp"
    done("load", kg, tmp_path / "data.ttl")
    assert run("check", kg).code == 1
    change.write_text(done("suspects", kg, "--limit", "1", "--format", "rdfp"))
    assert change.read_text().startswith("# 1. ")
    assert change.read_text().count("\nD ") == 2, "both ways round"
    done("update", kg, change)
    assert done("check", kg) == "consistent\n"
    assert run("why-same", kg, f"<{EX.x}>", f"<{EX.y}>").code == 1
    shown = done("suspects", kg, "--limit", "1", "--prefix", f"={EX}")
    assert shown.startswith("1. :a0 = :b0   -")
    told = json.loads(done("suspects", kg, "--limit", "0", "--format", "json"))
    assert len(told) == 20
    assert {"left", "right", "by", "on", "shared_by", "members", "parts", "bits", "reasons", "delete", "graphs"} == {
        *told[0]
    }
    assert sum(reason["bits"] for reason in told[0]["reasons"]) == pytest.approx(told[0]["bits"], abs=0.1)


def test_nothing_to_doubt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Store.create(tmp_path / "kg", engine="duckdb").close()
    assert done("suspects", tmp_path / "kg") == "no link to doubt: no asserted triples make two terms equal\n"
    Store.create(tmp_path / "off", equality="off", engine="duckdb").close()
    refused(2, "suspects", tmp_path / "off", says="has equality off")
    with Store.open(tmp_path / "off", engine="duckdb") as store, pytest.raises(UsageError, match="equality off"):
        store.cuts(EX.a, EX.b)


def test_by_axioms(tmp_path: Path) -> None:
    """Where the closure has all equalities as facts, it is the same."""
    found = []
    for equality in ("rewrite", "axioms"):
        with Store.create(tmp_path / equality, equality=equality, engine="duckdb") as store:
            store.update(add=graph(f"{RIGHT_LINKS} . :x owl:sameAs :y . :x :name 'A' . :y :name 'B'"))
            found.append([suspect.as_dict() for suspect in store.suspects(None)])
    assert found[0] == found[1]
    assert len(found[0]) == 21


def test_graphs(tmp_path: Path) -> None:
    """The graphs of what is to be deleted are told, and two subjects of one graph are two names of one source."""
    (tmp_path / "data.trig").write_text(
        f"@prefix : <{EX}> . @prefix owl: <http://www.w3.org/2002/07/owl#> . "
        "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
        f":g {{ {RIGHT_LINKS} . :a1 owl:sameAs :a2 }} :h {{ :a1 owl:sameAs :a2 }}"
    )
    kg = tmp_path / "kg"
    done("load", kg, tmp_path / "data.trig")
    with Store.open(kg, engine="duckdb") as store:
        (found,) = store.suspects(1)
        assert {found.left, found.right} == {f"<{EX.a1}>", f"<{EX.a2}>"}
        assert found.graphs == ((f"<{EX.g}>", f"<{EX.h}>"),)
    lines = done("suspects", kg, "--limit", "1", "--format", "rdfp").splitlines()
    assert [line.split()[4] for line in lines if line.startswith("D ")] == [f"<{EX.g}>", f"<{EX.h}>"]


@pytest.mark.parametrize("kind", KINDS)
def test_precision(kind: str) -> None:
    """On links of which some are wrong, no worse than by the structure alone, and most of the first ten are wrong."""
    given = KINDS[kind](150, 0.08, Random(5))
    found = ranked(given)
    ours, theirs = precision(found, given), precision(by_structure_alone(found), given)
    assert ours[10] >= 0.7
    assert all(ours[n] >= theirs[n] - 0.02 for n in ours)


def random_hubs(dice: Random) -> tuple[int, list[list[int]]]:
    size = dice.randrange(2, 9)
    hubs = {
        tuple(sorted(dice.sample(range(size), dice.choice([2, 2, 2, min(3, size)]))))
        for _ in range(dice.randrange(1, 10))
    }
    return size, [list(hub) for hub in sorted(hubs)]


def parts_them(cut: tuple[Edge, ...], size: int, hubs: list[list[int]]) -> bool:
    rest = bipartite(size, hubs)
    rest.remove_edges_from((place, size + number) for place, number in cut)
    return not networkx.has_path(rest, 0, size - 1)


def bipartite(size: int, hubs: list[list[int]]) -> networkx.Graph:
    whole = networkx.Graph()
    whole.add_nodes_from(range(size))
    whole.add_edges_from((place, size + number) for number, hub in enumerate(hubs) for place in hub)
    return whole


def test_parting_is_that_of_a_graph() -> None:
    for seed in range(150):
        size, hubs = random_hubs(Random(seed))
        parting = Parting(size, hubs, [0] * size, size)
        whole = bipartite(size, hubs)
        for number, hub in enumerate(hubs):
            for place in hub:
                sides = parting.sides(number, place)
                rest = whole.copy()
                rest.remove_edge(place, size + number)
                if networkx.has_path(rest, place, size + number):
                    assert sides.parts is None
                    continue
                near = {n for n in networkx.node_connected_component(rest, place) if n < size}
                far = {n for n in networkx.node_connected_component(rest, size + number) if n < size}
                assert sides.parts == (len(near), len(far))
                assert {n for n in range(size) if sides.side(n) == LEFT} == near
                assert {n for n in range(size) if sides.side(n) == RIGHT} == far
                assert {n for n in range(size) if sides.side(n) == NEITHER} == {*range(size)} - near - far
                assert (set(sides.nearest[0]), set(sides.nearest[1])) == (near, far)


def test_error_degrees_are_those_of_the_paper() -> None:
    """By its definition, over the weighted links of pairs: two for a link both ways."""
    for seed in range(60):
        dice = Random(seed)
        size, hubs = random_hubs(dice)
        hubs = [hub for hub in hubs if len(hub) == 2]
        if not hubs:
            continue
        weights = [dice.choice([1, 2]) for _ in hubs]
        within = communities(size, hubs, weights)
        degrees = error_degrees(within, hubs, weights)
        for (a, b), weight, found in zip(hubs, weights, degrees, strict=True):
            parts = {within[a], within[b]}
            members = [[n for n in range(size) if within[n] == part] for part in parts]
            total = sum(w for (x, y), w in zip(hubs, weights, strict=True) if {within[x], within[y]} == parts)
            most = len(members[0]) * (len(members[0]) - 1) if len(parts) == 1 else 2 * len(members[0]) * len(members[1])
            assert found[a] == found[b] == pytest.approx((1 - total / most) / weight)


def test_cuts_are_the_cheapest_of_all() -> None:
    """Compared with all sets of edges, on small graphs."""
    for seed in range(40):
        dice = Random(seed)
        size, hubs = random_hubs(dice)
        edges: list[Edge] = [(place, number) for number, hub in enumerate(hubs) for place in hub]
        if len(edges) > 10 or not networkx.has_path(bipartite(size, hubs), 0, size - 1):
            continue
        costs = {edge: dice.randrange(1, 6) + 0.0 for edge in edges}
        kept = frozenset(dice.sample(edges, len(edges) // 4))
        some = chain.from_iterable(combinations(sorted({*edges} - kept), n) for n in range(len(edges) + 1))
        minimal: list[tuple[Edge, ...]] = []
        for cut in some:
            if parts_them(cut, size, hubs) and not any({*known} <= {*cut} for known in minimal):
                minimal.append(cut)
        found = [tuple(cut) for cut in minimal_cuts(costs, 0, size - 1, 100, kept)]
        assert sorted(found) == sorted(minimal)
        prices = [sum(costs[edge] for edge in cut) for cut in found]
        assert prices == sorted(prices)


def test_cuts_of_a_store(make_store: MakeStore) -> None:
    store = made(
        make_store,
        ":x owl:sameAs :y . :y owl:sameAs :z . :x :name 'Q' . :y :name 'Q' . :z :name 'R' . :w owl:sameAs :z",
    )
    ends = [[{link.left, link.right} for link in cut.links] for cut in store.cuts(EX.x, EX.z)]
    assert ends == [[{f"<{EX.y}>", f"<{EX.z}>"}], [{f"<{EX.x}>", f"<{EX.y}>"}]]
    assert store.cuts(EX.x, EX.a1) == store.cuts(EX.x, EX.none) == store.cuts(EX.x, EX.x) == []


def test_cut_by_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Store.create(tmp_path / "kg", engine="duckdb") as store:
        store.update(add=graph(":x owl:sameAs :y . :box a owl:InverseFunctionalProperty . :x :box 1 . :y :box 1"))
    named = ("why-same", tmp_path / "kg", "e:x", "e:y", "--prefix", f"e={EX}", "--cut", "3")
    shown = done(*named).splitlines()
    assert shown[0].startswith("1. without 2 links, ")
    assert sum(line.endswith("[prp-ifp]") for line in shown) == 1
    assert len([line for line in shown if line.startswith("2.")]) == 0, "both have to go"
    (cut, *_) = json.loads(done(*named, "--format", "json"))
    assert {link["by"] for link in cut["links"]} == {"asserted", "prp-ifp"}
    refused(2, *named[:3], "--cut", "2", says="--cut needs two terms")
    refused(2, *named, "--format", "dot", says="--cut needs two terms")
    assert run("why-same", tmp_path / "kg", "e:x", "e:none", "--prefix", f"e={EX}", "--cut", "1").code == 1


def test_records_agree() -> None:
    def said(*texts: str, lang: str | None = None) -> list[Value]:
        return [Value(hash(text), lang, words(text)) for text in texts]

    assert words("Rijn, Rembrandt van – 1606") == {"rijn", "rembrandt", "van", "1606"}
    assert words("Élise") == words("ELISE")
    assert agree(said("1606"), said("1606-07-15"))
    assert agree(said("Rembrandt", "Rijn"), said("van Rijn"))
    assert agree(said("Delft"), said("Leiden")) is False
    assert agree(said("Night", lang="en"), said("Nacht", lang="nl")) is None
    assert agree(said("x"), [Value(7)]) is None
    assert agree([Value(7)], [Value(7)]) is True
    assert agree([Value(7)], [Value(8)]) is False


def test_weights_are_those_of_fellegi_and_sunter() -> None:
    """m = 0.9 and u = 0.1 of one property: agreement speaks for a link, its lack against it."""
    same, other = ({1: [Value(1)]}, {1: [Value(1)]}), ({1: [Value(1)]}, {1: [Value(2)]})
    weights = Weights([same] * 89 + [other] * 9, [same] * 9 + [other] * 89)
    assert weights.bits(1, True) == pytest.approx(-3.17, abs=0.01)
    assert weights.bits(1, False) == pytest.approx(3.17, abs=0.01)
    assert weights.bits(2, False) == 0


def test_blame_is_shared_by_bayes_rule() -> None:
    found = _Links({(0, 1): [("asserted", ())], (1, 2): [("asserted", ())]})
    sure = found.blamed([0, 1], None)
    assert sure[0] == sure[1] == pytest.approx(-found.bits(0) - log2(WRONG / (1 - WRONG)), abs=1e-6), (
        "one of two: even odds"
    )
    faint = found.blamed([0], 1.0)
    assert faint == [pytest.approx(1.0)], "one bit against one link is one bit"
