"""Semi-naive materialisation with rewriting, set at a time.

Source: Motik, Nenov, Piro, Horrocks 2015 (the r-materialisation (pi, I)); semi-naive evaluation as in Abiteboul, Hull
and Vianu 1995. Per round:

1. close the schema if the delta or a merge touched it, and specialise the rules anew: new instances are a delta too;
2. every shape, with every atom in turn as focus on the delta (`triplestore.compile.plan.Read`), yields `derived`;
3. the delta joins `fact`;
4. equalities in `derived` merge classes; facts that mention a lost representative are taken out and rewritten;
5. what is new in `derived`, normalised, is the next delta. The fixpoint is an empty delta, nothing else.

Rules with NOT or AGGREGATE run in stages (`triplestore.materialise.stages`), each up to its fixpoint. Terms that rules
make get their ids before step 3 (`triplestore.materialise.mint`).

Longer than other files, since the steps of a round share its state; what does not is in the modules beside.

Working tables: stated (made by the caller: the asserted facts, literals by value), fact, same_as, violation (results);
delta, derived, merged, occurs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa

from triplestore.compile.plan import Element, Grouped, K, Occurs, Pattern, Read, Row, Shape, V
from triplestore.compile.schema import SCHEMA_PREDICATES, Constants, Fact, SchemaFacts
from triplestore.compile.program import Program
from triplestore.compile.sql import Instances as Source
from triplestore.compile.sql import Terms, select, select_links
from triplestore.compile.symmetry import half
from triplestore.engine import Engine
from triplestore.engine.arrow import id_lists, int64s, strings
from triplestore.engine.queries import count
from triplestore.materialise.aggregates import Aggregates
from triplestore.materialise.constraints import find_violations
from triplestore.materialise.datatypes import (
    Datatypes,
    Names,
    asked,
    joined,
    representatives,
    types_sql,
    violations_sql,
)
from triplestore.materialise.figures import Figures, Report, RoundFigures, ShapeFigures
from triplestore.materialise.mint import Mint
from triplestore.materialise.ontology import MANY, Ontology
from triplestore.materialise.same_as import (
    clashes,
    is_clash,
    mentions,
    merge,
    mergeable,
    normalise_violations,
    normalised,
)
from triplestore.materialise.stability import Stability
from triplestore.materialise.stages import Instances, ReorderError, Stages, both
from triplestore.materialise.statements import absent, instances, possible, reads, triples_table
from triplestore.rule import Rule
from triplestore.terms import BUILTIN_IDS, FIRST_LITERAL, SAME_AS, TYPE

FEW_MERGES: Final = 20_000
"""Merged terms up to which a round looks whether they touch the rules; more are taken to."""

Statement = tuple[Shape, str, str]
"""(shape, which of its matches, SQL): what a round runs."""


class SemiNaive:
    """One run over the engine's working tables. `equality`: "rewrite", "axioms" or "off".

    constants: token -> id of the rules' constants (those that the dictionary has), and the literals that equal them.
    datatypes: carry out the datatype rules dt-type2 and dt-not-type too (`triplestore.materialise.datatypes`).
    many: schema facts of a kind from which they are joined by the engine (`triplestore.materialise.ontology`); with NOT
    or AGGREGATE none are, as strata are told apart by the schema.
    track: keep the net change of `fact` in working tables `added` and `removed`. mint: for rules that make terms.
    """

    def __init__(
        self,
        engine: Engine,
        rules: Iterable[Rule],
        equality: str,
        constants: Constants,
        track: bool = False,
        report: Report | None = None,
        many: int = MANY,
        mint: Mint | None = None,
        datatypes: Datatypes | None = None,
    ) -> None:
        self.datatypes = datatypes
        self.engine, self.equality, self.track, self.report = engine, equality, track, report
        self.rules = tuple(rules)
        self._many = sys.maxsize if any(rule.negative for rule in self.rules) else many
        self.figures = Figures()
        self.mint = mint or Mint(engine)
        self.stages = Stages(engine, self.rules, equality)
        self._terms = Terms(engine.dialect, {**BUILTIN_IDS, **constants})
        self._given = constants
        self._begin()

    def _begin(self) -> None:
        """Forget whatever a run has found."""
        self.constants = Constants({**BUILTIN_IDS, **self._given}, self._given.equal)
        self.ontology = Ontology(self.engine, self.rules, self.equality, self._many)
        self.aggregates = Aggregates(self.engine, self.equality, self._terms, self.mint)
        self.stages.restart()
        self.stability = Stability(self.engine, self.rules, self.equality, self._terms)
        self._starting: Instances = {}  # instances whose stage begins with the next round
        self._grown = False  # whether classes have grown since the last round
        self.program = Program()
        self.predicates: set[int] = set()  # predicates that occur in `fact`
        self._facts = 0  # rows of `fact`
        self._occurs = False  # whether the table `occurs` is kept
        self._delta = 0  # rows of `delta`
        self._new_occurring = 0  # rows of `occurs_delta`
        self._stale = True  # whether schema and program must be made anew
        self._later: list[Fact] = []  # what holds without condition, to be derived this round
        self._issued: set[Fact] = set()  # what was in `_later` before
        self._constraints_before: dict[tuple[str, Shape], dict[Row, str]] = {}  # of the closure that `insert` extends
        self._summary: dict[tuple[int, int], int] = {}  # rows of the delta per (predicate, class)
        self._touched_predicates: set[int] = set()  # predicates of the delta
        self._datatypes: Names = {}  # the datatypes by the ids that `fact` has for them
        self._typed: set[int] = set()  # those of which the literals that are instances are in `fact`
        self._typed_as: set[int] = set()  # those of which the deltas held instances

    # -- entry points ----------------------------------------------------------------------------------------------

    def materialise(self, stated: str = "stated") -> Figures:
        """Compute `fact`, `same_as` and `violation` from working table (or view) `stated`."""
        started = time.perf_counter()
        while True:
            for name in ("fact", "delta", "derived"):
                self._empty(name)
            self.engine.load("same_as", pa.table({"term": int64s(), "representative": int64s()}))
            self._empty_violations()
            self._absorb_stated(stated)
            try:
                self._run()
                break
            except ReorderError:
                self._begin()
        if self.stages.unsettled:
            self.stability.verify(self.stages.running(self.program.instances), self.aggregates)
        self._complete_reflexive()
        self._find_violations(stated)
        self.figures.phases["materialise"] = self.figures.seconds = time.perf_counter() - started
        return self.figures

    def insert(self, new: str) -> Figures:
        """Add the stated facts of working table `new` (ids not under pi) to the closure in `fact`, `same_as`,
        `violation`: semi-naive from the new facts only."""
        started = time.perf_counter()
        self._facts = self._count("fact")
        self.predicates = set(self._column("SELECT DISTINCT p FROM fact"))
        self._restore_program()
        if self.track:
            self._empty("added")
            self._empty("removed")
        self._empty("delta")
        self.engine.create("derived", normalised(new, "same_as"))
        if self._typed:
            types = types_sql(self.engine.dialect, self._typed, self._datatypes, "new_term")
            self.engine.append("derived", [types])
        self._absorb()
        self._run()
        self._complete_reflexive()
        self._find_violations(new, "added" if self.track else None)
        if self.track:
            self._net()
        self.figures.phases["insert"] = self.figures.seconds = time.perf_counter() - started
        return self.figures

    def obstacle(self, new: str) -> str | None:
        """Why `insert` cannot extend the closure by the facts of working table `new`, or nothing: they may lead to what
        a NOT or AGGREGATE reads, or to other schema, which may."""
        self._restore_program()
        if not self.program.negative:
            return None
        found = self.engine.query(f"SELECT DISTINCT p, o FROM ({normalised(new, 'same_as')}) n").to_pydict()
        return self.stages.obstacle(self.program, self.constants, zip(found["p"], found["o"], strict=True))

    # -- rounds ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            started = time.perf_counter()
            figures = RoundFigures(self._delta)
            fresh = self._respecialise()
            self._occurring()
            if not (self._delta or fresh or self._new_occurring or self._later):
                self._starting = self.stages.advance(self.program, self.constants)
                if self._starting:
                    continue
                return
            figures.delta = self._delta
            statements = self._statements(fresh)
            self._empty("derived")
            if self._later:
                self.engine.load("later", triples_table(self._later))
                self.engine.append("derived", ["SELECT s, p, o FROM later"])
            made = self.mint.literals
            self._execute(statements, figures)
            if self._typed and self.mint.literals > made:
                self._type_made(made)
            self._promote()
            self._absorb(figures)
            figures.seconds = time.perf_counter() - started
            self.figures.rounds.append(figures)
            if self.report:
                self.report(figures)

    def _execute(self, statements: Sequence[Statement], figures: RoundFigures) -> None:
        making = [statement for statement in statements if statement[0].makes_terms]
        for shape, focus, sql in making:
            started = time.perf_counter()
            rows, facts = self.mint.facts(shape, sql)
            self.engine.append("derived", [facts])
            figures.shapes.append(ShapeFigures(str(shape), focus, rows, time.perf_counter() - started))
            figures.derivations += rows
        statements = [statement for statement in statements if not statement[0].makes_terms]
        together = [statements] if self.engine.joint else [[statement] for statement in statements]
        for group in together if statements else ():
            started = time.perf_counter()
            counts = self.engine.append("derived", [sql for _, _, sql in group])
            seconds = (time.perf_counter() - started) / len(group)
            for (shape, focus, _), rows in zip(group, counts, strict=True):
                figures.shapes.append(ShapeFigures(str(shape), focus, rows, seconds))
                figures.derivations += rows

    def _promote(self) -> None:
        """The delta becomes part of `fact`."""
        if self._delta:
            self.engine.append("fact", ["SELECT s, p, o FROM delta"])
            self._facts += self._delta
            self.predicates |= {p for p, _ in self._summary}
            self._typed_as |= {c for p, c in self._summary if p == TYPE}
            if self.track:
                self.engine.append("added", ["SELECT s, p, o FROM delta"])
        if self._new_occurring:
            self.engine.append("occurs", ["SELECT term FROM occurs_delta"])

    # -- step 1: specialise ----------------------------------------------------------------------------------------

    def _respecialise(self) -> dict[Shape, dict[Row, str]]:
        """Bring schema and program up to date with the delta; the instances that are new. What now holds without
        condition is left in `_later`, for this round to derive."""
        self._summary = self._summarise()
        self._later = []
        self._stale = self.ontology.note(self._summary, self.constants) or self._stale
        touched = any(p == TYPE or p in SCHEMA_PREDICATES for p, _ in self._summary)
        starting, self._starting = both(self._starting, self._reading_grown()), {}
        if self._stale:
            self.ontology.facts = SchemaFacts()
            self._normalise_constants()
        new_schema = self.ontology.read("delta", self.constants) if touched else []
        if not (self._stale or new_schema):
            if self.ontology.specialiser.large and self._add_types(("delta",)):
                self._summary = self._summarise()
            self._new_groups(starting)
            return starting
        if self._stale and self._facts:
            new_schema += self.ontology.read("fact", self.constants)
        self._stale = False
        derived, others = self.ontology.close(new_schema, ("delta", "fact"), self.constants)
        before, self.program = self.program, self.ontology.program(self.constants)
        if derived:
            self.engine.load("closed", triples_table(derived))
            self._delta += self.engine.append("delta", ["SELECT s, p, o FROM closed"])[0]
        types = self._add_types(("delta", "fact"))
        if derived or types:
            self._summary = self._summarise()
        self._later = sorted({*others, *self.program.facts} - self._issued)
        self._issued.update(self._later)
        fresh = self.program.minus(before)
        self.stages.check(self.program, self.constants, fresh, {*self._later, *derived}, new_schema)
        fresh = self.stages.running(fresh)
        self._new_groups(starting)
        return both(fresh, starting)

    def _add_types(self, tables: Sequence[str]) -> int:
        """Add to the delta the literals of the datatypes that the program has come to ask for, by itself or by facts of
        the tables that it joins; facts added."""
        if self.datatypes is None:
            return 0
        fresh = self._asked(tables) - self._typed
        self._typed |= fresh
        added = 0
        if fresh:
            types = types_sql(self.engine.dialect, fresh, self._datatypes)
            new = f"SELECT s, p, o FROM ({types}) t WHERE {absent('t', 'fact')} AND {absent('t', 'delta')}"
            if added := self.engine.create("typed", new):
                self.engine.append("delta", ["SELECT s, p, o FROM typed"])
            self._delta += added
        return added

    def _asked(self, tables: Sequence[str]) -> set[int]:
        self._datatypes = representatives(self.engine, self.equality)
        found = asked(self.program, self._datatypes)
        if self.ontology.specialiser.large and (sql := joined(self.program, tables, self._datatypes)):
            found |= set(self._column(sql))
        return found

    def _type_made(self, before: int) -> None:
        """Derive the types asked for of the literals that rules made: those after the first `before` of all."""
        made = f"(SELECT * FROM new_term WHERE id >= {FIRST_LITERAL + before}) n"
        self.engine.append("derived", [types_sql(self.engine.dialect, self._typed, self._datatypes, made)])

    def _restore_program(self) -> None:
        """The program of the closure as it is in `fact`."""
        self._normalise_constants()
        self.ontology.note_stored(self.constants)
        self.ontology.facts = SchemaFacts(self.ontology.read("fact", self.constants))
        self.program = self.ontology.program(self.constants)
        self._issued = set(self.program.facts)
        self._constraints_before = self.program.constraints
        if self.datatypes is not None:
            self._typed = self._asked(("fact",))
        self._stale = False
        if self.program.negative:
            self.stages.enter_all(self.program, self.constants)
        if self.program.uses_occurs:
            self._occurs = True
            self.engine.create("occurs", f"SELECT DISTINCT term FROM ({self._terms_of('fact')}) t")

    def _reading_grown(self) -> Instances:
        """After a merge: the instances with expressions that read their parameters, whose classes may have grown."""
        if not self._grown:
            return {}
        self._grown = False
        seeing = {s: r for s, r in self.program.instances.items() if any(isinstance(m.slot, K) for m in s.members)}
        return self.stages.running(seeing)

    def _new_groups(self, instances: Instances) -> None:
        """Have the aggregates that these instances read made anew."""
        for shape, rows in instances.items():
            for element in shape.body:
                if isinstance(element, Grouped):
                    for row in rows:
                        self.aggregates.forget(element, row)

    def _normalise_constants(self) -> None:
        """Put the rules' constants under pi."""
        if self.equality != "rewrite":
            return
        listed = ", ".join(map(str, sorted(set(self.constants.values()))))
        pi = self.engine.query(f"SELECT term, representative FROM same_as WHERE term IN ({listed})").to_pydict()
        now = dict(zip(pi["term"], pi["representative"], strict=True))
        if now:
            self.constants = Constants({t: now.get(i, i) for t, i in self.constants.items()}, self.constants.equal)

    # -- step 2: statements ----------------------------------------------------------------------------------------

    def _statements(self, fresh: Mapping[Shape, Mapping[Row, str]]) -> list[Statement]:
        """(shape, focus, SQL) of every statement that can find something this round."""
        found: list[Statement] = []
        known = self.predicates | {p for p, _ in self._summary}
        for number, (shape, rows) in enumerate(self.program.instances.items()):
            new = fresh.get(shape, {})
            usable = [row for row in rows if self.stages.runs(shape, row) and possible(shape, row, known)]
            equal = {row for row in usable if self._is_equality(shape, row)}
            for by_group in (False, True):
                part = [row for row in usable if (row in equal) == by_group]
                come, stayed = [row for row in part if row in new], [row for row in part if row not in new]
                if part:
                    found += (self._links if by_group else self._matches)(shape, f"{number}", come, stayed)
        return found

    def _is_equality(self, shape: Shape, row: Row) -> bool:
        """Whether an instance says that all of a group are one (`triplestore.compile.symmetry`)."""
        head = shape.output[1]
        return self.equality != "off" and isinstance(head, K) and row[head.number] == SAME_AS and bool(half(shape))

    def _matches(self, shape: Shape, name: str, come: Sequence[Row], stayed: Sequence[Row]) -> Iterator[Statement]:
        """All matches of instances that came, and of those that stayed the ones that read the delta."""
        for tables, rows in self.aggregates.by_tables(shape, come):
            scans = [tables.get(i) or self._scan(e, Read.ALL) for i, e in enumerate(shape.body)]
            source = instances(self.engine, shape, rows, "fresh")
            self._note(shape, rows, scans, source)
            yield shape, "instances", select(shape, scans, source, terms=self._terms)
        for focus, usable in self._focused(shape, stayed):
            for part, (tables, rows) in enumerate(self.aggregates.by_tables(shape, usable)):
                scans = [tables.get(i) or self._scan(e, reads(i, focus)) for i, e in enumerate(shape.body)]
                source = instances(self.engine, shape, rows, f"{name}_{focus}_{part}")
                self._note(shape, rows, scans, source)
                yield shape, f"atom {focus}", select(shape, scans, source, terms=self._terms)

    def _note(self, shape: Shape, rows: Sequence[Row], scans: Sequence[str], source: Source) -> None:
        """Note down what a statement with NOT or AGGREGATE finds, if it has to be verified."""
        if shape.negative and self.stages.unsettled:
            self.stability.note(shape, len(rows[0]), scans, source)

    def _links(self, shape: Shape, name: str, come: Sequence[Row], stayed: Sequence[Row]) -> Iterator[Statement]:
        """The same for instances whose matches are pairs of a group: a member, and links to it from the others."""
        member = half(shape)
        assert member is not None
        scans = [self._scan(e, Read.ALL) for e in member.body]
        if come:
            source = instances(self.engine, shape, come, "fresh_links")
            yield shape, "groups", select_links(member, scans, (), source, SAME_AS)
        focused = self._focused(member, stayed)
        if focused:
            touched = set[Row]().union(*(usable for _, usable in focused))
            source = instances(self.engine, shape, sorted(touched), f"{name}_links")
            anew = [[self._scan(e, reads(i, n)) for i, e in enumerate(member.body)] for n, _ in focused]
            yield shape, "groups", select_links(member, scans, anew if self._facts else (), source, SAME_AS)

    def _focused(self, shape: Shape, rows: Sequence[Row]) -> list[tuple[int, list[Row]]]:
        """For every body element that the delta may match, its number, and the instances to look at."""
        found = []
        for focus, element in enumerate(shape.body) if rows else ():
            if isinstance(element, Occurs):
                usable = list(rows) if self._new_occurring else []
            else:
                usable = [row for row in rows if self._touched(element, row)]
            if usable and (self._facts > 0 or focus == 0):
                found.append((focus, usable))
        return found

    def _touched(self, pattern: Pattern | Grouped, row: Row) -> bool:
        """Whether the delta can hold a match of the pattern of this instance."""
        if isinstance(pattern, Grouped):
            return False
        if isinstance(pattern.p, V):
            return bool(self._summary)
        p = row[pattern.p.number]
        if p == TYPE and isinstance(pattern.o, K):
            return (p, row[pattern.o.number]) in self._summary
        return p in self._touched_predicates

    def _scan(self, element: Element, read: Read) -> str:
        old, delta, columns = (
            ("fact", "delta", "s, p, o") if isinstance(element, Pattern) else ("occurs", "occurs_delta", "term")
        )
        if read is Read.DELTA:
            return delta
        fresh = self._delta if isinstance(element, Pattern) else self._new_occurring
        if read is Read.OLD or not fresh:
            return old
        if isinstance(element, Pattern) and not self._facts:
            return delta
        return f"(SELECT {columns} FROM {old} UNION ALL SELECT {columns} FROM {delta})"

    # -- steps 4 and 5: equalities, the next delta ---------------------------------------------------------------------

    def _absorb_stated(self, stated: str) -> None:
        """The first delta: the stated facts, normalised."""
        equal = self._count(f"{stated} WHERE p = {SAME_AS}") if self.equality != "off" else 0
        if equal:
            self.engine.append("derived", [f"SELECT s, p, o FROM {stated}"])
            self._absorb()
        else:
            self._delta = self.engine.create("delta", f"SELECT s, p, o FROM {stated}")

    def _absorb(self, figures: RoundFigures | None = None) -> None:
        """From `derived` make the next `delta`, merging what it says is equal."""
        figures = figures or RoundFigures(0)
        if self.equality == "rewrite":
            self._merge(figures)
        elif self.equality == "axioms":
            self._part_literals()
        self._delta = self.engine.create("delta", f"SELECT DISTINCT s, p, o FROM derived d WHERE {absent('d', 'fact')}")

    def _merge(self, figures: RoundFigures) -> None:
        while self._equalities():
            lost = merge(self.engine, mergeable("derived"))
            if not lost:
                self.engine.create("derived", f"SELECT s, p, o FROM derived WHERE p <> {SAME_AS}")
                return
            figures.merged += lost
            self._grown = True
            self._stale = self._stale or self._touches_rules()
            figures.rewritten += self._take_outdated()
            others = f"(SELECT s, p, o FROM derived WHERE p <> {SAME_AS})"  # its equalities are merged, or reported
            self.engine.create(
                "derived", f"SELECT s, p, o FROM ({normalised(others, 'merged')}) n WHERE p <> {SAME_AS} OR s <> o"
            )

    def _equalities(self) -> int:
        """How many equalities there are in `derived`; those that clash with a literal are put in `violation`."""
        literal = f"CASE WHEN s <> o AND (s >= {FIRST_LITERAL} OR o >= {FIRST_LITERAL}) THEN 1 END"
        found = self.engine.query(
            f"SELECT count(*) AS n, count({literal}) AS literals FROM derived WHERE p = {SAME_AS}"
        ).to_pylist()[0]
        if found["literals"]:
            self.engine.append("violation", clashes(self.engine, "derived"))
        return int(found["n"])

    def _touches_rules(self) -> bool:
        """Whether a lost representative is one of the schema's terms or the rules' constants."""
        if self._count("merged") > FEW_MERGES:
            return True
        lost = set(self._column("SELECT term FROM merged"))
        used = {*self.constants.values(), *(x for fact in self.ontology.facts.facts for x in fact)}
        return not lost.isdisjoint(used)

    def _take_outdated(self) -> int:
        """Move the facts that mention a lost representative from `fact` to `derived`."""
        terms = "SELECT term FROM merged"
        if self.program.uses_inequality:  # `?x != ?y` may begin to hold for the class that grew
            terms += " UNION SELECT representative FROM merged"
        rows = 0
        if self._facts:
            rows = self.engine.create("outdated", mentions("fact", terms))
        if rows:
            self.engine.remove("fact", "SELECT s, p, o FROM outdated")
            self._facts -= rows
            self.engine.append("derived", ["SELECT s, p, o FROM outdated"])
            if self.track:
                self.engine.append("removed", [f"SELECT s, p, o FROM outdated t WHERE {absent('t', 'added')}"])
                self.engine.remove("added", "SELECT s, p, o FROM outdated")
        if self._occurs:
            self.engine.remove("occurs", "SELECT term FROM merged")
        return rows

    def _part_literals(self) -> None:
        """Equality `axioms`: equalities with literals are reported and left out, as is x sameAs x."""
        if self._equalities():
            self.engine.create(
                "derived",
                "SELECT s, p, o FROM derived WHERE p <> {p} UNION ALL SELECT a, {p}, b FROM ({pairs}) e "
                "UNION ALL SELECT d.s, d.p, d.o FROM derived d "
                "JOIN stated a ON a.s = d.s AND a.p = d.p AND a.o = d.o "
                "WHERE d.p = {p} AND d.s = d.o".format(p=SAME_AS, pairs=mergeable("derived")),
            )

    def _complete_reflexive(self) -> None:
        """Equality `axioms`: x sameAs x for the members of classes of two or more."""
        if self.equality != "axioms" or SAME_AS not in self.predicates:
            return
        members = f"SELECT DISTINCT s, CAST({SAME_AS} AS BIGINT) AS p, s AS o FROM fact WHERE p = {SAME_AS} AND s <> o"
        self._delta = self.engine.create("delta", f"SELECT s, p, o FROM ({members}) m WHERE {absent('m', 'fact')}")
        self._summary = {}
        self._new_occurring = 0
        self._promote()

    # -- terms that occur ------------------------------------------------------------------------------------------

    def _occurring(self) -> None:
        """Keep `occurs` and `occurs_delta`, if any body asks for the terms that occur."""
        self._new_occurring = 0
        if not self.program.uses_occurs:
            return
        if not self._occurs:
            self._occurs = True
            self.engine.create(
                "occurs",
                f"SELECT DISTINCT term FROM ({self._terms_of('fact')}) t"
                if self._facts
                else "SELECT s AS term FROM fact",
            )
        self._new_occurring = self.engine.create(
            "occurs_delta",
            f"SELECT DISTINCT term FROM ({self._terms_of('delta')}) t "
            "WHERE NOT EXISTS (SELECT 1 FROM occurs k WHERE k.term = t.term)",
        )

    def _terms_of(self, facts: str) -> str:
        terms = " UNION ALL ".join(f"SELECT {c} AS term FROM {facts}" for c in "spo")
        if self.equality == "rewrite":
            terms += (
                f" UNION ALL SELECT representative FROM same_as UNION ALL SELECT CAST({SAME_AS} AS BIGINT) FROM same_as"
            )
            terms += f" UNION ALL SELECT s FROM stated WHERE p = {SAME_AS} AND s = o"
            terms += f" UNION ALL SELECT p FROM stated WHERE p = {SAME_AS} AND s = o"
            terms = (
                "SELECT coalesce(m.representative, x.term) AS term "
                f"FROM ({terms}) x LEFT JOIN same_as m ON m.term = x.term"
            )
        return terms

    # -- small things ------------------------------------------------------------------------------------------

    def _settle_clashes(self) -> None:
        """Have in `violation` the equalities with a literal that the closure has: which members of a group of equals
        stood for it depended on the order in which they came."""
        found = self.engine.query("SELECT rule, facts FROM violation").to_pydict()
        rows = list(zip(found["rule"], found["facts"], strict=True))
        kept = [(rule, facts) for rule, facts in rows if not is_clash(rule, facts)]
        if len(kept) == len(rows):
            return
        others = {"rule": strings(rule for rule, _ in kept), "facts": id_lists([facts for _, facts in kept])}
        self.engine.load("violation", pa.table(others))
        equal = {
            shape: {row: name for row, name in rows.items() if row[shape.output[1].number] == SAME_AS}
            if isinstance(shape.output[1], K)
            else rows
            for shape, rows in self.program.instances.items()
        }
        self.engine.load("derived", triples_table([fact for fact in self.program.facts if fact[1] == SAME_AS]))
        self.engine.append(
            "derived", [f"SELECT s, p, o FROM ({normalised('stated', 'same_as')}) n WHERE p = {SAME_AS}"]
        )
        self._execute(self._statements(equal), RoundFigures(0))
        self.engine.append("violation", clashes(self.engine, "derived"))

    def _find_violations(self, stated: str, since: str | None = None) -> None:
        if self.equality != "off":
            self._settle_clashes()
        self.aggregates.forget_all()
        before, terms, aggregates = self._constraints_before, self._terms, self.aggregates
        find_violations(self.engine, self.program, before, self.predicates, since, terms, aggregates)
        if self.datatypes is not None:
            names = representatives(self.engine, self.equality)
            kinds = {c for c in names if c in self._typed_as}
            has = Datatypes(self.datatypes.ill_typed or bool(self.mint.counters and self.mint.counters.ill_typed))
            found = violations_sql(self.engine, has, stated, since or "fact", kinds, names)
            if found:
                self.engine.append("violation", found)
        if self._count("violation"):
            normalise_violations(self.engine, self.equality)

    def _net(self) -> None:
        """Take out of `added` and `removed` what is in both (a fact rewritten to itself)."""
        if self._count("removed"):
            both = f"SELECT s, p, o FROM added a WHERE NOT {absent('a', 'removed')}"
            if self.engine.create("unchanged", both):
                self.engine.remove("added", "SELECT s, p, o FROM unchanged")
                self.engine.remove("removed", "SELECT s, p, o FROM unchanged")
            self.engine.drop("unchanged")

    def _summarise(self) -> dict[tuple[int, int], int]:
        """Rows of the delta per (predicate, class), class -1 where the predicate is not rdf:type."""
        if not self._delta:
            self._touched_predicates = set()
            return {}
        found = self.engine.query(
            f"SELECT p, CASE WHEN p = {TYPE} THEN o ELSE -1 END AS c, count(*) AS n FROM delta GROUP BY 1, 2"
        ).to_pydict()
        summary = {(p, c): n for p, c, n in zip(found["p"], found["c"], found["n"], strict=True)}
        self._touched_predicates = {p for p, _ in summary}
        return summary

    def _count(self, source: str) -> int:
        return count(self.engine, source)

    def _column(self, sql: str) -> list[int]:
        found: list[int] = self.engine.query(sql).column(0).to_pylist()
        return found

    def _empty(self, name: str) -> None:
        self.engine.load(name, pa.table({c: int64s() for c in "spo"}))

    def _empty_violations(self) -> None:
        self.engine.load("violation", pa.table({"rule": strings(), "facts": id_lists()}))
