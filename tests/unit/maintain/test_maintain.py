"""Maintenance equals materialisation: random programs and data with equality, sequences of mixed updates, every
algorithm and mode, compared table by table after each step."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.support.closure import PHASES, unreadable
from tests.support.maintain import Bench, counts_of, state_of
from tests.support.random_programs import TYPE, Triple, ex, facts, programs, rules_of
from tests.support.ways import FEW, WAYS
from triplake import rulesets
from triplestore.engine import Engine
from triplestore.maintain import bindings
from triplestore.maintain.budget import Budget, BudgetExceededError
from triplestore.maintain.cache import Derivations
from triplestore.maintain.policy import COUNTING, DELETING
from triplestore.maintain.program import NotMaintainableError
from triplestore.model.errors import InputError, LimitError
from triplestore.model.terms import OWL, RDF, RDFS
from triplestore.model.thresholds import SIZES

pytestmark = pytest.mark.spark_alone

Update = tuple[list[Triple], list[Triple]]


@st.composite
def histories(draw: st.DrawFn, odd: bool = False) -> tuple[list[Triple], list[Update]]:
    """A data set and a few updates, small and large: new facts and axioms come, some of what is there goes."""
    start = draw(facts(odd=odd))
    now, updates = set(start), []
    for _ in range(4):
        add = draw(facts(odd=odd)) if draw(st.integers(0, 2)) == 0 else []
        most = draw(st.sampled_from([1, 3, 30]))
        going = draw(st.lists(st.sampled_from(sorted(now)), max_size=most)) if now else []
        delete = sorted({t for t in going if t not in add})
        add = [t for t in add if t not in now]
        updates.append((add, delete))
        now = (now - set(delete)) | set(add)
    return start, updates


def follow(
    engine: Engine,
    history: tuple[list[Triple], list[Update]],
    program: tuple[str, ...],
    equality: str,
    algorithm: str,
    counting: bool = False,
    most: int = 1 << 30,
    many: int = SIZES.much,
    budget: Budget | None = None,
) -> int:
    """Apply a history; after each step compare the closure in memory with one made anew, and the reported change with
    the difference. counting: compare the derivation counts too. most: facts of a closure from which on the rest is
    left out. many: see `Sizes.much`; 1 joins atoms before instances wherever that has fewer rows. budget: of each step;
    one that exceeds it must leave no trace, and is made again without. The number of steps that could be maintained."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("triplestore.model.thresholds.Sizes.much", many)
        return _follow(engine, history, program, equality, algorithm, counting, most, budget or Budget())


def _follow(
    engine: Engine,
    history: tuple[list[Triple], list[Update]],
    program: tuple[str, ...],
    equality: str,
    algorithm: str,
    counting: bool,
    most: int,
    budget: Budget,
) -> int:
    derivations: Derivations = "counted" if counting else "none"
    start, updates = history
    every = {*start, *(t for add, _ in updates for t in add)}
    bench = Bench(
        engine,
        every,
        rules_of(program),
        equality,
        program[0] in rulesets.BUILT_IN and rulesets.BUILT_IN[program[0]].datatypes,
    )
    asserted = set(bench.facts(start))
    before = bench.materialise(asserted)
    try:
        memory = bench.read(derivations)
    except NotMaintainableError:
        return 0
    assert state_of(memory) == before
    done = 0
    for add, delete in updates:
        plus, minus = bench.facts(add), bench.facts(delete)
        counts_before = counts_of(memory) if counting else {}
        asserted = (asserted - set(minus)) | set(plus)
        after = bench.materialise(asserted)
        if len(after[0]) > most:
            return done
        try:
            try:
                rows = bench.update(memory, plus, minus, algorithm, budget=replace(budget))
            except BudgetExceededError:
                assert state_of(memory) == before, "an aborted attempt leaves no trace"
                if counting:
                    assert counts_of(memory) == counts_before, "nor in the counts"
                rows = bench.update(memory, plus, minus, algorithm)
        except NotMaintainableError:
            assert state_of(memory) == before, "a refused update leaves no trace"
            try:
                memory = bench.read(derivations)
            except NotMaintainableError:
                return done
        else:
            memory.commit()
            got = state_of(memory)
            assert got[1] == after[1], "same_as"
            assert got[0] - after[0] == set(), "derived too much"
            assert after[0] - got[0] == set(), "derived too little"
            assert got[2] == after[2], "violations"
            assert set(zip(*(c.tolist() for c in rows.added), strict=True)) == after[0] - before[0]
            assert set(zip(*(c.tolist() for c in rows.removed), strict=True)) == before[0] - after[0]
            assert set(rows.equal_added) == after[1] - before[1]
            assert set(rows.equal_removed) == before[1] - after[1]
            if counting:
                assert counts_of(memory) == counts_of(bench.read(derivations)), "counts"
            done += 1
        before = after
    return done


MANY = st.sampled_from([1, SIZES.much])

BUDGETS = st.builds(
    Budget,
    limit=st.sampled_from([None, 0, 3, 10, 30, 100, 1000]),
    fact=st.sampled_from([0, 1, 5]),
    sample=st.integers(2, 4),
    rules=st.sampled_from([None, 0.0, 1.0, 1e9]),
)
"""What a step may take: nothing, some of it, or all; with samples from two facts on; finished by DRed or FP-update."""


@pytest.mark.parametrize(("equality", "algorithm", "counting"), WAYS)
@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, phases=PHASES)
@given(history=histories(), program=programs, many=MANY, budget=BUDGETS)
@pytest.mark.sampled(each=4)
def test_maintenance_equals_materialisation(
    embedded: Engine,
    history: tuple[list[Triple], list[Update]],
    program: tuple[str, ...],
    equality: str,
    algorithm: str,
    counting: bool,
    many: int,
    budget: Budget,
) -> None:
    follow(embedded, history, program, equality, algorithm, counting, 250, many, budget)


@pytest.mark.long
@pytest.mark.parametrize(("equality", "algorithm", "counting"), WAYS)
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=histories(odd=True), program=programs, many=MANY, budget=BUDGETS)
def test_maintenance_equals_materialisation_often(
    embedded: Engine,
    history: tuple[list[Triple], list[Update]],
    program: tuple[str, ...],
    equality: str,
    algorithm: str,
    counting: bool,
    many: int,
    budget: Budget,
) -> None:
    try:
        done = follow(embedded, history, program, equality, algorithm, counting, many=many, budget=budget)
    except InputError as refused:
        assume(not unreadable(refused))
        raise
    except LimitError as refused:
        assume("ways lead along rdf:rest" not in str(refused))
        raise
    assume(done > 0)


@pytest.mark.parametrize(("equality", "algorithm", "counting"), FEW)
@pytest.mark.sampled(each=3)
def test_an_axiom_that_data_derives_in_two_steps(
    embedded: Engine, equality: str, algorithm: str, counting: bool
) -> None:
    """It is not sure to hold while another axiom goes, and it comes back with what follows by it from kept facts."""
    start = [
        (ex("p0"), f"<{OWL}inverseOf>", ex("p1")),
        (ex("p1"), f"<{RDFS}subPropertyOf>", f"<{RDFS}subClassOf>"),
        (ex("C1"), ex("p0"), ex("C0")),
        (ex("a"), TYPE, ex("C0")),
        (ex("p2"), f"<{RDFS}subPropertyOf>", ex("p3")),
    ]
    gone = [start[-1]]
    updates: list[Update] = [([], gone), (gone, []), ([], start[2:3])]
    assert follow(embedded, (start, updates), ("owl2rl",), equality, algorithm, counting) == 3


@pytest.mark.parametrize("equality", ["off", "axioms", "rewrite"])
def test_what_the_schema_alone_says_stays(embedded: Engine, equality: str) -> None:
    """cls-oo makes b a C3 of axioms alone; that C0 is C3 makes it one of what is deleted too."""
    first, rest, nil = f"<{RDF}first>", f"<{RDF}rest>", f"<{RDF}nil>"
    start = [
        (ex("C3"), f"<{OWL}equivalentClass>", ex("C0")),
        (ex("C3"), f"<{OWL}oneOf>", "_:l0"),
        ("_:l0", first, ex("b")),
        ("_:l0", rest, "_:l1"),
        ("_:l1", first, ex("p0")),
        ("_:l1", rest, nil),
        (ex("p1"), f"<{RDFS}domain>", ex("C0")),
        (ex("b"), ex("p1"), ex("w")),
    ]
    assert follow(embedded, (start, [([], start[-1:])]), ("owl2rl",), equality, "dred") == 1


@pytest.mark.parametrize("algorithm", [name for name in DELETING if name not in COUNTING])
def test_a_large_class_comes_apart(embedded: Engine, algorithm: str) -> None:
    """The facts of its members are looked up together, and come back in their own terms, as subjects and as objects."""
    same, members = f"<{OWL}sameAs>", [ex(f"m{i}") for i in range(80)]
    links = [(one, same, other) for one, other in pairwise(members)]
    data = [
        (member, predicate, ex(value))
        for number, member in enumerate(members)
        for predicate, value in ((ex("p0"), f"v{number % 3}"), (ex("p1"), f"w{number}"), (TYPE, "C0"))
    ]
    about = [(ex(f"x{number % 5}"), ex("p2"), member) for number, member in enumerate(members)]
    start = [*links, *data, *about, (ex("p0"), f"<{RDFS}subPropertyOf>", ex("p3"))]
    updates: list[Update] = [
        ([], data[::7]),
        ([], [links[40], *about[::9]]),
        (links[40:41], data[1::7]),
        ([], [links[3], links[77], *data[2::7]]),
    ]
    assert follow(embedded, (start, updates), ("owl2rl",), "rewrite", algorithm) == 4


@pytest.mark.parametrize("algorithm", [name for name in DELETING if name not in COUNTING])
def test_a_class_of_many_subclasses(embedded: Engine, monkeypatch: pytest.MonkeyPatch, algorithm: str) -> None:
    """What a fact is checked against are the types of its subject, not all that its class has below it."""
    above, type_ = f"<{RDFS}subClassOf>", TYPE
    classes = [(ex(f"D{n}"), above, ex("C0")) for n in range(300)]
    data = [(ex(f"x{n}"), type_, ex(f"D{(n * k) % 300}")) for n in range(60) for k in (1, 7)]
    most = 0
    start = bindings.Bindings.__init__

    def counted(self: bindings.Bindings, *arguments: Any) -> None:
        nonlocal most
        start(self, *arguments)
        most = max(most, len(self.at))

    monkeypatch.setattr(bindings.Bindings, "__init__", counted)
    rules = ("rdfs",)
    assert follow(embedded, ([*classes, *data], [([], data[::3]), ([], data[1::3])]), rules, "off", algorithm) == 2
    assert most < 1_000
