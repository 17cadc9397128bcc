"""Rewriting: what a round derived becomes the next delta, and equalities in it merge classes of terms.

Source: Motik, Nenov, Piro, Horrocks 2015, "Handling owl:sameAs via Rewriting". With equality `rewrite`, the classes
are in `same_as` (`triplestore.materialise.same_as`), and a fact that mentions a term that is no representative any more
is taken out and added rewritten. With `axioms`, equalities are facts like others. A literal equals IRIs and blank
nodes as any term does, and has each of its datatypes for a type then, not only those that rules ask for (dt-type2). An
equality of two literals is nothing by itself: in neither mode it is a fact unless one of them equals another term.
"""

from __future__ import annotations

from triplestore.engine.sql import count
from triplestore.materialise.datatypes import every_type_sql
from triplestore.materialise.facts import Facts
from triplestore.materialise.figures import RoundFigures
from triplestore.materialise.same_as import APART, mentions, merge, mergeable, normalised
from triplestore.materialise.specialisation import Specialisation
from triplestore.materialise.statements import absent
from triplestore.model.equality import Equality
from triplestore.model.terms import FIRST_LITERAL, SAME_AS


class Rewriting:
    """Steps 4 and 5 of a round."""

    def __init__(self, facts: Facts, specialisation: Specialisation) -> None:
        self.engine, self.facts, self.specialisation = facts.engine, facts, specialisation
        self.apart = False
        """Whether two literals have been derived to be equal that may be in no class."""
        self.merged, self._pair, self._kept, self._ends = (
            facts.scratch.table(label) for label in ("merged", "apart_pair", "apart_fact", "united")
        )
        self._kept_apart = False  # whether `_kept` has any

    def absorb(self, figures: RoundFigures) -> None:
        """From `derived` make the next `delta`, merging what it says is equal."""
        if self.facts.equality == Equality.REWRITE:
            self._merge(figures)
        elif self.facts.equality == Equality.AXIOMS:
            self._part_reflexive()
        self.facts.begin(f"SELECT DISTINCT s, p, o FROM derived d WHERE {absent('d', 'fact')}")

    def complete_reflexive(self) -> None:
        """Equality `axioms`, at the fixpoint: x sameAs x for the members of classes of two or more, and for every term
        where owl:sameAs itself is one of these (`triplestore.closure.virtual`): another name of it has x p x by
        eq-rep-p."""
        if self.facts.equality != Equality.AXIOMS or SAME_AS not in self.facts.predicates:
            return
        names = f"SELECT o FROM fact WHERE s = {SAME_AS} AND p = {SAME_AS} AND o <> {SAME_AS}"
        members = (
            f"SELECT DISTINCT s, CAST({SAME_AS} AS BIGINT) AS p, s AS o FROM fact "
            f"WHERE (p = {SAME_AS} AND s <> o) OR (s = o AND s < {FIRST_LITERAL} AND p IN ({names}))"
        )
        self.facts.begin(f"SELECT s, p, o FROM ({members}) m WHERE {absent('m', 'fact')}")
        self.facts.sizes, self.facts.new_terms = {}, 0
        self.facts.promote()
        self._part_lonely(f"SELECT CAST({SAME_AS} AS BIGINT) AS o UNION ALL {names}")

    def _part_lonely(self, names: str) -> None:
        """Leave out `x p x`, where p is a name of owl:sameAs, if a rule derives `x owl:sameAs x`, no other fact has
        x, and no such triple of x is asserted: by every name it is then virtual. names: a SELECT of column o."""
        alike = f"s = o AND p IN ({names})"
        kept = [f"SELECT s AS term FROM given WHERE {alike}"]
        kept += [f"SELECT {c} AS term FROM fact WHERE NOT ({alike})" for c in "spo"]
        with self.engine.scratch() as scratch:
            lonely = scratch.create(
                "lonely",
                f"SELECT s, p, o FROM fact t WHERE {alike} "
                f"AND NOT EXISTS (SELECT 1 FROM ({' UNION '.join(kept)}) k WHERE k.term = t.s)",
            )
            if count(self.engine, lonely):
                self.facts.leave_out(lonely)

    def _merge(self, figures: RoundFigures) -> None:
        while (found := self._equalities())[0]:
            if found[3]:
                self.facts.note_identities()
            lost = merge(self.engine, mergeable("derived"), self.merged)
            if not lost:
                self.engine.create("derived", f"SELECT s, p, o FROM derived WHERE p <> {SAME_AS}")
                return
            figures.merged += lost
            self.specialisation.merged(self.merged)
            figures.rewritten += self._take_outdated()
            others = f"(SELECT s, p, o FROM derived WHERE p <> {SAME_AS})"  # its equalities are merged, or none
            self.engine.create("derived", normalised(others, self.merged))
            if found[1]:
                grown = f"SELECT representative FROM {self.merged}"
                literals = f"term >= {FIRST_LITERAL} AND representative IN ({grown})"
                self._add_types(f"SELECT term FROM same_as WHERE {literals}")

    def _equalities(self) -> tuple[int, int, int, int]:
        """How many equalities there are in `derived`, how many of them are of a literal and another term, how many of
        two literals, and how many are `x sameAs x`."""
        literals = " + ".join(f"CASE WHEN {c} >= {FIRST_LITERAL} THEN 1 ELSE 0 END" for c in "so")
        found = self.engine.query(
            "SELECT count(*) AS n, count(CASE WHEN s <> o AND literals = 1 THEN 1 END) AS mixed, "
            "count(CASE WHEN s <> o AND literals = 2 THEN 1 END) AS apart, count(CASE WHEN s = o THEN 1 END) AS same "
            f"FROM (SELECT s, o, {literals} AS literals FROM derived WHERE p = {SAME_AS}) d"
        ).to_pylist()[0]
        self.apart = self.apart or found["apart"] > 0
        return int(found["n"]), int(found["mixed"]), int(found["apart"]), int(found["same"])

    def _add_types(self, literals: str) -> None:
        """Add to `derived` every type (dt-type2) of the literals of a one-column SELECT, if datatypes are known."""
        if self.specialisation.datatypes is None:
            return
        equal = f"SELECT t.* FROM term t JOIN ({literals}) l ON l.term = t.id"
        with self.engine.scratch() as scratch:
            types = every_type_sql(self.engine.dialect, scratch.create("equal_literal", equal))
            if self.facts.equality == Equality.REWRITE:
                types = normalised(f"({types})", "same_as")
            self.engine.append("derived", [types])

    def _take_outdated(self) -> int:
        """Move the facts that mention a lost representative from `fact` to `derived`."""
        terms = f"SELECT term FROM {self.merged}"
        if self.specialisation.program.uses_inequality:  # `?x != ?y` may begin to hold for the class that grew
            terms += f" UNION SELECT representative FROM {self.merged}"
        rows = self.facts.take_out(mentions("fact", terms))
        self.facts.forget_terms(terms)
        return rows

    def _part_reflexive(self) -> None:
        """Equality `axioms`: x sameAs x is left out, unless it is given, and so are literals that stay apart."""
        equalities, mixed, apart, same = self._equalities()
        if not equalities:
            return
        if same:
            self.facts.note_identities()
        pairs = f"SELECT DISTINCT s, p, o FROM derived WHERE p = {SAME_AS} AND s <> o AND {APART}"
        if apart or (mixed and self._kept_apart):
            pairs = self._united(pairs)
        self.engine.create(
            "derived",
            "SELECT s, p, o FROM derived WHERE p <> {p} UNION ALL SELECT a, {p}, b FROM ({mergeable}) e "
            "UNION ALL SELECT s, p, o FROM ({pairs}) w "
            "UNION ALL SELECT d.s, d.p, d.o FROM derived d "
            "JOIN given a ON a.s = d.s AND a.p = d.p AND a.o = d.o "
            "WHERE d.p = {p} AND d.s = d.o".format(p=SAME_AS, mergeable=mergeable("derived"), pairs=pairs),
        )
        if not mixed:
            return
        equal = f"FROM derived d WHERE p = {SAME_AS} AND s <> o AND {absent('d', 'fact')}"
        ends = " UNION ".join(f"SELECT {c} AS term {equal} AND {c} >= {FIRST_LITERAL}" for c in "so")
        self._add_types(ends)

    def _united(self, pairs: str) -> str:
        """Equality `axioms`: of the equalities of two literals, those of a SELECT and those kept apart before, the ones
        with a literal that equals an IRI or blank node by now, as SQL. The others are kept."""
        if self._kept_apart:
            pairs += f" UNION SELECT s, p, o FROM {self._kept}"
        self.engine.create(self._pair, pairs)
        known = "(SELECT s, p, o FROM fact UNION ALL SELECT s, p, o FROM derived)"
        ways = (
            f"SELECT {a} FROM {known} k WHERE p = {SAME_AS} AND {a} >= {FIRST_LITERAL} AND {b} < {FIRST_LITERAL}"
            for a, b in ("so", "os")
        )
        self.engine.create(self._ends, f"SELECT s AS term FROM ({' UNION '.join(ways)}) t")
        united = f"s IN (SELECT term FROM {self._ends}) OR o IN (SELECT term FROM {self._ends})"
        kept = f"SELECT s, p, o FROM {self._pair} WHERE NOT ({united})"
        self._kept_apart = self.engine.create(self._kept, kept) > 0
        return f"SELECT s, p, o FROM {self._pair} WHERE {united}"
