"""The closure in memory, as the maintenance algorithms see it: E, (pi, I), the program, and what an update changed.

Made once from a version's tables, kept between updates, and changed by each: the cost of a lookup follows its matches,
that of a change the facts that it changes. All triples are keys, all terms codes (`triplestore.maintain.keys`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np

from triplestore.compile.schema import Fact, Vocabulary
from triplestore.engine.sets import Growing
from triplestore.maintain.classes import Classes, Map
from triplestore.maintain.keys import NONE, Ids, Layout, Mask, distinct, member, union
from triplestore.maintain.relation import Relation
from triplestore.model.equality import Equality
from triplestore.model.terms import BUILTIN_IRIS, SAME_AS, TYPE
from triplestore.model.thresholds import SIZES

_BUILTIN: Final = np.arange(len(BUILTIN_IRIS), dtype=np.int64)
"""The codes of the built-in terms: their ids."""


class ClosureState:
    """E (`asserted`), I (`facts`) and pi (`classes`) of one version; `equality` as in `Reasoning`."""

    def __init__(
        self, layout: Layout, asserted: Relation, facts: Relation, classes: Classes, equality: Equality
    ) -> None:
        self.layout, self.equality = layout, equality
        self.asserted, self.facts, self.classes = asserted, facts, classes
        self.same_as = layout.code(SAME_AS)
        self.type = layout.code(TYPE)
        self._schema: tuple[Ids, tuple[Ids, Ids]] | None = None  # representatives of built-in terms; `_schema_codes`
        self.begin()

    def begin(self) -> None:
        """Begin an update."""
        self._added, self._removed = Growing(), Growing()
        self.plus, self.minus = NONE, NONE
        self.classes.mark()

    @property
    def added(self) -> Ids:
        """The facts that are in I and were not at `begin`, sorted."""
        return self._added.all

    @property
    def removed(self) -> Ids:
        """The facts that were in I at `begin` and are not, sorted."""
        return self._removed.all

    # -- changing --------------------------------------------------------------------------------------------------

    def change_asserted(self, plus: Ids, minus: Ids) -> None:
        """Change E to its state after the update (keys; disjoint, net changes)."""
        self.minus = self.asserted.remove(minus)
        self.plus = self.asserted.add(plus)

    def add(self, keys: Ids) -> Ids:
        """Add facts to I; returns those that were new."""
        new = self.facts.add(keys)
        self._note_added(new)
        return new

    def add_new(self, new: Ids) -> None:
        """Add facts of which none is in I, sorted."""
        self.facts.add_new(new)
        self._note_added(new)

    def _note_added(self, new: Ids) -> None:
        self._added.add(new[~self._removed.take(new)])

    def remove(self, keys: Ids) -> Ids:
        """Remove facts from I; returns those that were in it."""
        removed = self.facts.remove(keys)
        self._removed.add(removed[~self._added.take(removed)])
        return removed

    @contextmanager
    def facts_before(self) -> Iterator[None]:
        """I as it was at `begin`, while this is entered, however it is left."""
        self.facts.remove_old(self.added)
        self.facts.add_new(self.removed)
        try:
            yield
        finally:
            self.facts.remove_old(self.removed)
            self.facts.add_new(self.added)

    def revert(self) -> None:
        """Undo the update: restore the state at `begin`."""
        self.facts.remove_old(self.added)
        self.facts.add_new(self.removed)
        self.asserted.remove_old(self.plus)
        self.asserted.add_new(self.minus)
        self.classes.revert()
        self.begin()

    # -- lookups ---------------------------------------------------------------------------------------------------

    def normalised(self, keys: Ids, classes: Map | None = None) -> Ids:
        """Keys under pi (or another map), sorted and distinct."""
        if classes is None:
            if self.classes.none:
                return union(keys)
            classes = self.classes
        s, p, o = self.layout.unpack(keys)
        return union(self.layout.keys(classes.normalise(s), classes.normalise(p), classes.normalise(o)))

    def asserted_in(self, facts: Ids) -> tuple[Ids, Ids]:
        """(position, key) of the asserted triples that normalise to each of the facts: the relevant part of E only
        (Motik et al. 2015, section 5)."""
        if self.classes.none:
            found = np.flatnonzero(self.asserted.contains(facts))
            return found, facts[found]
        s, p, o = self.layout.unpack(facts)
        wide = self._sizes(s) > SIZES.inline
        at, keys = self._asserted_in_wide(facts[wide])
        narrow = np.flatnonzero(~wide)
        more, others = self._asserted_in_narrow(s[narrow], p[narrow], o[narrow])
        return np.concatenate((np.flatnonzero(wide)[at], narrow[more])), np.concatenate((keys, others))

    def _asserted_in_wide(self, facts: Ids) -> tuple[Ids, Ids]:
        """As `asserted_in`, for facts whose subjects are large classes: by all triples of the members with their
        predicates, which facts share."""
        if not len(facts):
            return NONE, NONE
        s, p, _ = self.layout.unpack(facts)
        bits = self.layout.bits
        pairs = distinct(p << bits | s)
        rows, predicates = self.classes.expand(pairs >> bits)
        more, subjects = self.classes.expand((pairs & ((1 << bits) - 1))[rows])
        _, keys, _ = self.asserted.match(self.layout.numbers(predicates[more]), subjects, None)
        s, p, o = (self.classes.normalise(codes) for codes in self.layout.unpack(keys))
        normal = self.layout.keys(s, p, o)
        order = np.argsort(facts)
        at = np.minimum(np.searchsorted(facts[order], normal), len(facts) - 1)
        found = facts[order][at] == normal
        return order[at[found]], keys[found]

    def _asserted_in_narrow(self, s: Ids, p: Ids, o: Ids) -> tuple[Ids, Ids]:
        """As `asserted_in`, one triple after the other."""
        rows, subjects = self.classes.expand(s)
        more, predicates = self.classes.expand(p[rows])
        rows, subjects = rows[more], subjects[more]
        numbers = self.layout.numbers(predicates)
        size = self._sizes(o)[rows]
        few = size <= SIZES.inline
        at, keys = [], []
        if few.any():
            some, objects = self.classes.expand(o[rows[few]])
            found, matched, _ = self.asserted.match(numbers[few][some], subjects[few][some], objects)
            at.append(rows[few][some][found])
            keys.append(matched)
        if not few.all():
            found, matched, _ = self.asserted.match(numbers[~few], subjects[~few], None)
            from_row = rows[~few][found]
            same = self.classes.normalise(self.layout.unpack(matched)[2]) == o[from_row]
            at.append(from_row[same])
            keys.append(matched[same])
        return (np.concatenate(at), np.concatenate(keys)) if at else (NONE, NONE)

    def _sizes(self, codes: Ids) -> Ids:
        large = self.classes.large(codes)
        sizes = np.ones(len(codes), dtype=np.int64)
        if large.any():
            distinct, back = np.unique(codes[large], return_inverse=True)
            rows, _ = self.classes.expand(distinct)
            sizes[large] = np.bincount(rows, minlength=len(distinct))[back]
        return sizes

    def asserted_equalities(self, classes: Ids) -> tuple[Ids, Ids]:
        """(subject, object) of the asserted equalities within classes (representatives)."""
        _, members = self.classes.expand(classes)
        _, equals = self.classes.expand(np.array([self.same_as], dtype=np.int64))
        numbers = self.layout.numbers(np.repeat(equals, len(members)))
        subjects = np.tile(members, len(equals))
        _, keys, _ = self.asserted.match(numbers, subjects, None)
        s, _, o = self.layout.unpack(keys)
        inside = (s != o) & (self.classes.normalise(s) == self.classes.normalise(o))
        return s[inside], o[inside]

    def mentioning(self, terms: Ids, relation: Relation | None = None) -> Ids:
        """The facts of I, or of another relation, that mention one of the terms."""
        facts, count = relation or self.facts, len(self.layout.predicates)
        numbers = np.tile(np.arange(count, dtype=np.int64), len(terms))
        repeated = np.repeat(terms, count)
        by_subject = facts.match(numbers, repeated, None)[1]
        by_object = facts.match(numbers, None, repeated)[1]
        by_predicate = facts.match(self.layout.numbers(terms), None, None)[1]
        return union(by_subject, by_object, by_predicate)

    def large_in(self, facts: Ids) -> Ids:
        """The representatives of classes of two or more that facts mention, sorted."""
        if self.classes.none or not len(facts):
            return NONE
        terms = union(*self.layout.unpack(facts))
        return terms[self.classes.large(terms)]

    def is_equality(self, keys: Ids) -> Mask:
        """Which keys are of owl:sameAs triples."""
        found: Mask = self.layout.unpack(keys)[1] == self.same_as
        return found

    # -- schema facts ----------------------------------------------------------------------------------------------

    def schema_of(self, keys: Ids) -> Ids:
        """Those of the keys that are schema facts."""
        if not len(keys):
            return keys
        _, p, o = self.layout.unpack(keys)
        predicates, classes = self._schema_codes
        found: Ids = keys[member(p, predicates) | ((p == self.type) & member(o, classes))]
        return found

    def schema_facts(self) -> Ids:
        """Every schema fact of I."""
        predicates, classes = self._schema_codes
        numbers = self.layout.numbers(predicates)
        by_predicate = self.facts.match(numbers[numbers >= 0], None, None)[1]
        kind = self.layout.numbers(np.full(len(classes), self.type, dtype=np.int64))
        return union(by_predicate, self.facts.match(kind, None, classes)[1])

    @property
    def _schema_codes(self) -> tuple[Ids, Ids]:
        """The predicates and classes of schema facts under pi, see `Vocabulary`. Built-in terms have their ids for
        codes."""
        named = self.classes.normalise(_BUILTIN)
        if self._schema is None or not np.array_equal(named, self._schema[0]):
            under = Vocabulary.under(named.tolist().__getitem__)
            predicates, classes = (np.array(sorted(t), dtype=np.int64) for t in (under.predicates, under.classes))
            self._schema = named, (predicates, classes)
        return self._schema[1]

    # -- ids -------------------------------------------------------------------------------------------------------

    def keys_of(self, facts: Iterable[Fact]) -> Ids:
        """Keys of triples of ids."""
        return self.layout.keys_of(facts)

    def ids_of(self, keys: Ids) -> tuple[Ids, Ids, Ids]:
        """(s, p, o) ids of keys."""
        return self.layout.ids_of(keys)

    def facts_of(self, keys: Ids) -> list[Fact]:
        """Keys as triples of ids."""
        s, p, o = self.ids_of(keys)
        return list(zip(s.tolist(), p.tolist(), o.tolist(), strict=True))


def heads(layout: Layout, output: Ids) -> Ids:
    """The keys of a rule's matches (rows of three codes); one for each match."""
    columns = np.ascontiguousarray(output.T)
    return layout.keys(columns[0], columns[1], columns[2])


def body_facts(layout: Layout, output: Ids) -> Sequence[Ids]:
    """The keys of the body atoms of a backward match (rows of three codes each)."""
    columns = np.ascontiguousarray(output.T)
    return [layout.keys(columns[i], columns[i + 1], columns[i + 2]) for i in range(0, len(columns), 3)]
