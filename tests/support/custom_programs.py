"""Rules with NOT, AGGREGATE, FILTER and BIND, alone and in random programs, and what the oracle says of them."""

from __future__ import annotations

import re
from itertools import product

import pyarrow as pa
from hypothesis import strategies as st

from tests.support import oracle
from tests.support.closure import expanded
from tests.support.random_programs import CLASSES, SAME, THINGS, TYPE, Triple, ex, facts, rules_for
from triplake import rulesets
from triplake.rulesets import datalog
from triplestore.compile.schema import Constants
from triplestore.dictionary import encoding
from triplestore.engine import Engine
from triplestore.maintain.late_rounds import derive
from triplestore.materialise.mint import Mint
from triplestore.materialise.tables import Tables
from triplestore.model.errors import InputError
from triplestore.model.rule import Rule, constants_of
from triplestore.model.tables import TERM
from triplestore.model.terms import BUILTIN_IDS, XSD
from triplestore.storage.manifest import Counters

RULES = datalog.parse(
    """
    PREFIX : <http://e/>
    @rule not-class     [?x, a, :N0] :- [?x, a, :C0], NOT [?x, a, :C1] .
    @rule not-join      [?x, :q0, ?y] :- [?x, :p0, ?y], NOT ([?y, :p1, ?z], [?z, a, :C2]) .
    @rule not-local     [?x, a, :N1] :- [?x, :p2, ?w], NOT [?y, :p0, ?x] .
    @rule not-other     [?x, a, :N2] :- [?x, :p0, ?y], NOT ([?x, :p0, ?z], FILTER(?z != ?y)) .
    @rule not-same      [?x, :q1, ?y] :- [?x, :p1, ?y], NOT [?x, owl:sameAs, ?y] .
    @rule not-any       false :- [?x, a, :C3], NOT [?x, ?p, :a] .
    @rule not-again     [?x, a, :N4] :- [?x, a, :C0], NOT [?x, a, :N0] .
    @rule not-schema    [:C2, rdfs:subClassOf, :C3] :- [:a, :p0, ?x], NOT [:b, a, :C1] .
    @rule not-text      [?x, a, :N5] :- [?x, :p0, ?y], NOT ([?x, :p1, ?z], FILTER(STR(?z) > STR(?y))) .
    @rule not-merge     [?x, owl:sameAs, ?y] :- [?x, :p3, ?y], NOT [?x, a, :C2] .
    @rule not-merged    [?x, owl:sameAs, ?y] :- [?x, :p1, ?y], NOT ([?x, :p3, ?z], [?z, :p0, ?y]) .
    @rule not-merge-by  [?x, owl:sameAs, ?y] :- [?p, rdfs:subPropertyOf, :p3], [?x, ?p, ?y], NOT [?x, a, :C2] .
    @rule count-merge   [?x, owl:sameAs, ?y] :-
        [?x, :p1, ?y], AGGREGATE([?z, :p0, ?u] ON ?z BIND COUNT(?u) AS ?n), [?z, :p2, ?x], FILTER(?n = 1) .
    @rule not-back      [?x, a, :C1] :- [?x, :p1, ?y], NOT [?y, a, :C0] .
    @rule count         [?x, :k0, ?n] :- AGGREGATE([?x, :p0, ?y] ON ?x BIND COUNT(?y) AS ?n) .
    @rule count-twice   [?z, :k1, ?n], [?z, :k2, ?m] :-
        AGGREGATE([?x, :p0, ?y], [?y, :p1, ?z] ON ?z BIND COUNT(DISTINCT ?x) AS ?n BIND COUNT(*) AS ?m) .
    @rule statistics    [?x, :s, ?s], [?x, :a, ?a], [?x, :l, ?l], [?x, :m, ?m] :-
        AGGREGATE([?x, :p0, ?y], [?y, :n, ?v]
                  ON ?x BIND SUM(?v) AS ?s BIND AVG(?v) AS ?a BIND MIN(?v) AS ?l BIND MAX(?v) AS ?m) .
    @rule first         [?x, :first, ?m] :-
        AGGREGATE([?x, :p1, ?y], FILTER(ISIRI(?y)) ON ?x BIND MIN(?y) AS ?m) .
    @rule count-all     [:all, :k3, ?n] :- AGGREGATE([?x, a, :C0], NOT [?x, a, :C1] ON BIND COUNT(?x) AS ?n) .
    @rule many          [?x, a, :Many] :-
        [?x, a, :C0], AGGREGATE([?x, :p0, ?y] ON ?x BIND COUNT(?y) AS ?n), FILTER(?n > 1) .
    @rule any-count     false :- [?x, a, :C3], AGGREGATE([?x, ?p, ?y] ON ?x BIND COUNT(?p) AS ?n), FILTER(?n > 2) .
    @rule number        [?x, a, :F0] :- [?x, :n, ?v], FILTER(?v > 2 || ?v = 1) .
    @rule text          [?x, :f1, ?y] :- [?x, :p0, ?y], FILTER(STR(?x) < STR(?y)) .
    @rule two-texts     [?x, a, :F2] :- [?x, owl:sameAs, ?y], [?x, a, :C0], FILTER(?x != ?y && STR(?y) > STR(?x)) .
    @rule successor     [?x, :b0, ?w] :- [?x, :n, ?v], BIND(?v + 1 AS ?w) .
    @rule counting      [?x, :n, ?w] :- [?x, :n, ?v], [?x, a, :C0], FILTER(?v < 4), BIND(?v + 1 AS ?w) .
    @rule one           [?x, :v, 1] :- [?x, :p0, ?y] .
    @rule one-decimal   [?x, :v, 1.0] :- [?x, :p1, ?y] .
    @rule one-other     [?x, :v, "01"^^xsd:integer], [?x, :w, 1] :- [?x, :p0, ?y], NOT [?x, a, :C0] .
    @rule is-one        [?x, a, :One], [?x, :w, 1.0] :- [?x, :v, 1] .
    @rule copied        [?x, :v, ?v] :- [?y, :v, ?v], [?y, :p1, ?x] .
    @rule equal-to-one  [?x, :w, ?v] :- [1, owl:sameAs, ?v], [?x, :p0, ?y] .
    @rule made          [?x, :b1, ?z] :- [?x, :p1, ?y], BIND(IRI(CONCAT(STR(?x), "-made")) AS ?z) .
    @rule remade        [?z, owl:sameAs, ?x] :- [?x, :p2, ?y], BIND(IRI(CONCAT("http://e/", "a")) AS ?z) .
    @rule class-name    [?c, :b2, ?z] :- [?c, rdfs:subClassOf, ?d], [?x, :p3, ?y], BIND(STR(?c) AS ?z) .
    @rule next-is       [?x, a, :B3] :- [?x, :n, ?v], [?y, :n, ?w], BIND(?v + 1 AS ?w), FILTER(?x != ?y) .
    @rule wide          [?x, :b5, ?w] :- [?x, :n, ?v], BIND(?v * 123456789012345678901234567890123456789 AS ?w) .
    @rule branches      [?x, :b6, ?w] :-
        [?x, :n, ?v], BIND(IF(?v > 2, ?v * ?v, ?v - 10) AS ?w), FILTER(?w * ?w > 5 || STRLEN(STR(?w)) = 1) .
    @rule not-sum       [?x, a, :N6] :- [?x, :n, ?v], NOT ([?x, :p0, ?y], [?y, :n, ?w], FILTER(?w * 2 + 1 > ?v * 3)) .
    @rule not-any-sum   [?x, a, :N7] :- [?x, a, :C0], NOT ([?y, :n, ?w], FILTER(?w * 2 > 7 - ?w)) .
    @rule not-branch    [?x, :b7, ?u] :-
        [?x, :n, ?v], BIND(IF(?v > 2, ?v * ?v, ?v - 10) AS ?u), NOT ([?y, :n, ?w], FILTER(?w * ?w > ?u * ?u + ?v)) .
    @rule sum-branches  [?x, :k4, ?n] :-
        AGGREGATE([?x, :p0, ?y], [?y, :n, ?v] ON ?x BIND SUM(IF(?v > 2, ?v * 2, 0 - ?v)) AS ?n) .
    @rule no-next       [?x, a, :B4] :- [?x, :n, ?v], BIND(?v + 1 AS ?w), NOT [?y, :n, ?w] .
    @rule no-next-text  [?x, :d1, ?z] :-
        [?x, :n, ?v], BIND(CONCAT("n", STR(?v)) AS ?z), BIND(?v + 1 AS ?w), NOT [?y, :n, ?w] .
    @rule either        [?x, :b5, ?z] :- [?x, :p0, ?y], BIND(IF(ISIRI(?y), "iri", COALESCE(STRLEN(?y), -1)) AS ?z) .
    @rule equal-filter  [?x, :b8, ?y] :- [?x, :p0, ?v], [?y, :p1, ?w], FILTER(?v = ?w) .
    @rule equal-merge   [?x, owl:sameAs, ?y] :- [?x, :p0, ?v], [?y, :p2, ?w], FILTER(?v = ?w) .
    @rule equal-text    [?x, :b9, ?y] :- [?x, :p0, ?v], [?y, :p1, ?w], FILTER(?v = ?w), FILTER(STR(?x) < STR(?y)) .
    @rule same-text     [?x, :c0, ?y] :- [?x, :p0, ?v], [?y, :p1, ?w], FILTER(LCASE(STR(?v)) = LCASE(STR(?w))) .
    @rule same-sum      [?x, :c1, ?y] :- [?x, :n, ?v], [?y, :n, ?w], FILTER(?v + 1 = ?w * 2 && ?x != ?y) .
    @rule same-made     [?x, owl:sameAs, ?y] :-
        [?x, :n, ?v], BIND(STRLEN(STR(?v)) AS ?k), [?y, :v, ?w], BIND(STRLEN(STR(?w)) AS ?l), FILTER(?k = ?l) .
    @rule same-value    [?x, :c2, ?y] :- [?x, :n, ?v], [?y, :v, ?w], FILTER(COALESCE(?v) = COALESCE(?w)) .
    @rule same-of-two   [?x, :c3, ?y] :-
        [?x, :p0, ?v], [?x, :p1, ?u], [?y, :p2, ?w], FILTER(CONCAT(STR(?v), STR(?u)) = CONCAT(STR(?w), STR(?w))) .
    @rule equal-not     [?x, :c4, ?y] :- [?x, :p0, ?v], [?y, :p1, ?w], FILTER(?v = ?w), NOT [?y, a, :C1] .
    @rule not-equal     [?x, a, :N8] :- [?x, :p0, ?v], NOT ([?y, :p1, ?w], FILTER(?w = ?v)) .
    @rule not-same-text [?x, a, :N9] :- [?x, :p0, ?v], NOT ([?y, :p1, ?w], FILTER(LCASE(STR(?v)) = LCASE(STR(?w)))) .
    @rule count-same    [?x, :k5, ?n] :-
        AGGREGATE([?x, :n, ?v], [?y, :v, ?w], FILTER(?v + 0 = ?w + 0) ON ?x BIND COUNT(?y) AS ?n) .
    @rule never-same    false :- [?x, :n, ?v], [?y, :v, ?w], FILTER(?v - 1 = ?w + 0) .
    @rule no-made       false :-
        [?x, :n, ?v], BIND(IRI(CONCAT("http://e/C", STR(?v))) AS ?z), NOT [?z, owl:sameAs, ?w] .
    @rule none-such     false :- [?x, a, :C0], NOT ([?w, owl:sameAs, ?w], FILTER(STRSTARTS(STR(?w), "http://e/b"))) .
    @rule must          false :- [?x, a, :C0], NOT [?x, :p0, ?y] .
    @rule too-many      false :- AGGREGATE([?x, :p2, ?y] ON ?x BIND COUNT(?y) AS ?n), FILTER(?n >= 2) .
    @rule none          false :- NOT [:a, :p3, ?x] .
    @rule count-pairs   false :- AGGREGATE([?x, :p0, ?y] ON BIND COUNT(?y) AS ?n BIND COUNT(*) AS ?m), FILTER(?n > 1) .
    @rule count-other   false :-
        [?x, :p2, ?w], AGGREGATE([?z, :p0, ?y] ON ?z BIND COUNT(?y) AS ?n), FILTER(?n >= 2 && ?z != ?x) .
    @rule long          false :- [?x, :n, ?v], FILTER(?v >= 3) .
    """,
    "custom",
)
BY_NAME = {rule.name: [r for r in RULES if r.name == rule.name] for rule in RULES}


def programs_over(*bases: str) -> st.SearchStrategy[tuple[Rule, ...]]:
    """Rules of one of these rulesets and some of those above."""
    return st.builds(
        lambda base, own: (*rulesets.named(base).rules, *(rule for name in own for rule in BY_NAME[name])),
        st.sampled_from(bases),
        st.lists(st.sampled_from(sorted(BY_NAME)), min_size=1, max_size=4, unique=True),
    )


EQUATING = (
    *("equal-filter", "equal-merge", "equal-text", "same-text", "same-sum", "same-made", "same-value", "same-of-two"),
    *("equal-not", "not-equal", "not-same-text", "count-same", "never-same"),
)
"""Rules of which only an equation ties the parts of a body to each other."""

equating = st.lists(st.sampled_from(EQUATING), min_size=1, max_size=3, unique=True).map(
    lambda names: tuple(rule for name in names for rule in BY_NAME[name])
)

programs = programs_over("owl2rl", "rdfs-plus", "none", "none")
REFUSED = "|".join(
    (
        r"\(stratified\)",
        "an equality that follows changes what its NOT or AGGREGATE had read",
        "these rules change what NOT or AGGREGATE has read, whatever the order they run in",
    )
)
"""What is said of rules whose negation cannot be decided."""
ONES = [f'"1"^^<{XSD}decimal>', f'"1.0"^^<{XSD}decimal>', f'"01"^^<{XSD}integer>']
"""Which one rule or another writes, too, or may make."""
numbers = st.one_of(
    st.tuples(st.sampled_from(THINGS), st.just(ex("n")), st.sampled_from([f'"{i}"^^<{XSD}integer>' for i in range(5)])),
    st.tuples(st.sampled_from(THINGS), st.just(ex("v")), st.sampled_from(ONES)),
)


def materialised(
    engine: Engine, triples: list[Triple], rules: tuple[Rule, ...], equality: str
) -> tuple[set[Triple], set[Triple], set[str]]:
    """The expanded closure with and without generalised triples, and the names of the violated rules."""
    encoding.builtin_terms(engine, "stored_term")
    engine.create("new_term", f"SELECT {TERM.select} FROM stored_term WHERE FALSE")
    encoding.terms_view(engine)
    engine.load("raw", pa.table({c: pa.array([t[i] for t in triples], pa.string()) for i, c in enumerate("spo")}))
    tokens = {token for rule in rules for token in constants_of(rule)}
    tokens |= encoding.computed_forms(tokens)
    _, counters = encoding.encode(engine, "raw", Counters(), tokens - BUILTIN_IDS.keys())
    encoding.terms_view(engine)
    engine.create("asserted", "SELECT s, p, o FROM encoded")
    engine.view("given", "SELECT s, p, o FROM asserted")
    constants = Constants(encoding.lookup(engine, tokens), encoding.numbers_equal_to(engine, tokens))
    Tables(engine, rules, equality, constants, mint=Mint(engine, counters), late=derive).materialise()
    got, violated = expanded(engine, equality)
    return everything(engine), got, violated


def everything(engine: Engine) -> set[Triple]:
    """The facts with every name of their terms, and the equalities."""
    table = engine.query("SELECT s, p, o FROM fact").to_pydict()
    pairs = engine.query("SELECT representative, term FROM same_as").to_pydict()
    classes: dict[int, list[int]] = {}
    for representative, term in zip(pairs["representative"], pairs["term"], strict=True):
        classes.setdefault(representative, []).append(term)
    same = BUILTIN_IDS[SAME]
    ids = {
        triple
        for row in zip(table["s"], table["p"], table["o"], strict=True)
        for triple in product(*(classes.get(term, [term]) for term in row))
    }
    ids |= {
        (a, q, b)
        for members in classes.values()
        for q in classes.get(same, [same])
        for a, b in product(members, members)
    }
    tokens = encoding.decode(engine, {i for triple in ids for i in triple})
    return {(tokens[s], tokens[p], tokens[o]) for s, p, o in ids}


def expected(
    triples: list[Triple], rules: tuple[Rule, ...], equality: str, complete: set[Triple]
) -> tuple[set[Triple], set[str]]:
    """What the oracle says, NOT and AGGREGATE reading `complete`: triples, and names of violated rules."""
    found = oracle.closure(set(triples), rules, equality, complete)
    return oracle.rdf_only(found.triples), found.violated


def agree(engine: Engine, triples: list[Triple], rules: tuple[Rule, ...], equality: str) -> set[Triple] | None:
    """The closure, which is the one that its own negation gives; None if the rules have no strata."""
    found = agreed(engine, triples, rules, equality)
    return None if found is None else found[0]


def agreed(
    engine: Engine, triples: list[Triple], rules: tuple[Rule, ...], equality: str
) -> tuple[set[Triple], set[str]] | None:
    """As `agree`, with the names of the violated rules."""
    rules = rules_for(rules, equality)
    try:
        complete, got, violated = materialised(engine, triples, rules, equality)
    except InputError as refusal:
        if not re.search(REFUSED, refusal.reason):
            raise
        return None
    wanted, wanted_violated = expected(triples, rules, equality, complete)
    assert got - wanted == set(), "derived too much"
    assert wanted - got == set(), "derived too little"
    assert violated == wanted_violated
    return got, violated


data = st.builds(lambda some, more: sorted({*some, *more}), facts(odd=False), st.lists(numbers, max_size=4))
GIVEN = {"triples": data, "rules": programs}

MERGING = ["not-merge", "not-merged", "count-merge"]
"""Rules whose equalities may change what they have read."""


def _example() -> list[Triple]:
    a, b, c, d, e, f = (ex(x) for x in "abcdef")
    number = {i: f'"{i}"^^<{XSD}integer>' for i in range(5)}
    found = [(a, SAME, b), (c, SAME, d), (CLASSES[0], SAME, CLASSES[1]), ("_:x", SAME, e)]
    found += [
        (a, ex("p0"), c),
        (a, ex("p0"), d),
        (a, ex("p0"), e),
        (f, ex("p0"), a),
        (f, ex("p0"), '"v"'),
        (e, ex("p0"), f),
    ]
    found += [(c, ex("p1"), f), (f, ex("p1"), a), (e, ex("p1"), e), (b, ex("p1"), c)]
    found += [(a, ex("p2"), b), (a, ex("p2"), f), (f, ex("p3"), c)]
    found += [(f, TYPE, CLASSES[0]), (c, TYPE, CLASSES[2]), (e, TYPE, CLASSES[3]), (a, TYPE, CLASSES[3])]
    found += [(a, ex("n"), number[1]), (c, ex("n"), number[2]), (f, ex("n"), number[3]), (e, ex("n"), number[1])]
    found += [(CLASSES[3], "<http://www.w3.org/2000/01/rdf-schema#subClassOf>", CLASSES[2])]
    return found


EXAMPLE = _example()
