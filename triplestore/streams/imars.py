"""IMaRS: the closure of a window, of facts that expire.

Source: Dell'Aglio and Della Valle 2014, "Incremental Reasoning on RDF Streams". Each fact has an end `e`. A streamed
fact ends when it leaves the window, a fact of the background never (`FOREVER`), a match of a rule with the first of its
facts to end, and a fact with the last of its derivations. So when the window slides, what has ended is dropped without
a look at other derivations, and what was added is a delta for semi-naive evaluation, in which a fact that is there
already counts as new if its end is later now (it is renewed).

The paper's rules are those of RDFS+ without equality. Here a program is any plain joins, and equality is rewriting over
time: facts are stored under the representatives of now (`triplestore.streams.classes`), and a fact that was rewritten
ends with the equalities that it was rewritten by. Leaves are what the rules start from: the background's closure and
the triples of the window. When a term has another representative, or is equal to it for longer, the leaves that
mention it are given to the rules again, rewritten; facts that mention a term which represents nothing any more are
dropped. Every derivation of the new closure that rests on no such leaf was there before, with the same end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

import pyarrow as pa

from triplestore.compile.plan import Element, K, Listed, Pattern, Read, Row, Shape
from triplestore.compile.program import Program
from triplestore.compile.schema import Fact, SchemaFacts
from triplestore.compile.sql import select_expiring
from triplestore.engine import Engine
from triplestore.engine.arrow import int64s
from triplestore.engine.queries import count
from triplestore.engine.scratch import Scratch
from triplestore.maintain import Reasoning
from triplestore.materialise.stages import Instances, both
from triplestore.materialise.statements import absent, instances, possible, reads, touched, triples_table
from triplestore.model.equality import Equality
from triplestore.model.stopping import check
from triplestore.model.terms import FIRST_LITERAL, SAME_AS, TYPE
from triplestore.read.reasoning import touched as concerned
from triplestore.streams.classes import Classes
from triplestore.streams.terms import StreamTerms, arrive
from triplestore.streams.times import FOREVER

TOGETHER: Final = 50
"""Statements of a round that are one union."""

SETTLED: Final = 20
"""The part of the facts that may be new since the tables were settled is one in so many."""

_COLUMNS: Final = ", ".join(f"CAST({c} AS BIGINT) AS {c}" for c in "spoe")


class NotExpiringError(Exception):
    """Facts with ends do not carry what these rules, or this stream, ask for; the message says what."""


class Imars:
    """Working tables: `background` (the closure of the store) and `streamed` (what the window has, in the user's ids),
    the leaves; `closure` (s, p, o, e), with rewriting also `x owl:sameAs x` where that was derived, and the view `fact`
    of the rest; `same_as`; while it slides `delta` and `derived`."""

    def __init__(self, engine: Engine, reasoning: Reasoning, terms: StreamTerms) -> None:
        """Take over the closure in `fact` and `same_as`. Raises NotExpiringError."""
        self.engine, self.equality, self.terms, self._reasoning = engine, reasoning.equality, terms, reasoning
        specialisation = reasoning.evaluation(engine, None, None).restored()
        self._specialisation = specialisation
        self._before = specialisation.program, tuple(specialisation.ontology.facts.facts)
        self._adopt(specialisation.program)
        engine.create("background", f"SELECT s, p, o, {FOREVER} AS e FROM fact")
        engine.create("background_same_as", "SELECT term, representative FROM same_as")
        self._equal = count(engine, "same_as") > 0
        self.facts = engine.create("closure", "SELECT s, p, o, e FROM background")
        self._predicates = {p for (p,) in engine.rows("SELECT DISTINCT p FROM background")}
        engine.drop("fact")
        stored = f" WHERE p <> {SAME_AS}" * (self.equality == Equality.REWRITE)
        engine.view("fact", f"SELECT s, p, o FROM closure{stored}")
        engine.create("streamed", "SELECT s, p, o, e FROM background WHERE FALSE")
        self.classes = Classes()
        self.size = self.restated = 0
        self._scratch = Scratch(engine)
        self._ontology = set[Fact]()  # facts of the window that the program is specialised by
        self._fresh: Instances = {}
        self._later: list[Fact] = []
        self._loose = 0  # rows that were added since the tables were settled
        self._classified()

    def slide(self, now: int, raw: str | None) -> None:
        """Let the window be that of `now`. raw: a working table of tokens (s, p, o, e), what was added to it. Raises
        NotExpiringError; the closure is not to be used then."""
        engine = self.engine
        self.size -= engine.keep("streamed", f"e > {now}")
        self.restated = 0
        self.facts -= engine.keep("closure", f"e > {now}")
        engine.load("derived", _no_facts())
        if raw is not None:
            self.terms.encode(raw, "arrived")
            if concerned(self._reasoning, self.terms.literals):
                raise NotExpiringError("the stream has literals of the value of one that a rule mentions")
        if not self._holds(self._ontology):
            self._restart(raw is not None)
        else:
            self._reclassify(self.classes.change(now))
            if raw is not None:
                added, self.restated = arrive(engine)
                self.size += added
                engine.append("derived", [self._leaves("arrived"), *self._types("arrived")])
        self.terms.show_forms_of("streamed")
        sizes = self._absorb(now)
        while sizes or self._fresh or self._later:
            check()
            statements = [f"SELECT {_COLUMNS} FROM ({sql}) d" for sql in self._statements(sizes)]
            if self._later:
                later = self._scratch.load("later", triples_table(self._later))
                statements.append(f"SELECT s, p, o, {FOREVER} AS e FROM {later}")
            self._fresh, self._later = {}, []
            batches = _batched(statements)
            derived = engine.create("derived", batches[0]) if batches else 0
            for more in batches[1:]:
                derived += engine.append("derived", [more])[0]
            if sizes:
                added = engine.append("closure", ["SELECT s, p, o, e FROM delta"])[0]
                self.facts, self._loose = self.facts + added, self._loose + added
                self._predicates |= {p for p, _ in sizes}
            sizes = self._absorb(now) if derived else {}
        self._scratch.clear()
        self.terms.forget(dict.fromkeys(("closure", "streamed", "background"), "s p o"), self.facts + self.size)
        if self._loose * SETTLED > self.facts + self.size:
            engine.settle()
            self._loose = 0

    # -- the program -----------------------------------------------------------------------------------------------

    def _adopt(self, program: Program) -> None:
        """Let the rules be specialised so. Raises NotExpiringError."""
        if (why := _obstacle(program, self.equality)) is not None:
            raise NotExpiringError(why)
        self.program = program
        ontology, constants = self._specialisation.ontology, self._specialisation.constants
        self._fixed = _fixed_terms(
            program, [*constants.values(), *chain(*constants.equal.values())], ontology.facts.facts
        )
        self._schema = ontology.specialiser.condition(constants)

    def _holds(self, facts: Collection[Fact]) -> bool:
        """Whether the closure has all of some facts."""
        if not facts:
            return True
        with self.engine.scratch() as scratch:
            asked = scratch.load("asked", triples_table(sorted(facts)))
            return not count(self.engine, f"{asked} a WHERE {absent('a', 'fact')}")

    def _restart(self, arrived: bool) -> None:
        """The window's part of the ontology has lost a fact: derive all again from the leaves. What is made of the
        ontology has no ends of its own, since this is done whenever a fact of it ends."""
        engine, ontology = self.engine, self._specialisation.ontology
        program, facts = self._before
        ontology.facts = SchemaFacts(facts)
        self._ontology.clear()
        self._adopt(program)
        self.classes = Classes()
        self._classified()
        if arrived:
            self.size += arrive(engine)[0]
        self.facts = engine.create("closure", "SELECT s, p, o, e FROM background")
        engine.append("derived", [self._leaves("streamed"), *self._types("streamed")])

    def _extend_ontology(self, fresh: Sequence[Fact]) -> int:
        """Specialise the rules by more facts, of the delta; how many facts of the delta that adds."""
        engine, ontology, constants = self.engine, self._specialisation.ontology, self._specialisation.constants
        self._ontology.update(fresh)
        closed, others = ontology.close(fresh, ("delta", "fact"), constants)
        program = ontology.program(constants)
        if self._specialisation.asked_by(program) - self._specialisation.typed:
            raise NotExpiringError("the stream's ontology asks for the literals of a datatype")
        known = self.program
        self._adopt(program)
        self._fresh = both(self._fresh, program.minus(known))
        self._later += sorted({*others, *program.facts} - known.facts)
        if not closed:
            return 0
        with engine.scratch() as scratch:
            new = scratch.load("closed", triples_table(closed))
            return engine.append(
                "delta",
                [
                    f"SELECT s, p, o, {FOREVER} AS e, CAST(NULL AS BIGINT) AS before FROM {new} n "
                    f"WHERE {absent('n', 'fact')} AND {absent('n', 'delta')}"
                ],
            )[0]

    # -- what comes ------------------------------------------------------------------------------------------------

    def _types(self, source: str) -> list[str]:
        """The types that rules ask for of the literals in `source`, each for as long as the literal is there."""
        if not self._specialisation.typed:
            return []
        there = f"(SELECT o, max(e) AS e FROM ({self.terms.by_value(source)}) r WHERE o >= {FIRST_LITERAL} GROUP BY o)"
        types = self._specialisation.types_of(f"(SELECT n.* FROM term n WHERE n.id IN (SELECT o FROM {there} h)) w")
        return [f"SELECT t.s, t.p, t.o, h.e FROM ({types}) t JOIN {there} h ON h.o = t.s"]

    def _leaves(self, source: str, mention: str = "") -> str:
        """The rows of `source`, literals by their values, rewritten. mention: only those with a term of this table."""
        rows = f"SELECT s, p, o, e FROM {source}" if source == "background" else self.terms.by_value(source)
        if mention:
            found = (f"SELECT s, p, o, e FROM ({rows}) r WHERE {c} IN (SELECT term FROM {mention})" for c in "spo")
            rows = " UNION ".join(found)
        return self._rewritten(f"({rows})")

    def _rewritten(self, source: str) -> str:
        """Facts under the representatives of now."""
        if not self._equal:
            return f"SELECT s, p, o, e FROM {source} t"
        columns = ", ".join(f"coalesce(m_{c}.representative, t.{c}) AS {c}" for c in "spo")
        ends = ", ".join(f"coalesce(m_{c}.e, {FOREVER})" for c in "spo")
        joins = "".join(f" LEFT JOIN equal m_{c} ON m_{c}.term = t.{c}" for c in "spo")
        return f"SELECT {columns}, least(t.e, {ends}) AS e FROM {source} t{joins}"

    # -- rounds ----------------------------------------------------------------------------------------------------

    def _absorb(self, now: int) -> dict[tuple[int, int], int]:
        """Make of `derived` the next `delta`, merging what it says is equal: its rows by predicate and class, as
        `Facts.sizes`."""
        engine = self.engine
        if self.equality == Equality.REWRITE:
            self._merge(now)
        source = f"({self._rewritten('derived')})" if self._equal else "derived"
        same = " AND ".join(f"f.{c} = d.{c}" for c in "spo")
        found = f"SELECT s, p, o, max(e) AS e FROM {source} x GROUP BY s, p, o HAVING max(e) > {now}"
        if not engine.create(
            "delta",
            f"SELECT d.s, d.p, d.o, d.e, f.e AS before FROM ({found}) d LEFT JOIN closure f ON {same} "
            "WHERE f.e IS NULL OR f.e < d.e",
        ):
            return {}
        while True:
            rows = engine.rows(
                f"SELECT p, CASE WHEN p = {TYPE} THEN o ELSE -1 END AS c, count(*) AS n, count(before) AS renewed, "
                f"count(CASE WHEN before IS NULL AND {self._schema} THEN 1 END) AS schema FROM delta GROUP BY 1, 2"
            )
            fresh = any(schema for *_, schema in rows)
            if not fresh or not self._extend_ontology(
                engine.rows(f"SELECT s, p, o FROM delta WHERE before IS NULL AND {self._schema}")
            ):
                break
        if any(renewed for _, _, _, renewed, _ in rows):
            self.facts -= engine.remove("closure", "SELECT s, p, o, before AS e FROM delta WHERE before IS NOT NULL")
        return {(p, c): n for p, c, n, *_ in rows}

    def _text(self, *ids: int) -> str:
        from triplestore.dictionary.encoding import decode

        tokens = decode(self.engine, ids)
        return " ".join(tokens.get(i, str(i)) for i in ids)

    def _statements(self, sizes: Mapping[tuple[int, int], int]) -> Iterator[str]:
        """What the rules derive with a fact of the delta, as SQL."""
        self._scratch.clear()
        predicates = {p for p, _ in sizes}
        known = self._predicates | predicates
        for shape, fresh in self._fresh.items():
            usable = [row for row in fresh if possible(shape, row, known)]
            if usable:
                scans = [self._scan(e, Read.ALL) for e in shape.body]
                yield select_expiring(shape, scans, instances(self._scratch, usable), FOREVER)
        for shape, rows in self.program.instances.items():
            fresh = self._fresh.get(shape, {})
            usable = [row for row in rows if row not in fresh and possible(shape, row, known)]
            for focus, element in enumerate(shape.body if sizes else ()):
                if isinstance(element, Pattern):
                    found = [row for row in usable if touched(element, row, sizes, predicates)]
                else:
                    found = [] if isinstance(element, Listed) else usable
                if found:
                    scans = [self._scan(e, reads(place, focus)) for place, e in enumerate(shape.body)]
                    yield select_expiring(shape, scans, instances(self._scratch, found), FOREVER)

    def _scan(self, element: Element, read: Read) -> str:
        """What a body element reads; see `Facts.scan`."""
        if isinstance(element, Listed):
            return self._listed
        both = "(SELECT s, p, o, e FROM closure UNION ALL SELECT s, p, o, e FROM delta)"
        facts = {Read.OLD: "closure", Read.DELTA: "delta", Read.ALL: both}[read]
        if isinstance(element, Pattern):
            return facts
        columns = " UNION ALL ".join(f"SELECT {c} AS term, e FROM {facts} f" for c in ("s", "p", "o", str(SAME_AS)))
        return f"(SELECT term, max(e) AS e FROM ({columns}) t GROUP BY term)"

    # -- equality --------------------------------------------------------------------------------------------------

    def _merge(self, now: int) -> None:
        """Add the equalities of `derived` to the classes, and to it the leaves that are to be rewritten again."""
        while True:
            rows = self.engine.rows(
                f"SELECT least(s, o) AS a, greatest(s, o) AS b, max(e) AS e FROM derived WHERE p = {SAME_AS} "
                f"AND s <> o AND e > {now} GROUP BY 1, 2"
            )
            if any(b >= FIRST_LITERAL for _, b, _ in rows):
                a, b = next((a, b) for a, b, _ in rows if b >= FIRST_LITERAL)
                raise NotExpiringError(f"a literal equals another term: {self._text(a, SAME_AS, b)}")
            if not self._reclassify(self.classes.change(now, rows)):
                return

    def _reclassify(self, changed: Collection[int]) -> bool:
        """Bring `equal` and `same_as` up to date, take out facts under terms that represent nothing any more, and add
        the leaves that mention a changed term to `derived`. changed: representatives of the background, or terms that
        it has in no class. Whether there is anything to do."""
        if not changed:
            return False
        if not self._fixed.isdisjoint(changed):
            term = min(self._fixed.intersection(changed))
            raise NotExpiringError(f"{self._text(term)}, a term of the ontology or the rules, equals another term")
        engine = self.engine
        self._classified()
        with engine.scratch() as scratch:
            listed = scratch.load("changed", pa.table({"term": int64s(sorted(changed))}))
            lost = [term for term in changed if self.classes.members.get(term, (term,))[0] != term]
            if lost:
                gone = scratch.load("lost", pa.table({"term": int64s(lost)}))
                rows = " UNION ".join(
                    f"SELECT s, p, o, e FROM closure WHERE {c} IN (SELECT term FROM {gone})" for c in "spo"
                )
                out = scratch.table("out")
                if engine.create(out, rows):
                    self.facts -= engine.remove("closure", f"SELECT s, p, o, e FROM {out}")
            terms = scratch.create(
                "everyone",
                f"SELECT term FROM {listed} UNION SELECT m.term FROM background_same_as m "
                f"JOIN {listed} c ON c.term = m.representative",
            )
            engine.append("derived", [" UNION ALL ".join(self._leaves(t, terms) for t in ("background", "streamed"))])
        return True

    def _classified(self) -> None:
        """Make `equal` (term, representative, e) and `same_as` of the background's classes and the window's."""
        engine, members = self.engine, self.classes.members
        self._equal = self._equal or bool(members)
        if not self._equal:
            return
        columns = [members, (r for r, _ in members.values()), (e for _, e in members.values())]
        names = ("term", "representative", "e")
        table = pa.table({name: int64s(column) for name, column in zip(names, columns, strict=True)})
        with engine.scratch() as scratch:
            own = scratch.load("own", table)
            engine.create(
                "equal",
                f"SELECT m.term, coalesce(w.representative, m.representative) AS representative, "
                f"coalesce(w.e, {FOREVER}) AS e FROM background_same_as m "
                f"LEFT JOIN {own} w ON w.term = m.representative UNION ALL "
                f"SELECT w.term, w.representative, w.e FROM {own} w "
                "WHERE NOT EXISTS (SELECT 1 FROM background_same_as m WHERE m.term = w.term)",
            )
        engine.create("same_as", "SELECT term, representative FROM equal")

    @property
    def _listed(self) -> str:
        return self._scratch.load("listed", triples_table(sorted(self.program.listed)))


def _batched(statements: Sequence[str]) -> list[str]:
    """Unions of statements, each of as many as an engine plans well."""
    return [" UNION ALL ".join(statements[i : i + TOGETHER]) for i in range(0, len(statements), TOGETHER)]


def _no_facts() -> pa.Table:
    return pa.table({c: int64s() for c in "spoe"})


def _obstacle(program: Program, equality: Equality) -> str | None:
    """Why the program is none for facts with ends, or nothing."""
    if equality == Equality.AXIOMS:
        return "equality is axiomatised (use a store with --equality rewrite)"
    for shape, rows in program.instances.items():
        name = next(iter(rows.values()), "")
        if not shape.monotone:
            return f"rule {name} has a NOT, an AGGREGATE or an expression"
        if equality == Equality.REWRITE and shape.sees_members:
            return f"rule {name} compares terms that may be equal"
        if equality == Equality.REWRITE and _reads_equality(shape, rows):
            return f"rule {name} reads owl:sameAs"
    return None


def _reads_equality(shape: Shape, rows: Collection[Row]) -> bool:
    predicates = [e.p.number for e in shape.body if isinstance(e, Pattern) and isinstance(e.p, K)]
    return any(row[number] == SAME_AS for row in rows for number in predicates)


def _fixed_terms(program: Program, constants: Iterable[int], ontology: Iterable[Fact]) -> frozenset[int]:
    """The terms that the program is made of."""
    facts = chain(ontology, program.listed, program.facts)
    return frozenset(chain(constants, *facts))
