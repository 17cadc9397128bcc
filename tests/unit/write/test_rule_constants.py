"""Constants of rules that the data has, lacks, gets as something else, or writes in another form."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from rdflib import OWL, RDF, XSD, Literal, Namespace, URIRef

from tests.conftest import MakeStore
from tests.support.seeds import seeds
from triplestore import Store
from triplestore.model.errors import InputError

E = Namespace("http://e/")


def number(text: str, datatype: URIRef = XSD.integer) -> Literal:
    return Literal(text, datatype=datatype, normalize=False)


RULES = [
    "[?x, a, :Fresh] :- [?x, :q, :fresh] .",
    "[?x, a, :Other] :- [?x, :p, ?z], FILTER(?z != :absent) .",
    "[?x, a, :Same] :- [?x, :p, ?z], FILTER(?z = :fresh) .",
    "[?x, a, :Listed] :- MEMBER[:list, ?x] .",
    "[?x, a, :Both] :- LIST[:list, ?m1 .. ?mn], [?x, :p, ?m1 .. ?mn] .",
    "[?l, a, :HasFresh] :- MEMBER[?l, :fresh] .",
    "[?l, a, :HasOne] :- MEMBER[?l, 1] .",
    "[?x, a, :One] :- [?x, :n, 1] .",
    "[?x, :k, 1] :- [?c, owl:maxCardinality, 1], [?x, a, ?c] .",
    "[?x, :k, ?n] :- AGGREGATE([?x, :p, ?y] ON ?x BIND COUNT(?y) AS ?n) .",
    "[?x, a, :Two] :- [?x, :k, 2.0] .",
    "[?x, :m, ?w] :- [?x, :n, ?v], BIND(?v * 1.0 AS ?w) .",
    "[?x, a, :Twelve] :- [?x, :m, 12] .",
    "@rule one false :- [?x, :n, 1] .",
    "@rule most false :- [?c, owl:maxCardinality, 1], [?c, :p, ?y] .",
    "false :- [?x, :p, ?y], FILTER(?y = :absent) .",
]
LITERALS = [number("1"), number("01"), number("1.0", XSD.decimal), number("12"), number("012"), Literal("a")]
NODES = [E.a, E.b, E.c, E.fresh, E.absent, E.list]


def fact(rng: Random) -> tuple[URIRef, URIRef, URIRef | Literal]:
    match rng.randrange(8):
        case 0:
            return rng.choice(NODES), E.n, rng.choice(LITERALS)
        case 1:
            return rng.choice(NODES), OWL.maxCardinality, rng.choice(LITERALS[:3])
        case 2:
            return rng.choice(NODES), RDF.type, rng.choice(NODES)
        case 3:
            return E.list, RDF.first, rng.choice([*NODES, LITERALS[1]])
        case 4:
            return E.list, RDF.rest, RDF.nil
    return rng.choice(NODES), rng.choice([E.p, E.q]), rng.choice(NODES)


def content(store: Store, by_value: bool) -> object:
    """All triples, and all triples at fault. by_value: of these the rules alone, since a triple is shown with that
    literal of its value which was there first."""
    wrong = {(v.rule, frozenset() if by_value else frozenset(v.triples)) for v in store.check()}
    return set(store.triples()), wrong


@pytest.mark.parametrize("base", ["none", "owl2rl"])
@pytest.mark.parametrize("seed", seeds(range(6), 1))
def test_a_warm_store_has_what_a_new_one_has(tmp_path: Path, seed: int, base: str) -> None:
    """By updates of facts and of graphs, which bring terms of rules as names of graphs and as other facts' terms."""
    rng = Random(f"constants {seed}")
    file = tmp_path / "own.dlog"
    chosen = sorted(rng.sample(range(len(RULES)), rng.randint(2, 6)))
    file.write_text("PREFIX : <http://e/>\n" + "\n".join(RULES[n] for n in chosen), encoding="utf-8")
    default = rng.choice(["union", "separate"])
    graphs: list[URIRef | None] = [None, None, E.g, E.fresh, E.absent]
    with Store.create(tmp_path / "kg", [base, str(file)], default_graph=default, engine="duckdb") as store:
        asserted: set[tuple[object, ...]] = set()
        for _ in range(rng.randint(3, 7)):
            some = [(*fact(rng), rng.choice(graphs)) for _ in range(rng.randint(1, 3))]
            some += [(*q[:3], rng.choice(graphs)) for q in rng.sample(sorted(asserted, key=str), min(1, len(asserted)))]
            add = [quad if quad[3] is not None else quad[:3] for quad in some]
            delete = rng.sample(sorted(asserted, key=str), min(len(asserted), rng.choice([0, 0, 1, 2])))
            store.update(add=add, delete=[quad for quad in delete if quad not in add])
            asserted = {quad if quad[3] is not None else quad[:3] for quad in store.match_quads()}
            before = content(store, base == "owl2rl")
            store.materialise()
            assert content(store, base == "owl2rl") == before, [RULES[n] for n in chosen]
            with Store.create(tmp_path / f"other{rng.random()}", [base, str(file)], default_graph=default) as other:
                other.update(add=list(asserted))
                assert content(other, base == "owl2rl") == before, [RULES[n] for n in chosen]


def test_a_list_that_is_not_there_has_no_members(make_store: MakeStore, tmp_path: Path) -> None:
    file = tmp_path / "own.dlog"
    file.write_text("PREFIX : <http://e/>\n[?x, a, :M] :- MEMBER[:mylist, ?x] .\n", encoding="utf-8")
    store = make_store(["none", str(file)], "rewrite")
    store.update(add=[(E.l, RDF.first, E.a), (E.l, RDF.rest, RDF.nil)])
    assert (E.a, RDF.type, E.M) not in set(store.triples())
    store.update(add=[(E.mylist, RDF.first, E.b), (E.mylist, RDF.rest, RDF.nil)])
    assert [s for s, p, o in store.triples() if o == E.M] == [E.b]


@pytest.mark.parametrize("equality", ["rewrite", "axioms"])
def test_a_list_that_equals_the_end_of_lists(make_store: MakeStore, equality: str) -> None:
    store = make_store(["owl2rl"], equality)
    cell = [(E.l, RDF.first, E.D), (E.l, RDF.rest, RDF.nil), (E.l, OWL.sameAs, RDF.nil)]
    store.update(add=[*cell, (E.C, OWL.unionOf, E.l), (E.a, RDF.type, E.D)])
    assert (E.a, RDF.type, E.C) in set(store.triples())


@pytest.mark.long_on_spark(but=1)
@pytest.mark.parametrize("equal", [("n1", "n2"), ("n2", "n1"), ("n2", None)], ids=["back", "back again", "end"])
def test_an_equality_that_closes_a_list(make_store: MakeStore, equal: tuple[str, str | None]) -> None:
    """A chain whose list leads back to one of its nodes would be derived by, or not, as the equality is met late or
    early: it is refused, and so is the change that would make it."""
    cells = [(E.n1, RDF.first, E.p), (E.n1, RDF.rest, E.n2), (E.n2, RDF.first, E.q), (E.n2, RDF.rest, RDF.nil)]
    chain = [*cells, (E.r, OWL.propertyChainAxiom, E.n1), (E.x, E.p, E.y), (E.y, E.q, E.z)]
    same = (E[equal[0]], OWL.sameAs, E[equal[1]] if equal[1] else RDF.nil)
    store = make_store(["owl2rl"], "rewrite")
    with pytest.raises(InputError, match="closes a list that rules read"):
        store.update(add=[*chain, same])
    store.update(add=chain)
    for algorithm in ("auto", "rematerialise"):
        with pytest.raises(InputError, match="closes a list that rules read"):
            store.update(add=[same], maintain=algorithm)
    assert [o for s, p, o in store.triples() if (s, p) == (E.x, E.r)] == [E.z]
    store.update(add=[same], delete=chain[4:5])  # no rule reads the list any more
    assert not [o for s, p, o in store.triples() if (s, p) == (E.x, E.r)]
