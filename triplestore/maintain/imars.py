"""IMaRS: the closure of a window, of facts that expire.

Source: Dell'Aglio and Della Valle 2014, "Incremental Reasoning on RDF Streams". Each fact has an end. A streamed fact
ends when it leaves the window, a fact of the background never (`FOREVER`), a match of a rule with the first of its
facts to end, and a fact with the last of its derivations. So when the window slides, what has ended is dropped without
a look at other derivations, and what was added is a delta for semi-naive evaluation (`extend`), in which a fact that is
there already counts as new if its end is later now (it is renewed).

The paper's rules are those of RDFS+ without equality. Here a program is any plain joins, and equality is rewriting over
time: facts are stored under the representatives of now (`classes.ExpiringClasses`), and a fact that was rewritten ends
with the equalities that it was rewritten by. Leaves are what the rules start from: the given facts of the background
and of the window. When a term has another representative, or is equal to it for longer, the leaves that mention it are
given to the rules again, rewritten; facts that mention a term which represents nothing any more are dropped. Every
derivation of the new closure that rests on no such leaf was there before, with the same end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

import numpy as np

from triplestore.compile.plan import K, Pattern, Row, Shape
from triplestore.compile.program import Program
from triplestore.maintain.annotation import FOREVER, Annotated
from triplestore.maintain.budget import metered
from triplestore.maintain.cache import ClosureCache, check_lists, check_occurring
from triplestore.maintain.classes import ExpiringClasses
from triplestore.maintain.context import Holds, MaintenanceContext
from triplestore.maintain.extend import extend
from triplestore.maintain.keys import NONE, Ids, member, minus, union
from triplestore.maintain.program import NotMaintainableError
from triplestore.maintain.state import ClosureState
from triplestore.maintain.thresholds import THRESHOLDS
from triplestore.maintain.violations import representatives
from triplestore.materialise.datatypes import Names, asked
from triplestore.materialise.figures import RoundFigures
from triplestore.model.equality import Equality
from triplestore.model.terms import SAME_AS

NAME: Final = "imars"


class Expiry(Holds):
    """Facts hold until their ends. now: the time of the window; leaves: the given facts of the window."""

    def __init__(self, state: ClosureState, classes: ExpiringClasses, text: Callable[[int], str]) -> None:
        self._state, self._classes, self._text = state, classes, text
        self.now = 0
        self.leaves = Annotated.none(1)
        self._ends = Annotated.none(1)  # of the facts of I that the window brought
        self._derived = NONE, NONE  # what was derived, sorted, and the ends of it
        self._matched: list[tuple[Ids, Ids]] = []  # what was derived after that

    def forget(self) -> None:
        """Forget the ends of all facts."""
        self._ends = Annotated.none(1)

    def expire(self) -> tuple[Ids, Ids]:
        """(the facts of I that have ended by now, the leaves that have)."""
        facts, leaves = (one.keys[one.values[0] <= self.now] for one in (self._ends, self.leaves))
        self._ends, self.leaves = self._ends.without(facts), self.leaves.without(leaves)
        return facts, leaves

    def arrive(self, keys: Ids, ends: Ids) -> Ids:
        """Add leaves, some of which may be there already until another time; returns those that are to be given to the
        rules. The given facts of the background are not among them."""
        keys, ends = _last(keys, ends)
        window = member(keys, self.leaves.keys)
        new = window | ~self._state.asserted.contains(keys)
        keys, ends = keys[new], ends[new]
        ends = np.maximum(ends, self.leaves.of(keys, ends.reshape(1, -1).copy())[0])
        self.leaves = self.leaves.put(keys, ends.reshape(1, -1))
        self._state.asserted.add(keys)
        return self.again(keys)

    def again(self, leaves: Ids) -> Ids:
        """Have leaves given to the rules; returns them."""
        self.matched(leaves, self.leaves.of(leaves, _forever(len(leaves)))[0])
        return leaves

    def worth(self, keys: Ids) -> Ids:
        found: Ids = self._ends.of(keys, _forever(len(keys)))[0]
        return found

    def matched(self, heads: Ids, worth: Ids) -> None:
        self._matched.append((heads, worth))
        if sum(len(keys) for keys, _ in self._matched) > 4 * THRESHOLDS.room:
            self._lasting()

    def given(self, run: MaintenanceContext, facts: Ids) -> Ids:
        self.matched(facts, _forever(len(facts))[0])
        return facts

    def normalised(self, run: MaintenanceContext, derived: Ids) -> Ids:
        keys, ends = self._lasting()
        if not self._classes.none:
            s, p, o = run.layout.unpack(keys)
            ends = np.minimum.reduce([ends, *(self._classes.until(codes) for codes in (s, p, o))])
            keys, ends = _last(run.layout.keys(*map(self._classes.normalise, (s, p, o))), ends)
        self._derived = keys, ends
        return keys

    def new(self, run: MaintenanceContext, derived: Ids) -> tuple[Ids, Ids]:
        ends = self._ends_of(derived)
        there = run.state.facts.contains(derived)
        later = ~there | (ends > self.worth(derived))
        self._ends = self._ends.put(derived[later], ends[later].reshape(1, -1))
        self._derived = NONE, NONE
        return derived[later], derived[~there]

    def merge(self, run: MaintenanceContext, equalities: Ids, figures: RoundFigures) -> tuple[Ids, Ids]:
        s, _, o = run.layout.unpack(equalities)
        links = zip(s.tolist(), o.tolist(), self._ends_of(equalities).tolist(), strict=True)
        return self.reclassified(run, *self._classes.link(self.now, links))

    def reclassified(self, run: MaintenanceContext, changed: Ids, lost: Ids) -> tuple[Ids, Ids]:
        """As `merge`, once the classes of some terms have changed, and some no longer represent anything."""
        fixed = changed[member(changed, run.layout.encode(run.program.terms))] if len(changed) else NONE
        if len(fixed):
            term = self._text(run.layout.id(int(fixed[0])))
            raise NotMaintainableError(f"{term}, a term of the ontology or the rules, equals another term")
        self._ends = self._ends.without(run.state.remove(run.state.mentioning(lost)))
        return changed, self.again(run.state.mentioning(changed, run.state.asserted))

    def _lasting(self) -> tuple[Ids, Ids]:
        """The derived facts, distinct, each with its last end."""
        if self._matched:
            keys, ends = zip(self._derived, *self._matched, strict=True)
            self._derived, self._matched = _last(np.concatenate(keys), np.concatenate(ends)), []
        return self._derived

    def _ends_of(self, derived: Ids) -> Ids:
        """The ends of derived facts, which were normalised."""
        keys, ends = self._lasting()
        return ends[keys.searchsorted(derived)]


class Imars:
    """The closure of a window over the closure of its background. `state` has what the last slide changed, as after an
    update."""

    def __init__(self, memory: ClosureCache, text: Callable[[int], str]) -> None:
        """memory: the closure of the background, read as of facts that expire; it is used up. text: a term by its id.
        Raises NotMaintainableError."""
        self.state, self._reasoning = memory.state, memory.reasoning
        assert isinstance(self.state.classes, ExpiringClasses)
        self._classes = self.state.classes
        self._background = memory.state.facts.copy()
        self._first = self._program = memory.specialised
        self._specialiser = memory.specialiser
        self._expiry = Expiry(self.state, self._classes, text)
        self.datatypes: Names = representatives(self._run()) if self._reasoning.datatypes else {}
        self.typed = asked(self._program.program, self.datatypes)
        """Datatypes (ids): the types of literals by these are to be among the leaves."""
        _check(self._program.program, self.state.equality)

    def slide(self, now: int, arrived: Ids, ends: Ids) -> None:
        """Slide the window to a time. arrived: given facts, as keys, that it may have already; ends: when each of
        them leaves it. Raises NotMaintainableError, LayoutFullError, MemoryLimitError; the closure is not to be used
        then."""
        state, expiry = self.state, self._expiry
        state.begin()
        expiry.now = now
        ended, gone = expiry.expire()
        state.asserted.remove(gone)
        leaves = expiry.arrive(arrived, ends)
        if len(state.schema_of(ended)):
            leaves = self._restarted()
        else:
            state.remove(ended)
        run = self._run()
        with metered(run.meter):
            _, again = expiry.reclassified(run, *self._classes.link(now))
            extend(run, union(leaves, again))
            check_occurring(run)
            check_lists(run)
        self._program = run.program
        _check(run.program.program, state.equality)
        if asked(run.program.program, self.datatypes) - self.typed:
            raise NotMaintainableError("the stream's ontology asks for the literals of a datatype")

    def _run(self) -> MaintenanceContext:
        constants = self._reasoning.constants
        return MaintenanceContext(self.state, self._program, self._specialiser, constants, annotation=self._expiry)

    def _restarted(self) -> Ids:
        """The window's part of the ontology has lost a fact: the closure is that of the background again; the leaves,
        which are all to be given to the rules. What is made of the ontology has no ends of its own, since this is done
        whenever a fact of it ends."""
        state = self.state
        before, now = self._background.keys, state.facts.keys
        state.remove(minus(now, before))
        state.add(minus(before, now))
        self._classes.part_all()
        self._expiry.forget()
        self._program = self._first
        return self._expiry.again(self._expiry.leaves.keys)


def _last(keys: Ids, ends: Ids) -> tuple[Ids, Ids]:
    """Keys, sorted and distinct, each with the last of its ends."""
    if len(keys) < 2:
        return keys, ends
    order = np.argsort(keys)
    keys = keys[order]
    first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    return keys[first], np.maximum.reduceat(ends[order], first)


def _forever(size: int) -> Ids:
    return np.full((1, size), FOREVER, dtype=np.int64)


def _check(program: Program, equality: Equality) -> None:
    """Raise NotMaintainableError if the program is none for facts with ends."""
    if equality == Equality.AXIOMS:
        raise NotMaintainableError("equality is axiomatised (use a store with --equality rewrite)")
    for shape, rows in program.instances.items():
        name = next(iter(rows.values()), "")
        if not shape.monotone:
            raise NotMaintainableError(f"rule {name} has a NOT, an AGGREGATE or an expression")
        if equality == Equality.REWRITE and shape.sees_members:
            raise NotMaintainableError(f"rule {name} compares terms that may be equal")
        if equality == Equality.REWRITE and _reads_equality(shape, rows):
            raise NotMaintainableError(f"rule {name} reads owl:sameAs")


def _reads_equality(shape: Shape, rows: Collection[Row]) -> bool:
    predicates = [e.p.number for e in shape.body if isinstance(e, Pattern) and isinstance(e.p, K)]
    return any(row[number] == SAME_AS for row in rows for number in predicates)
