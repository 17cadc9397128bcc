"""B/F with rewriting, set at a time (Motik, Nenov, Piro and Horrocks 2015, "Combining Rewriting and Incremental
Materialisation Maintenance for Datalog Programs with Equality"), for facts and axioms.

Facts that may be lost are *doubted* (D). Before a doubted fact casts doubt on its consequences it is *checked* (C): the
facts that could derive it are found backwards in I, and those of them that still follow from the asserted facts are
*proved* (P), forwards. The names and letters are the paper's. Departures:

* Sets, not facts: a round checks all of D's frontier at once. A backward search looks at a few derivations of each fact
  first, at all of them only where those proved nothing (the paper stops at the first proof, depth first).
* `c sameAs c` is not stored: the token of class c stands for "all of c's members are equal".
* If no change can reach an equality (dependency graph), classes are taken as they are; and a fact that no change can
  reach is proved without looking.
* Where the rules themselves may change under a proof (schema derived from doubted data, equal schema terms), proofs
  could rest on themselves: DRed does those.
"""

from __future__ import annotations

import numpy as np

from triplestore.compile.dependency import Node, fact_node
from triplestore.maintain.classes import Map, Partition
from triplestore.maintain.context import FEW, MaintenanceContext
from triplestore.maintain.dred import dred
from triplestore.maintain.extend import extend
from triplestore.maintain.keys import NONE, Ids, Mask, distinct, member, minus, union
from triplestore.maintain.program import equality_reached
from triplestore.maintain.relation import Relation
from triplestore.materialise.figures import RoundFigures
from triplestore.model.equality import Equality

NAME = "backward-forward"


def backward_forward(run: MaintenanceContext) -> str:
    """Bring the closure up to date with the asserted facts that were removed and added; returns the algorithm's
    name."""
    state = run.state
    if len(state.minus) or run.rules_changed:
        with run.phase("doubt"):
            doubted = seeds(run)
        search = None if doubted is None else Search(run, *doubted)
        if search is None or (run.program.rules.expressive and not search.intact):
            run.program = run.before
            dred(run)
            may = "the rules may change with the data" if search is None else "expressions see classes that may split"
            return f"{NAME}, by DRed since {may}"
        search.delete()
        with run.phase("apply"):
            search.apply()
    with run.phase("insert"):
        run.deletion_done()
        extend(run, state.plus)
    return NAME


def seeds(run: MaintenanceContext) -> tuple[Ids, set[Node] | None] | None:
    """(heads that lost a derivation, nodes that the change can reach; None: any). None if proofs could rest on
    themselves; else `run.program` is the program without the removed facts."""
    state = run.state
    removed = state.normalised(state.minus)
    nodes = run.before.reach({fact_node(p, o) for _, p, o in state.facts_of(removed)})
    if len(state.schema_of(removed)) or run.rules_changed or _reaches_schema(run, nodes):
        if run.before.tied:
            return None
        after = run.grounded()
        lost = run.layout.keys_of(run.before.schema - after.schema)
        if run.derivable(run.before.rules, lost, state.facts).any():
            return None
        if after is not run.before:
            with run.round(len(removed)) as figures:
                removed = union(removed, *run.lost_with(after, figures))
            run.program = after
            nodes = run.before.reach({fact_node(p, o) for _, p, o in state.facts_of(removed)})
    if not state.classes.none and equality_reached(nodes) and state.equality == Equality.REWRITE:
        terms = run.layout.encode(run.before.terms)
        if state.classes.large(state.classes.normalise(terms)).any():
            return None
    return removed, nodes


def _reaches_schema(run: MaintenanceContext, nodes: set[Node] | None) -> bool:
    """Whether the change can reach a schema fact."""
    return nodes is None or not nodes.isdisjoint(run.before.nodes)


class Search:
    """The sets of the paper: D, O, C, P, Y, S, and gamma. `rules` are those that proofs are searched for by."""

    def __init__(self, run: MaintenanceContext, removed: Ids, nodes: set[Node] | None) -> None:
        self.run, self.state, self.removed, self.nodes = run, run.state, removed, nodes
        self.rules = run.program.rules
        self.intact = run.state.classes.none or not equality_reached(nodes) or run.state.equality != Equality.REWRITE
        self.gamma = Partition()  # unless classes are intact: then pi
        self.doubted, self.processed, self.checked, self.disproved = NONE, NONE, NONE, NONE  # D, O, C, S
        self.doubted_classes, self.broken, self.checked_classes = NONE, NONE, NONE
        self.proved = Relation(run.layout)  # P
        self.delayed = NONE  # Y
        self.expanded, self.expanded_classes = NONE, NONE  # what has had all that derives it added to C
        self.held = union(run.program.held, self._bodiless())

    @property
    def map(self) -> Map:
        return self.state.classes if self.intact else self.gamma

    def _bodiless(self) -> Ids:
        """What instances derive whose bodies are all schema: no proof of an atom leads to them."""
        run, instances = self.run, self.run.program.program.instances
        some = {shape: rows for shape, rows in instances.items() if not shape.body and not shape.negative}
        return union(run.heads_of(run.rules(some), self.state.facts, RoundFigures(0)))

    # -- Algorithm 1 -------------------------------------------------------------------------------------------------

    def delete(self) -> None:
        """Lines 3-16: check the doubted facts, cast doubt on the consequences of those not proved, until none is
        new."""
        run = self.run
        found, classes = self._doubts(self.removed)
        facts, waiting = run.sampled(found, 0, unforeseen=True)
        while len(facts) or len(classes):
            self.doubted = union(self.doubted, facts)
            self.doubted_classes = union(self.doubted_classes, classes)
            with run.round(len(facts)) as figures:
                with run.phase("check"):
                    self._check(facts, classes, figures)
                bad = facts[~self._wholly(facts)]
                broken = classes[~self._intact(classes)]
                with run.phase("doubt"):
                    heads = run.forward(run.program.rules, bad, self.state.facts, self.processed, figures)
                    self.processed = union(self.processed, bad)
                    self.broken = union(self.broken, broken)
                    facts, classes = self._doubts(heads)
                    if len(broken):
                        mentioning = self.state.mentioning(broken)
                        figures.derivations += len(mentioning)
                        facts = union(facts, minus(mentioning, self.doubted))
            if not len(facts) and not len(classes) and len(waiting):
                run.budget.rest()
                facts, waiting = minus(waiting, self.doubted), NONE
        self._note()

    def _note(self) -> None:
        """The figures of the search."""
        figures = self.run.figures
        figures.doubted, figures.checked, figures.proved = len(self.doubted), len(self.checked), len(self.proved)
        for name in ("doubted", "checked", "proved", "delayed", "disproved"):
            self.run.note(name, getattr(self, name))

    def _doubts(self, heads: Ids) -> tuple[Ids, Ids]:
        """The facts of I and the classes that heads cast doubt on, those doubted before left out."""
        facts, _ = self.run.sorted_heads(heads)
        facts = minus(facts, self.doubted)
        tokens = NONE if self.intact else minus(self.run.tokens(heads), self.doubted_classes)
        return facts[self.state.facts.contains(facts)], tokens

    def apply(self) -> None:
        """Algorithm 2: change I and pi by the proofs."""
        run, state = self.run, self.state
        proved = self.proved.keys
        images = self._normal(proved)
        back = proved[member(images, self.doubted)]
        for representative in self.broken.tolist():
            members = np.array(state.classes.of(representative), dtype=np.int64)
            named = self.gamma.normalise(members)
            state.classes.part(representative, [members[named == n].tolist() for n in np.unique(named)])
            run.dirty.update(members.tolist())
        state.remove(self.doubted)  # also the wholly proved: their terms change where a class splits
        state.add(state.normalised(back))

    # -- Algorithm 4 -------------------------------------------------------------------------------------------------

    def _check(self, facts: Ids, classes: Ids, figures: RoundFigures) -> None:
        """Prove these facts and classes as far as possible."""
        run = self.run
        self._consider(facts, classes, figures)
        for most in FEW:
            seen, seen_classes = self.expanded, self.expanded_classes
            while True:
                run.afford(len(self.checked) + len(self.checked_classes))
                if self._wholly(facts).all() and self._intact(classes).all():
                    return
                open_ = minus(self.checked, seen)
                open_ = open_[~self._wholly(open_)]
                tokens = minus(self.checked_classes, seen_classes)
                tokens = tokens[~self._intact(tokens)]
                if not len(open_) and not len(tokens):
                    break
                bodies, cut, cut_tokens = self._expand(open_, tokens, most)
                seen, seen_classes = union(seen, open_), union(seen_classes, tokens)
                self.expanded = union(self.expanded, open_[~cut])
                self.expanded_classes = union(self.expanded_classes, tokens[~cut_tokens])
                mentioned = NONE if self.intact else self.state.large_in(open_)
                self._consider(minus(bodies, self.checked), minus(mentioned, self.checked_classes), figures)
        # All that could prove something has been looked at: what has no image now has none at all (line 7).
        rest = minus(self.checked, self.disproved)
        self.disproved = union(self.disproved, rest[~self._partly(rest)])

    def _expand(self, facts: Ids, classes: Ids, most: int) -> tuple[Ids, Mask, Mask]:
        """Lines 32-34: the facts that derive these, but for disproved ones."""
        same = np.full(len(classes), self.state.same_as, dtype=np.int64)
        asked = np.concatenate((facts, self.run.layout.keys(classes, same, classes)))
        order = np.argsort(asked)
        bodies, _, cut = self.run.backward(self.rules, asked[order], self.state.facts, self._useless, most)
        unsorted = np.empty_like(cut)
        unsorted[order] = cut
        return bodies, unsorted[: len(facts)], unsorted[len(facts) :]

    @property
    def _useless(self) -> Ids:
        """Facts that prove nothing."""
        return self.disproved

    # -- Algorithm 5 -------------------------------------------------------------------------------------------------

    def _consider(self, facts: Ids, classes: Ids, figures: RoundFigures) -> None:
        """Add to C, and saturate (lines 36-50)."""
        self.checked = union(self.checked, facts)
        self.checked_classes = union(self.checked_classes, classes)
        seeds = [facts[member(facts, self.held)], self._given(facts)]
        if self.intact and self.nodes is not None and len(facts):
            seeds.append(facts[self._unreachable(facts)])
        waiting = self._accepted(self.delayed)
        seeds.append(self.delayed[waiting])
        self.delayed = self.delayed[~waiting]
        if len(classes):
            s, o = self.state.asserted_equalities(classes)
            same = np.full(len(s), self.state.same_as, dtype=np.int64)
            seeds.append(self.run.layout.keys(s, same, o))
        delta = self._prove(union(*seeds))
        while len(delta):
            heads = self.run.forward(self.rules, delta, self.proved, NONE, figures, self.map)
            heads = union(heads)
            accepted = self._accepted(heads)
            self.delayed = union(self.delayed, heads[~accepted])
            delta = self._prove(heads[accepted])

    def _given(self, facts: Ids) -> Ids:
        """The triples, in their own terms, that hold without a search."""
        return self.state.asserted_in(facts)[1]

    def _prove(self, keys: Ids) -> Ids:
        """Add to P, merging equal terms (Algorithm 6); returns new and changed facts."""
        keys = self._under_gamma(keys)
        _, equalities = self.run.sorted_heads(keys)
        changed = NONE
        if len(equalities) and not self.intact:
            s, _, o = self.run.layout.unpack(equalities)
            lost = self.gamma.merge(zip(s.tolist(), o.tolist(), strict=True))
            terms = np.array(sorted(lost), dtype=np.int64)
            if self.run.program.program.uses_inequality:
                terms = union(terms, self.gamma.normalise(terms))
            changed = self._mention_proved(terms)
            self.proved.remove(changed)
        facts = self.run.sorted_heads(self._under_gamma(union(keys, changed)))[0]
        return self.proved.add(facts)

    def _mention_proved(self, terms: Ids) -> Ids:
        keys = self.proved.keys
        s, p, o = self.run.layout.unpack(keys)
        return keys[member(s, terms) | member(p, terms) | member(o, terms)]

    def _accepted(self, heads: Ids) -> Mask:
        """Algorithm 7: which heads stand for checked facts, or are equalities of checked classes."""
        if not len(heads):
            return np.zeros(0, dtype=np.bool_)
        if self.intact:
            return member(heads, self.checked)
        normal = self._normal(heads)
        accepted = member(normal, self.checked)
        s, p, o = self.run.layout.unpack(normal)
        equal: Mask = (p == self.state.same_as) & (s == o) & member(s, self.checked_classes)
        return accepted | equal

    def _unreachable(self, facts: Ids) -> Mask:
        nodes = self.nodes
        assert nodes is not None
        return np.array([fact_node(p, o) not in nodes for _, p, o in self.state.facts_of(facts)], dtype=np.bool_)

    # -- proved facts ------------------------------------------------------------------------------------------------

    def _under_gamma(self, keys: Ids) -> Ids:
        return self.state.normalised(keys, self.map)

    def _normal(self, keys: Ids) -> Ids:
        """Keys under pi, one for one."""
        s, p, o = self.run.layout.unpack(keys)
        classes = self.state.classes
        return self.run.layout.keys(classes.normalise(s), classes.normalise(p), classes.normalise(o))

    def _images(self, facts: Ids) -> tuple[Ids, Ids]:
        """(position, image) of the images under gamma of all triples that each fact stands for."""
        if self.intact:
            return np.arange(len(facts), dtype=np.int64), facts
        classes, layout = self.state.classes, self.run.layout
        rows = np.arange(len(facts), dtype=np.int64)
        s, p, o = layout.unpack(facts)
        more, s = self._named(classes.expand(s))
        rows, p, o = rows[more], p[more], o[more]
        more, p = self._named(classes.expand(p))
        rows, s, o = rows[more], s[more], o[more]
        more, o = self._named(classes.expand(o))
        return rows[more], layout.keys(s[more], p[more], o)

    def _named(self, expanded: tuple[Ids, Ids]) -> tuple[Ids, Ids]:
        """Members under gamma, each once for its row."""
        rows, members = expanded
        bits = self.run.layout.bits
        pairs = distinct((rows << bits) | self.gamma.normalise(members))
        return pairs >> bits, pairs & ((1 << bits) - 1)

    def _wholly(self, facts: Ids) -> Mask:
        """allProved: every image is in P."""
        rows, images = self._images(facts)
        found: Mask = np.bincount(rows[~self.proved.contains(images)], minlength=len(facts)) == 0
        return found

    def _partly(self, facts: Ids) -> Mask:
        """not allDisproved: some image is in P."""
        rows, images = self._images(facts)
        found: Mask = np.bincount(rows[self.proved.contains(images)], minlength=len(facts)) > 0
        return found

    def _intact(self, classes: Ids) -> Mask:
        """Which classes are proved: all their members are one under gamma."""
        if self.intact or not len(classes):
            return np.ones(len(classes), dtype=np.bool_)
        rows, _ = self._named(self.state.classes.expand(classes))
        found: Mask = np.bincount(rows, minlength=len(classes)) == 1
        return found
