"""Tangles of rules, equality and constants (`tests.support.tangles`): the oracle, materialisation in both modes and
every maintenance algorithm agree. Cases that once went wrong, and random ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from rdflib.namespace import OWL, Namespace

from tests.conftest import MakeStore
from tests.support import custom_programs
from tests.support.closure import MODES, agree
from tests.support.random_programs import SAME, TYPE, Triple, ex
from tests.support.random_tangles import EQUIVALENT, Tangle, fans, tangle
from tests.support.seeds import seeds
from tests.support.tangles import check, failing
from tests.support.thresholds import set_fields
from triplake.rulesets import datalog
from triplestore.engine import Engine
from triplestore.maintain.thresholds import Thresholds
from triplestore.model.terms import XSD
from triplestore.model.thresholds import Sizes

pytestmark = pytest.mark.spark_alone

E = Namespace("http://e/")
C = [ex(f"c{i}") for i in range(6)]
P0, P1, P2 = ex("p0"), ex("p1"), ex("p2")

SUPPORTING_EACH_OTHER = """
[:c1, owl:sameAs, :c4] :- [?z, :p0, :c0], [?z, :p0, ?z] .
[?y, :p1, ?x] :- [:c5, :p0, ?x], [?z, :p1, ?z], [?z, :p0, ?y] .
[?z, :p0, ?x] :- [?x, :p1, :c4], [?z, :p1, ?z] .
[?y, :p1, ?z] :- [?y, owl:sameAs, ?z], [?x, :p0, ?y], [?x, :p1, ?z] .
"""

CASES = [
    pytest.param(
        SUPPORTING_EACH_OTHER,
        [(C[3], P0, C[0]), (C[3], P1, C[3]), (C[4], P1, C[4]), (C[4], P1, C[5]), (C[5], P1, C[4])],
        [(C[5], P1, C[4])],
        id="facts-that-support-each-other",
    ),
    pytest.param(
        "[:c0, owl:sameAs, :c1] :- [?x, :p0, :c1] .",
        [(C[2], P0, C[1]), (C[3], P0, C[0])],
        [(C[2], P0, C[1])],
        id="the-equality-makes-its-own-body",
    ),
    pytest.param(
        "[:c0, owl:sameAs, :c1] :- [?x, :p0, :c2] .",
        [(C[3], P0, C[2]), (C[1], P1, C[4])],
        [(C[3], P0, C[2])],
        id="an-equality-of-constants",
    ),
    pytest.param(
        "[?c, owl:sameAs, ?d] :- [?c, owl:equivalentClass, ?d], [?x, a, ?c] .",
        [(C[0], EQUIVALENT, C[1]), (C[2], TYPE, C[0]), (C[3], TYPE, C[4])],
        [(C[2], TYPE, C[0])],
        id="an-equality-of-classes-with-members",
    ),
    pytest.param(
        "[?c, owl:sameAs, ?d] :- [?c, owl:equivalentClass, ?d] .",
        [(C[0], EQUIVALENT, C[1]), (C[0], EQUIVALENT, C[0]), (C[2], TYPE, C[0])],
        [(C[0], EQUIVALENT, C[1])],
        id="an-axiom-that-stands-for-two",
    ),
    pytest.param(
        "[:c0, owl:sameAs, :c1] :- [?x, :p0, :c2] . [:c1, owl:sameAs, :c4] :- [:c3, :p1, ?x] .",
        [(C[3], P0, C[2]), (C[3], P1, C[2]), (C[4], P1, C[5])],
        [(C[3], P1, C[2])],
        id="one-of-two-equalities",
    ),
    pytest.param(
        "[?x, owl:sameAs, :c1] :- [?x, owl:equivalentClass, ?x] .",
        [(C[2], SAME, C[1]), (C[3], EQUIVALENT, C[3])],
        [(C[2], SAME, C[1])],
        id="an-axiom-and-an-equality-that-support-each-other",
    ),
]


@pytest.mark.long_on_spark(each=12)
@pytest.mark.parametrize(("rules", "start", "gone"), CASES)
@pytest.mark.sampled(each=3)
def test_equalities_of_constants_go(engine: Engine, rules: str, start: list[Triple], gone: list[Triple]) -> None:
    """And come back, and go with half of the rest."""
    parsed = datalog.parse(f"PREFIX : <http://e/>\n{rules}", "tangle")
    back = (frozenset[Triple](), frozenset(gone)), (frozenset(gone), frozenset[Triple]())
    one = Tangle(tuple(parsed), frozenset(start), (*back, (frozenset[Triple](), frozenset([*gone, *start[::2]]))))
    assert check(engine, one) > 0


REFLEXIVE = [
    "[?y, :q, ?z] :- [?y, owl:sameAs, ?z] .",
    "[?x, :q, :k] :- [owl:sameAs, owl:sameAs, ?x] .",
    "[?x, :q, ?y] :- [?z, ?x, ?y] .",
    "[?x, :q, :k] :- [?y, ?x, ?y], [:c0, :p0, :c1] .",
    "[?x, :q, ?y] :- [?y, owl:sameAs, :c0], [?z, ?y, ?x] .",
    "false :- [owl:sameAs, owl:sameAs, owl:sameAs] .",
]
"""Bodies that match what eq-ref says of owl:sameAs itself, or seem to."""


@pytest.mark.long_on_spark
def test_owl_same_as_occurs_where_anything_does(engine: Engine) -> None:
    """Every triple has `x owl:sameAs x` follow, which has owl:sameAs for its predicate."""
    start, same = (C[0], P0, C[1]), (C[0], SAME, C[1])
    embedded = engine.name == "duckdb"
    for number, text in enumerate(REFLEXIVE if embedded else REFLEXIVE[:1]):
        rules = tuple(datalog.parse(f"PREFIX : <http://e/>\n{text}", "reflexive"))
        many = 3 if embedded and not number else 1
        for data in ([start], [start, same], [(C[0], P0, C[0]), (C[0], SAME, C[0])])[:many]:
            for equality in MODES:
                agree(engine, data, rules, equality)


LIKE = REFLEXIVE[0]
SUB_PROPERTY = "<http://www.w3.org/2000/01/rdf-schema#subPropertyOf>"
AND_NO_MORE = [
    pytest.param(LIKE, [(C[0], SAME, C[0])], (C[1], SAME, C[1]), id="asserted"),
    pytest.param(f"{LIKE} [:k, owl:sameAs, :k] :- [?x, :p0, ?y] .", [(C[0], P0, C[1])], (C[0], P1, C[2]), id="derived"),
    pytest.param(
        f"{LIKE} [:k, ?p, :k] :- [?p, rdfs:subPropertyOf, :p1] .",
        [(SAME, SUB_PROPERTY, P1)],
        (C[0], P0, C[1]),
        id="derived-from-schema",
    ),
    pytest.param(LIKE, [(C[0], P0, C[0])], (P0, SAME, SAME), id="by-another-name"),
    pytest.param("[?x, :p0, ?x] :- [?x, owl:sameAs, ?y] .", [], (C[0], P1, C[1]), id="from-nothing"),
]


@pytest.mark.long_on_spark(each=6)
@pytest.mark.parametrize(("rules", "start", "comes"), AND_NO_MORE)
@pytest.mark.sampled(each=2)
def test_a_term_that_equals_itself_and_no_more(engine: Engine, rules: str, start: list[Triple], comes: Triple) -> None:
    """It occurs, whatever else is said of it, when the closure is made and when it is extended."""
    parsed = tuple(datalog.parse(f"PREFIX : <http://e/>\n{rules}", "itself"))
    nothing, one = frozenset[Triple](), frozenset([comes])
    later = frozenset([(C[3], P1, C[4])])
    check(engine, Tangle(parsed, frozenset(start), ((one, nothing), (later, nothing), (nothing, one), (one, nothing))))


@pytest.mark.long_on_spark
def test_a_proof_that_owl_same_as_equals_itself(make_store: MakeStore, tmp_path: Path) -> None:
    file = tmp_path / "reflexive.dlog"
    file.write_text(f"PREFIX : <http://e/>\n@rule like {REFLEXIVE[0]}\n", encoding="utf-8")
    store = make_store(["none", str(file)], "rewrite")
    store.update(add=[(E.a, E.p, E.b)])
    assert (OWL.sameAs, E.q, OWL.sameAs) in set(store.triples())
    proof = store.explain((OWL.sameAs, E.q, OWL.sameAs))
    assert proof is not None
    assert [premise.by for premise in proof.premises] == ["eq-ref"]
    store.update(delete=[(E.a, E.p, E.b)])
    assert list(store.triples()) == []


@pytest.mark.long_on_spark
def test_a_proof_by_a_constant_that_equals_itself(make_store: MakeStore, tmp_path: Path) -> None:
    file = tmp_path / "itself.dlog"
    own = "@rule own [:k, owl:sameAs, :k] :- [?x, :p, ?y] ."
    file.write_text(f"PREFIX : <http://e/>\n@rule like {LIKE}\n{own}\n", encoding="utf-8")
    store = make_store(["none", str(file)], "rewrite")
    store.update(add=[(E.a, E.p, E.b)])
    store.update(add=[(E.a, E.r, E.b)])
    proof = store.explain((E.k, E.q, E.k))
    assert proof is not None
    assert (proof.by, [premise.by for premise in proof.premises]) == ("like", ["eq-ref"])


LITERAL_FORMS = [
    "[?y, :q, ?x] :- [?x, owl:sameAs, 01], [?y, :p0, ?x] .",
    "[?y, :q, ?x] :- [?x, owl:sameAs, 01], [?y, :p0, ?x], [?y, :p1, ?x] .",
    "[:k, :q, ?x] :- [?x, owl:sameAs, 01] .",
    "[:k, :q, :k] :- [1, owl:sameAs, 01] .",
]


@pytest.mark.long_on_spark
def test_a_number_that_something_equals_is_one_of_its_forms(engine: Engine) -> None:
    one, other, two = (f'"{form}"^^<{XSD}integer>' for form in ("1", "01", "2"))
    data = [(C[0], P0, one), (C[0], P1, other), (C[1], P0, other), (C[1], P1, other), (C[2], P0, two)]
    for text in LITERAL_FORMS if engine.name == "duckdb" else LITERAL_FORMS[:1]:
        rules = tuple(datalog.parse(f"PREFIX : <http://e/>\n{text}", "forms"))
        for equality in ("rewrite", "axioms"):
            agree(engine, data, rules, equality)


@pytest.mark.long_on_spark
def test_a_bound_predicate_in_a_not(engine: Engine) -> None:
    """Where it is owl:sameAs, nothing matches it, as it stands for any predicate but that."""
    for body in ("[?p, owl:sameAs, owl:sameAs], [?x, :p0, ?y]", "[?p, :is, ?z], [?x, :p0, ?y]"):
        rules = tuple(datalog.parse(f"PREFIX : <http://e/>\nfalse :- {body}, NOT [?x, ?p, ?y] .", "not"))
        start = [(C[0], P0, C[1]), (C[0], SAME, C[1]), (SAME, ex("is"), C[2])]
        for equality in ("rewrite", "axioms"):
            assert custom_programs.agree(engine, start, rules, equality) is not None


@pytest.mark.long_on_spark
def test_what_only_equals_itself_where_owl_same_as_has_another_name(engine: Engine) -> None:
    text = "[?x, owl:sameAs, :c3] :- [owl:sameAs, ?x, ?x] .\n[:c2, owl:sameAs, :c2] :- [?x, :p1, ?x] ."
    rules = tuple(datalog.parse(f"PREFIX : <http://e/>\n{text}", "itself"))
    for equality in ("rewrite", "axioms"):
        agree(engine, [(C[4], P1, C[4])], rules, equality)


@pytest.mark.long_on_spark
def test_what_is_asserted_to_equal_itself_by_another_name_of_owl_same_as(engine: Engine) -> None:
    """It equals itself by every name: the terms that equal owl:sameAs."""
    rules = tuple(datalog.parse("PREFIX : <http://e/>\n[:c1, owl:sameAs, ?y] :- [?z, ?y, :c3] .", "itself"))
    for equality in ("rewrite", "axioms"):
        agree(engine, [(C[0], P0, C[0]), (P0, SAME, SAME), (P1, SAME, P0), (C[2], P0, C[3])], rules, equality)


FEW = 36


@pytest.mark.parametrize("part", seeds(range(6), 1))
def test_tangles(embedded: Engine, part: int) -> None:
    assert sum(check(embedded, tangle(seed)) for seed in range(part, FEW, 6)) > 24


MANY = 80
"""As many as a few minutes allow: `python -m tests.support.tangles` tries as many as anybody likes."""


@pytest.mark.long
@pytest.mark.parametrize("literals", [False, True], ids=["terms", "literals"])
@pytest.mark.parametrize("part", range(10))
def test_many_tangles(embedded: Engine, part: int, literals: bool) -> None:
    assert not list(failing(embedded, range(part + FEW, MANY, 30 if literals else 15), literals))


@pytest.mark.parametrize(
    ("together", "seed"),
    [
        *seeds(((0, seed) for seed in range(0, FEW, 6)), 1),
        *seeds(((1, seed) for seed in (*range(7070, 7076), *range(24))), 1),
    ],
)
def test_bodies_are_joined_one_element_after_the_other(
    embedded: Engine, together: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those with many elements about one variable are: here, all, or those with two or more. Some tangles have
    several elements without a variable."""
    monkeypatch.setattr("triplestore.compile.thresholds.Thresholds.together", together)
    monkeypatch.setattr("triplestore.maintain.thresholds.Thresholds.separate", 0)
    check(embedded, tangle(seed))


@pytest.mark.parametrize(("room", "seed"), [*seeds(((4, seed) for seed in range(60)), 3), *seeds(((1, 3), (1, 9)), 1)])
def test_joins_with_room_for_few_rows(embedded: Engine, room: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are completed in parts, and by the combinations of values that are read of them."""
    set_fields(monkeypatch, Thresholds, room=room)
    set_fields(monkeypatch, Sizes, much=1 + seed % 3)
    check(embedded, fans(seed))


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 2, 14])
def test_many_tangles_on_spark(spark_engine: Engine, seed: int) -> None:
    check(spark_engine, tangle(seed))
