"""Which statements a round runs: every shape, with every atom in turn as focus on the delta (`plan.Read`).

New instances look at everything, those that are kept at what reads the delta; equalities of groups
(`triplestore.compile.symmetry`) are found by group, joins with large transitive relations by their components
(`triplestore.materialise.transitive`), intersections by counting. What nothing of the delta can match costs no
statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from triplestore.compile.groups import is_by_property, select_links_by_property
from triplestore.compile.plan import K, Occurs, Pattern, Read, Row, Shape, V
from triplestore.compile.sql import Instances as Source
from triplestore.compile.sql import Terms, select, select_links, select_star
from triplestore.compile.symmetry import half
from triplestore.engine.arrow import int64s
from triplestore.engine.sql import Scratch
from triplestore.materialise.aggregates import Aggregates
from triplestore.materialise.facts import Facts
from triplestore.materialise.stages import Stages
from triplestore.materialise.statements import instances, possible, reads
from triplestore.materialise.transitive import CHAIN, Transitive
from triplestore.materialise.well_founded import WellFoundedCheck
from triplestore.model.equality import Equality
from triplestore.model.terms import SAME_AS

Statement = tuple[Shape, str, str]
"""(shape, which of its matches, SQL): what a round runs."""


class Firing:
    """The statements of a run's rounds."""

    def __init__(
        self,
        facts: Facts,
        stages: Stages,
        aggregates: Aggregates,
        well_founded: WellFoundedCheck,
        terms: Terms,
        transitive: Transitive,
    ) -> None:
        self.engine, self.facts, self.transitive = facts.engine, facts, transitive
        self.stages, self.aggregates, self.well_founded, self.terms = stages, aggregates, well_founded, terms
        self._scratch = Scratch(facts.engine)  # what the statements of the round read

    def statements(
        self, program: Mapping[Shape, Mapping[Row, str]], fresh: Mapping[Shape, Mapping[Row, str]]
    ) -> list[Statement]:
        """Every statement that can find something this round; those of the last one have run. fresh: the new
        instances."""
        self._scratch.clear()
        found: list[Statement] = []
        known = self.facts.predicates | {p for p, _ in self.facts.sizes}
        for shape, rows in program.items():
            arrived = fresh.get(shape, {})
            usable = [row for row in rows if self.stages.runs(shape, row) and possible(shape, row, known)]
            if shape == CHAIN:
                usable, returned = self.transitive.take(usable)
                arrived = {**arrived, **{row: rows[row] for row in returned if row in rows}}
            if _is_star(shape):
                found += self._stars(shape, [row for row in usable if row in arrived], usable)
                continue
            equal = {row for row in usable if self._is_equality(shape, row)}
            for by_group in (False, True):
                part = [row for row in usable if (row in equal) == by_group]
                new, kept = [row for row in part if row in arrived], [row for row in part if row not in arrived]
                if part:
                    found += (self._links if by_group else self._matches)(shape, new, kept)
        return found

    def _is_equality(self, shape: Shape, row: Row) -> bool:
        """Whether an instance says that all of a group are one."""
        head = shape.output[1]
        return (
            self.facts.equality != Equality.OFF
            and isinstance(head, K)
            and row[head.number] == SAME_AS
            and half(shape) is not None
        )

    def _matches(self, shape: Shape, new: Sequence[Row], kept: Sequence[Row]) -> Iterator[Statement]:
        """All matches of new instances, and of those that are kept the ones that read the delta."""
        for tables, rows in self.aggregates.by_tables(shape, new):
            scans = [tables.get(i) or self.facts.scan(e, Read.ALL) for i, e in enumerate(shape.body)]
            source = instances(self._scratch, rows)
            self._note(shape, rows, scans, source)
            yield shape, "instances", select(shape, scans, source, terms=self.terms)
        for focus, usable in self._focused(shape, kept):
            for tables, rows in self.aggregates.by_tables(shape, usable):
                scans = [tables.get(i) or self.facts.scan(e, reads(i, focus)) for i, e in enumerate(shape.body)]
                source = instances(self._scratch, rows)
                self._note(shape, rows, scans, source)
                yield shape, f"atom {focus}", select(shape, scans, source, terms=self.terms)

    def _note(self, shape: Shape, rows: Sequence[Row], scans: Sequence[str], source: Source) -> None:
        """Note down what a statement with NOT or AGGREGATE finds, if it has to be verified."""
        if shape.negative and self.stages.unsettled:
            self.well_founded.note(shape, len(rows[0]), scans, source)

    def _links(self, shape: Shape, new: Sequence[Row], kept: Sequence[Row]) -> Iterator[Statement]:
        """The same for instances whose matches are pairs of a group: a member, and links to it from the others."""
        member = half(shape)
        assert member is not None
        if new:
            yield shape, "groups", self._groups(member, new, None)
        focused = self._focused(member, kept)
        if focused:
            touched = set[Row]().union(*(usable for _, usable in focused))
            yield shape, "groups", self._groups(member, sorted(touched), [n for n, _ in focused])

    def _groups(self, member: Shape, rows: Sequence[Row], focuses: Sequence[int] | None) -> str:
        """The links of the groups of instances. focuses: only groups with a member for which one of these elements of
        the body reads the delta (for which any does, where there are many); None: all groups."""
        source = instances(self._scratch, rows)
        scans = [self.facts.scan(e, Read.ALL) for e in member.body]
        only = focuses if self.facts.old else None
        if is_by_property(member):
            fresh = None if only is None else "delta"
            return select_links_by_property(member, scans[0], fresh, source, SAME_AS, self.engine.dialect)
        new = [[self.facts.scan(e, reads(i, n)) for i, e in enumerate(member.body)] for n in only or ()]
        return select_links(member, scans, new, source, SAME_AS)

    def _stars(self, shape: Shape, new: Sequence[Row], rows: Sequence[Row]) -> Iterator[Statement]:
        """The same for instances that ask several things of one term: joined two by two, these would meet in terms that
        have most of them and lack one."""
        arrived = set(new)
        kept = [row for row in rows if row not in arrived]
        touched = sorted(set[Row]().union(*(usable for _, usable in self._focused(shape, kept))))
        scan = self.facts.scan(shape.body[0], Read.ALL)
        for what, some, delta in (("instances", new, None), ("any atom", touched, "delta")):
            if some:
                yield shape, what, select_star(self._members(shape, some), scan, delta)

    def _members(self, shape: Shape, rows: Sequence[Row]) -> str:
        """A table of what instances of a star ask for (`select_star`)."""
        asked = []
        for number, row in enumerate(rows):
            pairs = _asked(shape, row)
            head = [row[slot.number] for slot in shape.output if isinstance(slot, K)]
            asked += [(number, p, o, len(pairs), *head) for p, o in pairs]
        columns = ("number", "p", "o", "needed", "head_p", "head_o")
        arrays = (int64s(column) for column in zip(*asked, strict=True))
        return self._scratch.load("star", pa.table(dict(zip(columns, arrays, strict=True))))

    def _focused(self, shape: Shape, rows: Sequence[Row]) -> list[tuple[int, list[Row]]]:
        """For every body element that the delta may match, its number, and the instances to look at."""
        found = []
        for focus, element in enumerate(shape.body) if rows else ():
            if isinstance(element, Occurs):
                usable = list(rows) if self.facts.new_terms else []
            else:
                usable = [row for row in rows if self.facts.touched(element, row)]
            read_old = any(isinstance(before, Pattern) for before in shape.body[:focus])
            if usable and (self.facts.old > 0 or not read_old):  # terms may have occurred without a fact that is left
                found.append((focus, usable))
        return found


def _is_star(shape: Shape) -> bool:
    """Whether a shape asks three things or more, all constant, of the one term that it derives something constant of:
    cls-int1."""
    x, p, o = shape.output[0], *shape.output[1:3]
    return (
        len(shape.body) >= 3
        and not shape.conditions
        and isinstance(x, V)
        and isinstance(p, K)
        and isinstance(o, K)
        and all(isinstance(e, Pattern) and e.s == x and isinstance(e.p, K) and isinstance(e.o, K) for e in shape.body)
    )


def _asked(shape: Shape, row: Row) -> set[tuple[int, int]]:
    """What an instance of a star asks for: predicates and objects."""
    patterns = (e for e in shape.body if isinstance(e, Pattern))
    return {(row[e.p.number], row[e.o.number]) for e in patterns if isinstance(e.p, K) and isinstance(e.o, K)}
