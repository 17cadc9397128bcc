"""What the maintenance algorithms share: running rules forwards and backwards over the closure in memory, with figures,
within a budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final

import numpy as np

from triplestore.compile.plan import Pattern, Row, Shape
from triplestore.compile.schema import Constants, Fact
from triplestore.compile.specialise import Specialiser
from triplestore.maintain.bindings import Bindings, Completion, Which
from triplestore.maintain.budget import Budget, Meter, split
from triplestore.maintain.classes import Map
from triplestore.maintain.conditions import Conditions
from triplestore.maintain.counts import NONRECURSIVE, RECURSIVE, Counts
from triplestore.maintain.groups import Links, Worth
from triplestore.maintain.join import Instances, Rules, bodies, completed, every_match, focused, matches
from triplestore.maintain.keys import NONE, Ids, Mask, union
from triplestore.maintain.premises import every, fired_again, headed, touched
from triplestore.maintain.program import NotMaintainableError, Specialised, instances_lost, specialise
from triplestore.maintain.relation import ALL, Relation
from triplestore.maintain.state import ClosureState, heads
from triplestore.maintain.thresholds import THRESHOLDS
from triplestore.materialise.figures import Figures, Report, RoundFigures
from triplestore.model.equality import Equality
from triplestore.model.stopping import check
from triplestore.model.terms import BUILTIN_IDS
from triplestore.model.thresholds import SIZES

if TYPE_CHECKING:
    from triplestore.maintain.evaluation import Evaluator

FEW: Final = (4, 64, ALL)
"""Matches of an atom that a backward search looks at: first few, for most facts have a proof among them, at last
all."""


EQUAL_LITERAL: Final = "a literal equals an IRI or a blank node"
"""The reason why such equalities are not maintained: the literal would have types that no rule derives, and perhaps two
values."""

Watch = Callable[[str, Ids], None]
"""Receives the sets of an algorithm as they are made: name, keys."""


class Holds:
    """Facts hold, and nothing else is known of them. The methods are what `triplestore.maintain.extend` asks of any
    annotation.

    worth: what facts of I are worth, by their keys, if matches are to carry it along (`Bindings.worth`).
    """

    worth: Callable[[Ids], Ids] | None = None

    def matched(self, heads: Ids, worth: Ids) -> None:
        """Take note of matches, each by its head, and of what they are worth."""

    def given(self, run: MaintenanceContext, facts: Ids) -> Ids:
        """Take facts that hold without condition for derived ones; returns them."""
        return facts

    def normalised(self, run: MaintenanceContext, derived: Ids) -> Ids:
        """Derived facts under pi, sorted and distinct."""
        return run.state.normalised(derived)

    def new(self, run: MaintenanceContext, derived: Ids) -> tuple[Ids, Ids]:
        """Of derived facts (those that are worth more than before, those that did not hold before)."""
        new = derived[~run.state.facts.contains(derived)]
        return new, new

    def merge(self, run: MaintenanceContext, equalities: Ids, figures: RoundFigures) -> tuple[Ids, Ids]:
        """Make terms equal: (the terms whose classes have changed, facts that are to be derived again, since I has lost
        what they were under the classes before)."""
        state = run.state
        s, _, o = run.layout.unpack(equalities)
        lost = state.classes.merge(zip(s.tolist(), o.tolist(), strict=True))
        terms = union(np.fromiter(lost, np.int64, len(lost)))
        named = state.classes.normalise(terms)
        run.dirty.update(lost, named.tolist())
        figures.merged += len(lost)
        changed = union(terms, named)
        # With `?x != ?y`, a rule may begin to hold for the class that grew.
        outdated = state.remove(state.mentioning(changed if run.program.program.uses_inequality else terms))
        figures.rewritten += len(outdated)
        return changed, outdated


class MaintenanceContext:
    """One run of an algorithm over `state`, whose program was `before` and is `program` once deletions are done.

    watch: receives the sets of the algorithm. counting: derivations are counted; counts: the algorithm counts them
    itself. evaluator: of expressions and aggregates, where rules have any. memory: bytes that the process may take.
    annotation: what is known of facts besides that they hold.
    """

    def __init__(
        self,
        state: ClosureState,
        before: Specialised,
        specialiser: Specialiser,
        constants: Constants,
        budget: Budget | None = None,
        report: Report | None = None,
        watch: Watch | None = None,
        counting: bool = False,
        counts: Counts | None = None,
        evaluator: Evaluator | None = None,
        memory: int | None = None,
        annotation: Holds | None = None,
    ) -> None:
        self.annotation = annotation or Holds()
        self.counting, self.counts = counting, counts
        self.evaluator = evaluator
        self._conditions: Conditions | None = None
        self.running: list[Instances] = []  # instances with NOT or AGGREGATE whose strata have begun
        self._watch = watch
        self.state, self.before, self.program = state, before, before
        self.layout = state.layout
        self.specialiser = specialiser
        self.constants = Constants({**BUILTIN_IDS, **constants}, constants.equal)
        self.figures, self.report, self.budget = Figures(), report, budget or Budget()
        self.phase = self.figures.phases.timed
        self.meter = Meter(memory, self.afford)  # of the joins
        self._derived = 0  # derivations so far, as `Figures.derived` adds them up
        self._questioned = 0  # facts overdeleted, checked or inserted so far, with those of the round at hand
        self._counted_before = 0  # of those to be inserted
        self.rules_changed = self.constants_changed = False  # since the program was made
        self.specialised_again = False  # whether it has been made again since, over all facts
        self.dirty: set[int] = set()  # terms whose class changed, and representatives of such classes (codes)
        self.apart = False  # whether an equality of two literals is new, or has lost a derivation

    # -- figures ---------------------------------------------------------------------------------------------------

    def round(self, delta: int) -> AbstractContextManager[RoundFigures]:
        """Time a round, and report it."""
        return self.figures.round(delta, self.report)

    def note(self, name: str, found: Ids | Relation) -> None:
        """Put a set of the algorithm into the figures, and pass it to `watch`."""
        self.figures.sets[name] = self.figures.sets.get(name, 0) + len(found)
        if self._watch:
            self._watch(name, found.keys if isinstance(found, Relation) else found)

    def afford(self, facts: int | None = None) -> None:
        """Raise BudgetExceededError where the work is over the budget, StoppedError where the time limit is over.
        facts: those overdeleted, checked or inserted so far, and those that are next."""
        check()
        if facts is not None:
            self._questioned = max(0, facts - self._counted_before)
        self.budget.check(self._work, self._questioned)

    @property
    def _work(self) -> int:
        """The derivations so far, and what the other rows stand for that joins have made."""
        return self._derived + max(0, self.meter.rows - self._derived) // SIZES.much

    def deletion_done(self, overdeleted: int = 0) -> None:
        """Deletion is done: to rederive and to insert may cost as much again. The insertion of facts that were
        overdeleted is counted already."""
        self._questioned, self._counted_before = 0, overdeleted
        self.budget.begin(self._work)

    def sampled(self, frontier: Ids, questioned: int, unforeseen: bool = False) -> tuple[Ids, Ids]:
        """A frontier as (what to delete first, the rest), see `Budget.first`. questioned: facts so far."""
        columns = self.state.ids_of(frontier)
        return split(frontier, self.budget.first(columns, self._work, questioned, unforeseen))

    # -- rules -----------------------------------------------------------------------------------------------------

    def forward(
        self,
        rules: Rules,
        delta: Ids,
        relation: Relation,
        done: Ids,
        figures: RoundFigures,
        classes: Map | None = None,
        times: int = 0,
        deleting: bool = False,
    ) -> Ids:
        """The heads of all rule instances with a body fact in `delta` (part of `relation`) and the others in
        `relation` without `done`; each instance once, by the convention of `triplestore.compile.plan.Read`. times: what
        is added to the count of each head, where derivations are counted. deleting: of those with NOT or AGGREGATE the
        heads in I, whatever these say; else only those whose strata have begun are looked at, and are asked."""
        found: list[tuple[Ids, bool]] = []
        older = union(done, delta)
        for instances in rules.negative if deleting else ():
            self.afford()
            rows = touched(self.state, instances, relation, done, delta, delta, NONE)
            self.made_derivations(len(rows), figures)
            found.append((headed(self.state, instances, rows), False))
        running = () if deleting else self.running
        for instances, atoms in (*rules.reading(delta), *((some, range(len(some.shape.body))) for some in running)):
            if instances.member is not None and self.state.equality == Equality.REWRITE:
                self.afford()
                self.figures.joins += 1
                linked = self._links(instances, instances.member, classes).with_new(delta, relation, older, done)
                self._linked(linked, instances, figures, found)
                continue
            for focus in atoms:
                if not isinstance(instances.shape.body[focus], Pattern):
                    continue
                self.afford()
                others = [(relation, older if i < focus else done) for i in range(len(instances.shape.body))]
                self.figures.joins += 1
                completion = self._completion(instances, classes)
                self._head(focused(completion, instances, focus, delta, others), instances, figures, found)
        return self._counted(found, times)

    def _links(self, instances: Instances, member: Shape, classes: Map | None) -> Links:
        """The links of the groups that instances make equal."""
        of = instances.of(member)
        return Links(of, classes or self.state.classes, self.state.same_as, self.annotation.worth)

    def _linked(
        self,
        linked: tuple[Ids, Worth],
        instances: Instances,
        figures: RoundFigures,
        found: list[tuple[Ids, bool]],
    ) -> None:
        """Add links to the heads that were `found`."""
        keys, worth = linked
        self.made_derivations(len(keys), figures)
        if worth is not None:
            self.annotation.matched(keys, worth)
        found.append((keys, instances.recursive))

    def _completion(self, instances: Instances, classes: Map | None = None) -> Completion:
        """What completes the bindings of a rule that is run forwards."""
        found = completed(instances.shape, classes or self.state.classes, self._which, ALL, self.conditions)
        found.worth_of = self.annotation.worth
        return found

    def _head(
        self, parts: Iterable[Bindings], instances: Instances, figures: RoundFigures, found: list[tuple[Ids, bool]]
    ) -> None:
        """Add the heads of matches to those that were `found`."""
        for part in parts:
            check()
            self.made_derivations(len(part.at), figures)
            keys = heads(self.layout, part.output())
            if part.worth is not None:
                self.annotation.matched(keys, part.worth)
            found.append((keys, instances.recursive))
            if self.counts is None and sum(len(keys) for keys, _ in found) > 4 * THRESHOLDS.room:
                found[:] = [(union(*(keys for keys, _ in found)), False)]

    def made_derivations(self, number: int, figures: RoundFigures) -> None:
        """Count rule instances that have been found."""
        self._derived += number
        figures.derivations += number

    @property
    def conditions(self) -> Conditions | None:
        """What decides NOT, AGGREGATE and expressions over the facts at hand; None where no rule has any."""
        state = self.state
        if self._conditions is None and self.evaluator is not None:
            self._conditions = Conditions(state.facts, state.classes, state.equality, state.same_as, self.evaluator)
        return self._conditions

    def backward(self, rules: Rules, facts: Ids, relation: Relation, without: Ids, most: int) -> tuple[Ids, Ids, Mask]:
        """The derivations of facts by bodies in `relation` but for some keys: (the bodies' facts, distinct; positions
        of the facts that have one; which facts may have more, since an atom had more than `most` matches)."""
        found: list[Ids] = []
        derived: list[Ids] = []
        cut = np.zeros(len(facts), dtype=np.bool_)
        for instances in (*rules.deriving(facts), *rules.searched):
            self.afford()
            self.figures.joins += 1
            at, some, some_cut = bodies(
                *(instances, facts, relation, without, self.state.classes, most), self.conditions
            )
            if some_cut:
                cut |= instances.having(self.layout, 0, facts)
            if len(at):
                derived.append(at)
                self._looked_at(sum(map(len, some)))
                found.extend(some)
        return union(*found), union(*derived), cut

    def derivable(
        self, rules: Rules, facts: Ids, relation: Relation, without: Ids = NONE, expressive: bool = True
    ) -> Mask:
        """Which facts have a derivation by a body in `relation` but for some keys. expressive: also by rules with
        expressions."""
        found, cut = (np.zeros(len(facts), dtype=np.bool_) for _ in range(2))
        open_ = np.arange(len(facts), dtype=np.int64)
        for most in FEW:
            cut[open_] = False
            for instances in rules.deriving(facts[open_]):
                left = open_[~found[open_]]
                if not len(left):
                    return found
                self.afford()
                self.figures.joins += 1
                others = [(relation, without)] * len(instances.shape.body)
                at, _, some_cut = matches(instances, 0, facts[left], others, self.state.classes, most, Which.FOCUS)
                self._looked_at(len(at) * len(instances.shape.output) // 3)
                if some_cut:
                    cut[left[instances.having(self.layout, 0, facts[left])]] = True
                found[left[at]] = True
            open_ = open_[cut[open_] & ~found[open_]]
        for instances in rules.searched if expressive else ():
            left = np.flatnonzero(~found)
            at = bodies(*(instances, facts[left], relation, without, self.state.classes, ALL), self.conditions)[0]
            found[left[at]] = True
        return found

    def fired_again(self, lost: Ids) -> Ids:
        """The facts that instances with expressions, and those with NOT or AGGREGATE whose strata have begun, derive of
        I with heads as some of `lost` have them, but for what expressions make."""
        conditions = self.conditions
        if conditions is None or not len(lost):
            return NONE
        some = (fired_again(each, lost, conditions) for each in (*self.program.rules.expressive, *self.running))
        return union(*(heads(self.layout, output) for output in some if len(output)))

    @property
    def made(self) -> int:
        """How many terms expressions and aggregates have made that were not there."""
        return 0 if self.evaluator is None else self.evaluator.mint.made

    def check_made(self, before: int) -> None:
        """After a round: whether rules may go on to make terms. before: `made` before it. Raises EndlessError."""
        if self.evaluator is not None:
            self.evaluator.check_limits(before, self.specialiser.making)

    def derivations_of(self, rules: Rules, facts: Ids, relation: Relation) -> int:
        """The derivations of facts by bodies in `relation`; of those by one atom, up to `FEW[1]` matches of each, and
        of those by bodies with many atoms about one variable at least one."""
        every = ((instances, [(relation, NONE)] * len(instances.shape.body)) for instances in rules.backward)
        return sum(
            len(matches(instances, 0, facts, others, self.state.classes, FEW[1], Which.FOCUS)[0])
            for instances, others in every
        )

    def heads_of(
        self,
        rules: Rules,
        relation: Relation,
        figures: RoundFigures,
        without: Ids = NONE,
        times: int = 0,
        deleting: bool = False,
    ) -> Ids:
        """The heads of rule instances over a relation but for some keys. times, deleting: as in `forward`."""
        negative = rules.negative if deleting else []
        found = [(headed(self.state, each, every(self.state, each, relation, without)), False) for each in negative]
        for instances in rules.forward:
            self.figures.joins += 1
            if instances.member is not None and self.state.equality == Equality.REWRITE:
                linked = self._links(instances, instances.member, None).all(relation, without)
                self._linked(linked, instances, figures, found)
                continue
            parts = every_match(self._completion(instances), instances, relation, without)
            self._head(parts, instances, figures, found)
        return self._counted(found, times)

    @property
    def _which(self) -> Which:
        """Which matches forward joins find: every one, where they are counted or may be worth something else."""
        return Which.OUTPUT if self.counts is None and self.annotation.worth is None else Which.EVERY

    def _looked_at(self, facts: int) -> None:
        self._derived += facts
        self.figures.looked_at += facts

    def rules(self, instances: Mapping[Shape, Collection[Row]], program: Specialised | None = None) -> Rules:
        """Instances of a program (default: the present one) for `forward` and `heads_of`."""
        return Rules(self.layout, instances, (program or self.program).recursion)

    # -- counts ----------------------------------------------------------------------------------------------------

    def _counted(self, found: Sequence[tuple[Ids, bool]], times: int) -> Ids:
        """Heads of rule instances, which are recursive or not, with their derivations counted `times`."""
        if self.counts is not None and times:
            for kind in (NONRECURSIVE, RECURSIVE):
                some = [keys for keys, recursive in found if recursive == (kind == RECURSIVE)]
                self.counts.add(np.concatenate(some) if some else NONE, kind, times)
        return np.concatenate([keys for keys, _ in found]) if found else NONE

    def recount_instances(self, before: Specialised, after: Specialised, without: Ids = NONE) -> None:
        """Where derivations are counted: count those by instances of both programs as the second has them, over the
        facts but for some keys. One that is recursive in one of them only changes its kind."""
        if self.counts is None or before.recursion is after.recursion:
            return
        assert before.recursion is not None
        assert after.recursion is not None
        changed: dict[Shape, list[Row]] = {}
        for shape, rows in before.program.instances.items():
            known = after.program.instances.get(shape, {})
            for row in rows:
                if row in known and before.recursion.recursive(shape, row) != after.recursion.recursive(shape, row):
                    changed.setdefault(shape, []).append(row)
        for program, times in ((before, -1), (after, 1)):
            self.heads_of(self.rules(changed, program), self.state.facts, RoundFigures(0), without, times)

    def sorted_heads(self, found: Ids) -> tuple[Ids, Ids]:
        """Heads as facts, and equalities (in mode `axioms` they are among the facts); `x sameAs x` is left out unless
        the mode is `off`, and so are those of two literals. Distinct. Raises NotMaintainableError for an equality of a
        literal and another term."""
        found = union(found)
        if self.state.equality == Equality.OFF or not len(found):
            return found, NONE
        equal = self.state.is_equality(found)
        if not equal.any():
            return found, NONE
        facts, equalities = found[~equal], found[equal]
        s, _, o = self.layout.unpack(equalities)
        apart = (np.minimum(s, o) >= self.layout.first_literal) & (s != o)
        self.apart = self.apart or bool(apart.any())
        different = (s != o) & ~apart
        if (np.maximum(s, o)[different] >= self.layout.first_literal).any():
            raise NotMaintainableError(EQUAL_LITERAL)
        if self.state.equality == Equality.AXIOMS:
            return union(facts, equalities[different]), NONE
        return facts, equalities[different]

    def tokens(self, found: Ids) -> Ids:
        """The classes (representatives) c of heads `c sameAs c` over normal facts."""
        if self.state.equality != Equality.REWRITE or not len(found):
            return NONE
        s, _, o = self.layout.unpack(found[self.state.is_equality(found)])
        same = np.unique(s[s == o])
        return same[self.state.classes.large(same)]

    # -- the program -----------------------------------------------------------------------------------------------

    def normal_constants(self) -> Constants:
        """The rules' constants under pi."""
        if self.state.classes.none:
            return self.constants
        tokens, ids = list(self.constants), np.array(list(self.constants.values()), dtype=np.int64)
        now = self.layout.decode(self.state.classes.normalise(self.layout.encode(ids)))
        return Constants(dict(zip(tokens, now.tolist(), strict=True)), self.constants.equal)

    def specialised(self, schema: Iterable[Fact]) -> Specialised:
        """The program over these schema facts, closed."""
        found = specialise(self.layout, self.specialiser, self.normal_constants(), schema, self.counting)
        if found.schema == self.program.schema and not (self.renewed or found.constants != self.program.constants):
            return self.program
        return found

    def check_ties(self, schema: Ids) -> None:
        """Raise NotMaintainableError if an equality may have lost its support unseen with removed rules or schema facts
        (keys): see `Specialised.tied`."""
        if self.before.tied and (self.rules_changed or len(schema)):
            raise NotMaintainableError("a class of equals that the rules mention may be split")

    @property
    def renewed(self) -> bool:
        """Whether the program must be made again even if the schema stays."""
        return self.rules_changed or self.constants_changed

    def grounded(self) -> Specialised:
        """The program over the schema facts that do not depend on derived data: those closed from asserted ones, and
        from those that asserted data derives in one step."""
        state = self.state
        schema = self.layout.keys_of(self.before.schema)
        asserted = schema[union(state.asserted_in(schema)[0])]
        closed = self.specialised(state.facts_of(asserted))
        rest = self.layout.keys_of(self.before.schema - closed.schema)
        if len(rest):
            derived = rest[self.derivable(closed.rules, rest, state.asserted)]
            if len(derived):
                return self.specialised(state.facts_of(union(asserted, derived)))
        return closed

    def lost_with(self, after: Specialised, figures: RoundFigures, without: Ids = NONE) -> tuple[Ids, Ids]:
        """The facts that lose support as the program becomes `after`: (schema facts and unconditional ones, the heads
        over I of the removed instances (Kotowski et al. 2011)). Derivations that used a fact of `without` have been
        subtracted already."""
        removed = (self.before.schema - after.schema) | (self.before.unconditional - after.unconditional)
        lost = self.rules(instances_lost(self.before, after), self.before)
        found = self.heads_of(lost, self.state.facts, figures, without, times=-1, deleting=True)
        self.recount_instances(self.before, after, without)
        return self.layout.keys_of(removed), found
