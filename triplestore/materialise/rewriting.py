"""Rewriting: what a round derived becomes the next delta, and equalities in it merge classes of terms.

Source: Motik, Nenov, Piro, Horrocks 2015, "Handling owl:sameAs via Rewriting". With equality `rewrite`, the classes
are in `same_as` (`triplestore.materialise.same_as`), and a fact that mentions a term that is no representative any more
is taken out and comes back rewritten. With `axioms`, equalities are facts like others. Literals equal other terms as
any term does; those that do have each of their datatypes for a type, not only those that rules ask for (dt-type2).
"""

from __future__ import annotations

from triplestore.materialise.datatypes import every_type_sql
from triplestore.materialise.facts import Facts
from triplestore.materialise.figures import RoundFigures
from triplestore.materialise.same_as import mentions, merge, mergeable, normalised
from triplestore.materialise.specialisation import Specialisation
from triplestore.materialise.statements import absent
from triplestore.terms import FIRST_LITERAL, SAME_AS


class Rewriting:
    """Steps 4 and 5 of a round."""

    def __init__(self, facts: Facts, specialisation: Specialisation) -> None:
        self.engine, self.facts, self.specialisation = facts.engine, facts, specialisation

    def absorb(self, figures: RoundFigures) -> None:
        """From `derived` make the next `delta`, merging what it says is equal."""
        if self.facts.equality == "rewrite":
            self._merge(figures)
        elif self.facts.equality == "axioms":
            self._part_reflexive()
        self.facts.begin(f"SELECT DISTINCT s, p, o FROM derived d WHERE {absent('d', 'fact')}")

    def complete_reflexive(self) -> None:
        """Equality `axioms`, at the fixpoint: x sameAs x for the members of classes of two or more, and for every term
        where owl:sameAs itself is one of these (`triplestore.virtual`): another name of it has x p x by eq-rep-p."""
        if self.facts.equality != "axioms" or SAME_AS not in self.facts.predicates:
            return
        names = f"SELECT o FROM fact WHERE s = {SAME_AS} AND p = {SAME_AS} AND o <> {SAME_AS}"
        members = (
            f"SELECT DISTINCT s, CAST({SAME_AS} AS BIGINT) AS p, s AS o FROM fact "
            f"WHERE (p = {SAME_AS} AND s <> o) OR (s = o AND s < {FIRST_LITERAL} AND p IN ({names}))"
        )
        self.facts.begin(f"SELECT s, p, o FROM ({members}) m WHERE {absent('m', 'fact')}")
        self.facts.sizes, self.facts.new_terms = {}, 0
        self.facts.promote()

    def _merge(self, figures: RoundFigures) -> None:
        while (found := self._equalities())[0]:
            if found[2]:
                self.facts.note_identities()
            lost = merge(self.engine, mergeable("derived"))
            if not lost:
                self.engine.create("derived", f"SELECT s, p, o FROM derived WHERE p <> {SAME_AS}")
                return
            figures.merged += lost
            self.specialisation.merged()
            figures.rewritten += self._take_outdated()
            others = f"(SELECT s, p, o FROM derived WHERE p <> {SAME_AS})"  # its equalities are merged
            self.engine.create("derived", normalised(others, "merged"))
            if found[1]:
                grown = "SELECT representative FROM merged"
                literals = f"term >= {FIRST_LITERAL} AND representative IN ({grown})"
                self._add_types(f"SELECT term FROM same_as WHERE {literals}")

    def _equalities(self) -> tuple[int, int, int]:
        """How many equalities there are in `derived`, how many of them have a literal, how many are `x sameAs x`."""
        literal = f"CASE WHEN s <> o AND (s >= {FIRST_LITERAL} OR o >= {FIRST_LITERAL}) THEN 1 END"
        found = self.engine.query(
            f"SELECT count(*) AS n, count({literal}) AS literals, count(CASE WHEN s = o THEN 1 END) AS same "
            f"FROM derived WHERE p = {SAME_AS}"
        ).to_pylist()[0]
        return int(found["n"]), int(found["literals"]), int(found["same"])

    def _add_types(self, literals: str) -> None:
        """Add to `derived` every type (dt-type2) of the literals of a one-column SELECT, if datatypes are known."""
        if self.specialisation.datatypes is None:
            return
        equal = f"SELECT t.* FROM term t JOIN ({literals}) l ON l.term = t.id"
        if self.engine.create("equal_literal", equal):
            types = every_type_sql(self.engine.dialect, "equal_literal")
            if self.facts.equality == "rewrite":
                types = normalised(f"({types})", "same_as")
            self.engine.append("derived", [types])
        self.engine.drop("equal_literal")

    def _take_outdated(self) -> int:
        """Move the facts that mention a lost representative from `fact` to `derived`."""
        terms = "SELECT term FROM merged"
        if self.specialisation.program.uses_inequality:  # `?x != ?y` may begin to hold for the class that grew
            terms += " UNION SELECT representative FROM merged"
        rows = self.facts.take_out(mentions("fact", terms))
        self.facts.forget_terms("SELECT term FROM merged")
        return rows

    def _part_reflexive(self) -> None:
        """Equality `axioms`: x sameAs x is left out, unless it is stated."""
        equalities, literals, same = self._equalities()
        if not equalities:
            return
        if same:
            self.facts.note_identities()
        self.engine.create(
            "derived",
            "SELECT s, p, o FROM derived WHERE p <> {p} UNION ALL SELECT a, {p}, b FROM ({pairs}) e "
            "UNION ALL SELECT d.s, d.p, d.o FROM derived d "
            "JOIN stated a ON a.s = d.s AND a.p = d.p AND a.o = d.o "
            "WHERE d.p = {p} AND d.s = d.o".format(p=SAME_AS, pairs=mergeable("derived")),
        )
        if not literals:
            return
        equal = f"FROM derived d WHERE p = {SAME_AS} AND s <> o AND {absent('d', 'fact')}"
        ends = " UNION ".join(f"SELECT {c} AS term {equal} AND {c} >= {FIRST_LITERAL}" for c in "so")
        self._add_types(ends)
