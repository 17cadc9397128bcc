"""why-same: chains of equalities and classes, as users see them, and against graphs made by other means."""

from __future__ import annotations

import json
import time
from collections import defaultdict, deque
from itertools import combinations, pairwise
from pathlib import Path
from random import Random

import pytest
from rdflib import OWL, RDF, RDFS, Literal, Namespace

from tests.support import custom_programs, oracle
from tests.support.cli import done, run
from tests.support.closure import materialised
from tests.support.equality_programs import RULES, random_facts
from tests.support.proofs import check
from tests.support.random_programs import SAME, TYPE, Triple
from tests.support.seeds import seeds
from triplake.rulesets import datalog, named
from triplestore import Store
from triplestore.compile.schema import Constants
from triplestore.dictionary import encoding
from triplestore.engine import Engine
from triplestore.maintain import Reasoning
from triplestore.model.errors import InputError
from triplestore.model.rule import Rule, constants_of
from triplestore.proof.bridges import bridges
from triplestore.proof.causes import causes
from triplestore.proof.computed import Source
from triplestore.proof.proof import ASSERTED
from triplestore.proof.source import source
from triplestore.proof.why_same import equality_class, why_same

EX = Namespace("http://example.org/")
PREFIX = "--prefix=ex=http://example.org/"
DATA = """
@prefix ex: <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:mbox a owl:InverseFunctionalProperty . ex:email rdfs:subPropertyOf ex:mbox .
ex:ada ex:mbox <mailto:ada> . ex:countess ex:email <mailto:ada> . ex:third ex:mbox <mailto:ada> .
ex:lovelace owl:sameAs ex:ada, ex:byron . ex:byron owl:sameAs ex:x . ex:x owl:sameAs ex:ada . ex:y owl:sameAs ex:x .
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "data.ttl").write_text(DATA)
    done("load", tmp_path / "kg", tmp_path / "data.ttl")
    return tmp_path / "kg"


def test_chain(store: Path) -> None:
    assert done("why-same", store, "ex:y", "ex:countess", PREFIX).splitlines() == [
        "ex:y = ex:countess, by 3 links",
        "1. ex:y = ex:x   [asserted]",
        "2. ex:x = ex:ada   [asserted]",
        "3. ex:ada = ex:countess   [prp-ifp]",
        "   ├─ ex:mbox a owl:InverseFunctionalProperty   [asserted]",
        "   ├─ ex:ada ex:mbox <mailto:ada>   [asserted]",
        "   └─ ex:countess ex:mbox <mailto:ada>   [prp-spo1]",
        "      ├─ ex:email rdfs:subPropertyOf ex:mbox   [asserted]",
        "      └─ ex:countess ex:email <mailto:ada>   [asserted]",
    ]
    assert done("why-same", store, "ex:ada", "ex:x", PREFIX).splitlines() == [
        "ex:ada = ex:x, by 1 link",
        "1. ex:ada = ex:x   [asserted]",
        "   └─ ex:x owl:sameAs ex:ada   [asserted]",
    ]
    assert done("why-same", store, "ex:ada", "ex:ada", PREFIX) == "ex:ada and ex:ada are the same term\n"


def test_class(store: Path) -> None:
    lines = done("why-same", store, "ex:byron", PREFIX, "--limit", "3").splitlines()
    assert lines[:8] == [
        "7 terms are one",
        *("  ex:ada", "  ex:byron", "  ex:countess", "  ... and 4 more"),
        *("links:", "  5 asserted", "  2 prp-ifp"),
    ]
    assert [line for line in lines[8:] if not line.startswith(" ")] == [
        "bridges, without which the class falls apart: 4",
        "1. ex:ada = ex:third   [prp-ifp]: without ex:ada among the 3 that share it, 5 and 2",
        "2. ex:y = ex:x   [asserted]: 1 and 6",
        "3. ex:third = ex:ada   [prp-ifp]: without ex:third among the 3 that share it, 1 and 6",
        "... and 1 more",
    ]


def test_json_and_dot(store: Path) -> None:
    found = json.loads(done("why-same", store, "ex:y", "ex:third", PREFIX, "--format", "json"))
    assert [link["by"] for link in found["links"]] == ["asserted", "asserted", "prp-ifp"]
    assert [f"<{EX.third}>", f"<{EX.mbox}>", "<mailto:ada>"] in found["links"][2]["asserted"]
    assert found["links"][2]["steps"][-1]["triple"] == [f"<{EX.ada}>", f"<{OWL.sameAs}>", f"<{EX.third}>"]
    whole = json.loads(done("why-same", store, "ex:y", PREFIX, "--format", "json"))
    assert len(whole["members"]) == 7
    first = whole["bridges"][0]
    assert (first["left_members"], first["right_members"], first["shared_by"]) == (5, 2, 3)
    lines = done("why-same", store, "ex:y", "ex:third", PREFIX, "--format", "dot").splitlines()
    assert lines[0] == "graph equality {"
    assert "  t0 -- l0 -- t2;" in lines
    assert '  f2 [shape=box, label="ex:third ex:mbox <mailto:ada>"];' in lines
    assert "  f2 -- l2 [style=dashed];" in lines
    assert '  l0 [shape=plaintext, label="prp-ifp\\n5 | 2"];' in done(
        "why-same", store, "ex:y", PREFIX, "--format", "dot"
    )


def test_stats(store: Path) -> None:
    """The link by ex:email is one by a derived triple."""
    found = json.loads(done("stats", store, "--same-as", "--json"))
    assert (found["classes"], found["members"], found["by_derived_facts"]) == (1, 7, 1)
    assert found["sizes"] == [{"from": 4, "to": 7, "classes": 1}]
    assert found["largest"] == [
        {"size": 7, "members": [f"<{EX[n]}>" for n in ("ada", "byron", "countess", "lovelace", "third")]}
    ]
    assert found["causes"] == [
        {"rule": "asserted", "on": [f"<{OWL.sameAs}>"], "links": 5},
        {"rule": "prp-ifp", "on": [f"<{EX.mbox}>"], "links": 1},
    ]
    lines = done("stats", store, "--same-as").splitlines()
    assert lines[:2] == ["7 terms in 1 class of equal terms", "             1 of 4 to 7 terms"]
    assert lines[-1] == "             1 merges more, by rules from derived facts"


def test_causes_of_other_kinds(tmp_path: Path) -> None:
    """Keys, functional properties, cardinalities; a rule that is not symmetric."""
    (tmp_path / "more.dlog").write_text(
        "PREFIX ex: <http://example.org/>\n@rule twin [?x, owl:sameAs, ?y] :- [?x, ex:twin, ?y] .\n"
    )
    (tmp_path / "data.ttl").write_text(
        "@prefix ex: <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        "ex:C owl:hasKey (ex:k ex:l) . ex:a a ex:C ; ex:k 1 ; ex:l 2 . ex:b a ex:C ; ex:k 1 ; ex:l 2 .\n"
        "ex:f a owl:FunctionalProperty . ex:x ex:f ex:c, ex:d, ex:e . ex:c ex:twin ex:d . ex:e ex:twin ex:g .\n"
    )
    done("load", tmp_path / "kg", tmp_path / "data.ttl", "--rules", "owl2rl", "--rules", tmp_path / "more.dlog")
    found = json.loads(done("stats", tmp_path / "kg", "--same-as", "--json"))
    assert found["by_derived_facts"] == 0
    assert [(c["rule"], c["on"], c["links"]) for c in found["causes"]] == [
        ("prp-fp", [f"<{EX.f}>"], 2),
        ("twin", [f"<{EX.twin}>"], 2),
        ("prp-key", [f"<{EX.k}>", f"<{EX.l}>"], 1),
    ]


def test_what_is_not_one(store: Path, tmp_path: Path) -> None:
    for terms in (("ex:ada", "ex:mbox"), ("ex:ada", "ex:nobody"), ("ex:mbox",), ("ex:nobody",), ('"36"', "ex:ada")):
        outcome = run("why-same", store, *terms, PREFIX)
        assert (outcome.code, outcome.out) == (1, "")
        assert "not one" in outcome.err or "equals nothing else" in outcome.err
        assert ("no triple of the store has ex:nobody" in outcome.err) == ("ex:nobody" in terms)
    assert run("why-same", store, "ex:a", "ex:b", "ex:c", PREFIX).code == 2
    done("init", tmp_path / "off", "--equality", "off")
    outcome = run("why-same", tmp_path / "off", "ex:a", "ex:b", PREFIX)
    assert outcome.code == 2
    assert "equality off" in outcome.err
    assert run("stats", tmp_path / "off", "--same-as").code == 2


@pytest.mark.parametrize("key", [False, True])
def test_a_chain_of_a_thousand_links(tmp_path: Path, key: bool) -> None:
    """In order, whatever order they were said in: owl:sameAs, or values shared by two."""
    nodes = [EX[f"n{i}"] for i in range(1001)]
    Random(7).shuffle(nodes)
    pairs = list(pairwise(nodes))
    if key:
        links = [(x, EX.k, Literal(i)) for i, pair in enumerate(pairs) for x in pair]
        links.append((EX.k, RDF.type, OWL.InverseFunctionalProperty))
    else:
        links = [(a, OWL.sameAs, b) for a, b in pairs]
    Random(8).shuffle(links)
    with Store.create(tmp_path / "kg") as made:
        made.update(add=links)
        seconds = []
        for _ in range(2):
            started = time.perf_counter()
            chain = made.why_same(nodes[0], nodes[-1])
            seconds.append(time.perf_counter() - started)
        assert chain is not None
        assert [link.terms for link in chain.links] == pairs
        assert {link.by for link in chain.links} == {"prp-ifp" if key else "asserted"}
        assert min(seconds) < 5  # 0.3 s where nothing else runs
        whole = made.equality_class(nodes[0])
        assert whole is not None
        assert whole.bridge_count == 1000
        assert (whole.bridges[0].left, whole.bridges[0].right) in ((500, 501), (501, 500))


def test_bridges_against_removing_each_edge() -> None:
    rng = Random(3)
    for _ in range(300):
        size = rng.randint(1, 9)
        edges = {tuple(sorted(rng.sample(range(size), 2))) for _ in range(rng.randint(0, 10)) if size > 1}
        neighbours = [sorted(b if a == n else a for a, b in edges if n in (a, b)) for n in range(size)]
        weights = [rng.randint(0, 3) for _ in range(size)]

        def reach(start: int, without: tuple[int, ...] | None = None, edges: set[tuple[int, ...]] = edges) -> set[int]:
            seen, queue = {start}, [start]
            while queue:
                at = queue.pop()
                for a, b in edges:
                    if (a, b) != without and at in (a, b) and (other := a + b - at) not in seen:
                        seen.add(other)
                        queue.append(other)
            return seen

        expected = {
            (edge, sum(weights[n] for n in reach(0) - reach(0, edge)))
            for edge in edges
            if edge[0] in reach(0) and reach(0, edge) != reach(0)
        }
        assert {(tuple(sorted((a, b))), w) for a, b, w in bridges(neighbours, weights).found} == expected


# -- random data --------------------------------------------------------------------------------------------------


EVALUATED = datalog.parse(
    """
    PREFIX : <http://e/>
    @rule in-order [?x, owl:sameAs, ?y] :- [?a, :p1, ?x], [?a, :p1, ?y], FILTER(STR(?x) < STR(?y)) .
    @rule long-key [?x, owl:sameAs, ?y] :- [?x, :p2, ?v], [?y, :p2, ?v], FILTER(STRLEN(STR(?v)) > 3) .
    @rule no-self  [?x, owl:sameAs, ?y] :- [?x, :p3, ?y], NOT [?x, :p3, :a] .
    @rule renamed  [?x, owl:sameAs, ?z] :- [?x, :p0, ?y], BIND(IRI(CONCAT("http://e/", "a")) AS ?z) .
    """,
    "evaluated",
)
"""Equalities by rules that are no plain joins."""


def proofs_of(engine: Engine, triples: list[Triple], rules: tuple[Rule, ...], equality: str) -> Source:
    materialised(engine, triples, rules, equality)
    return read_of(engine, rules, equality)


def read_of(engine: Engine, rules: tuple[Rule, ...], equality: str) -> Source:
    tokens = {t for r in rules for t in constants_of(r)}
    constants = Constants(encoding.lookup(engine, tokens), encoding.numbers_equal_to(engine, tokens))
    return source(engine, Reasoning(rules, equality, constants), named("equality").rules)


def agree_with_a_graph(engine: Engine, rng: Random, equality: str, most: int = 3) -> None:
    """Things linked by owl:sameAs and by keys; the graph of the links is made here from the data alone."""
    things = [f"<{EX[f't{i}']}>" for i in range(rng.randint(3, 8))]
    values = [f"<{EX[f'v{i}']}>" for i in range(5)]
    keys, below = [f"<{EX.p0}>", f"<{EX.p1}>"], {f"<{EX.q0}>": f"<{EX.p0}>"}
    triples = {(k, TYPE, f"<{OWL.InverseFunctionalProperty}>") for k in keys}
    triples |= {(q, f"<{RDFS.subPropertyOf}>", p) for q, p in below.items()}
    same = {(rng.choice(things), rng.choice(things)) for _ in range(rng.randint(0, 5))}
    told = {(rng.choice(things), rng.choice([*keys, *below]), rng.choice(values)) for _ in range(rng.randint(1, 9))}
    alike = {(rng.choice(values), rng.choice(values)) for _ in range(rng.randint(0, 2))}
    triples |= {(a, SAME, b) for a, b in same | alike} | told
    value = {v: {v} for v in values}
    for a, b in alike:
        merged = value[a] | value[b]
        value.update(dict.fromkeys(merged, merged))
    groups: dict[tuple[str, str], set[str]] = defaultdict(set)
    for thing, key, v in told:
        groups[below.get(key, key), min(value[v])].add(thing)
    hubs = [{a, b} for a, b in same if a != b] + [g for g in groups.values() if len(g) > 1]

    def distances(start: str, hubs: list[set[str]]) -> dict[str, int]:
        found, queue = {start: 0}, deque([start])
        while queue:
            at = queue.popleft()
            for other in sorted({t for hub in hubs if at in hub for t in hub} - found.keys()):
                found[other] = found[at] + 1
                queue.append(other)
        return found

    read = proofs_of(engine, sorted(triples), named("owl2rl").rules, equality)
    asserted = {frozenset(pair) for pair in same | alike if pair[0] != pair[1]}
    direct: dict[tuple[str, str], set[str]] = defaultdict(set)
    for thing, key, v in told:
        if key in keys:
            direct[key, min(value[v])].add(thing)
    expected = {(ASSERTED, f"<{OWL.sameAs}>"): len(asserted)}
    for (key, _), group in direct.items():
        expected["prp-ifp", key] = expected.get(("prp-ifp", key), 0) + len(group) - 1
    told_of = causes(read)
    assert {(c.rule, *c.on): c.links for c in told_of.causes} == {c: n for c, n in expected.items() if n}
    apart = sum(min(distances(t, [*map(set, asserted), *direct.values()])) == t for t in things)
    assert told_of.derived == apart - sum(min(distances(t, hubs)) == t for t in things)
    for start, end in list(combinations(things, 2))[: most * 4 if most < 3 else None]:
        chain = why_same(read, start, end)
        assert (None if chain is None else len(chain.links)) == distances(start, hubs).get(end)
    for start in things[:most]:
        far = distances(start, hubs)
        whole = equality_class(read, start, None)
        if len(far) == 1:
            assert whole is None
            continue
        assert whole is not None
        assert set(whole.tokens) == set(far)
        own = [hub for hub in hubs if hub <= set(far)]
        assert sum(whole.links.values()) == sum(len(hub) - 1 for hub in own)
        cuts = [(n, t) for n, hub in enumerate(own) for t in (hub if len(hub) > 2 else sorted(hub)[:1])]
        parting = []
        for n, t in cuts:
            left = distances(t, [*own[:n], own[n] - {t}, *own[n + 1 :]])
            if len(left) < len(far):
                parting.append(sorted((len(left), len(far) - len(left))))
        assert sorted(sorted((b.left, b.right)) for b in whole.bridges) == sorted(parting)


def valid(engine: Engine, rng: Random, equality: str) -> None:
    """Any program: every link is proved, chains lead from end to end, none is longer than what was said."""
    triples, rules = random_facts(rng), (*named("owl2rl").rules, *rng.sample(RULES, 2))
    linked(proofs_of(engine, triples, rules, equality), triples, rules)


def valid_in_full(engine: Engine, rng: Random) -> None:
    """The same with rules that are no plain joins."""
    triples, rules = random_facts(rng), (*named("rdfs-plus").rules, *rng.sample(EVALUATED, 2))
    try:
        complete, _, _ = custom_programs.materialised(engine, triples, rules, "rewrite")
    except InputError:  # no strata
        return
    virtual = {(term, SAME, term) for triple in complete for term in triple}
    linked(read_of(engine, rules, "rewrite"), triples, rules, oracle.World(complete | virtual, None, True))


def linked(read: Source, triples: list[Triple], rules: tuple[Rule, ...], complete: oracle.World | None = None) -> None:
    terms = sorted({t for triple in triples for t in triple if t[0] != '"'})
    for term in terms:
        whole = equality_class(read, term, None)
        if whole is None or term != whole.tokens[0]:
            continue
        for end in whole.tokens:
            chain = why_same(read, term, end)
            assert chain is not None
            assert len(chain.links) <= sum(whole.links.values())
            assert len(chain.links) == 1 or (term, SAME, end) not in triples or term == end
            at = term
            for link in chain.links:
                assert link.left == at
                at = link.right
                check(link.proof, (link.left, SAME, link.right), set(triples), rules, True, complete)
                assert (link.by == ASSERTED) == bool(
                    {link.proof.by, *(p.by for p in link.proof.premises)} <= {"eq-sym", ASSERTED}
                )
            assert at == end


@pytest.mark.parametrize("equality", ["rewrite", "axioms"])
@pytest.mark.parametrize("seed", seeds(range(4), 1))
def test_links_agree_with_a_graph(embedded: Engine, equality: str, seed: int) -> None:
    agree_with_a_graph(embedded, Random(seed), equality)


@pytest.mark.parametrize("equality", ["rewrite", "axioms"])
@pytest.mark.parametrize("seed", seeds(range(4), 1))
def test_links_are_proved(embedded: Engine, equality: str, seed: int) -> None:
    valid(embedded, Random(seed), equality)


@pytest.mark.parametrize("seed", seeds(range(5), 1))
def test_links_by_rules_that_are_no_plain_joins_are_proved(embedded: Engine, seed: int) -> None:
    valid_in_full(embedded, Random(seed))


@pytest.mark.long
def test_links_by_rules_that_are_no_plain_joins_often(embedded: Engine) -> None:
    for seed in range(5, 40):
        valid_in_full(embedded, Random(seed))


@pytest.mark.long
@pytest.mark.parametrize("equality", ["rewrite", "axioms"])
def test_links_often(embedded: Engine, equality: str) -> None:
    for seed in (*range(4), *range(1000, 1020)):
        agree_with_a_graph(embedded, Random(seed), equality)
        valid(embedded, Random(seed), equality)


@pytest.mark.long
@pytest.mark.spark
def test_links_on_spark(spark_engine: Engine) -> None:
    agree_with_a_graph(spark_engine, Random(4), "rewrite", 1)
