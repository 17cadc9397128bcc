"""The slice of a closure that can take part in a proof: rule instances, found backwards from a goal, set at a time.

All of it is normalised: ids are representatives. An equality within the class of c is the fact (c, owl:sameAs, c), and
every fact that mentions c may need it. Facts that need no more than what is known already are not expanded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Final

from triplestore.compile.backward import Backward, Body, BodyMatch, Known, Place, Triple
from triplestore.compile.plan import K, Pattern, Row, Shape, V
from triplestore.compile.schema import Fact, SchemaFacts
from triplestore.compile.sql import select
from triplestore.compile.thresholds import THRESHOLDS
from triplestore.engine.sql import Scratch
from triplestore.materialise.statements import instances, triples_table
from triplestore.model.equality import Equality
from triplestore.model.rule import Aggregate, Var
from triplestore.model.terms import SAME_AS
from triplestore.proof.computed import Computed, Source

GROWTH: Final = 32
"""How many times as many derivations are fetched where those that were are too few."""

ALL: Final = 1 << 40
"""More than there are of any rule instance."""


@dataclass(slots=True, eq=False)
class Instance:
    """A rule with all variables bound, to normalised ids. `premises` are its body's atoms, in their order."""

    body: Body
    head: Fact | None
    binding: dict[str, int]
    premises: tuple[Fact, ...]


@dataclass(slots=True)
class Entry:
    """A fact of the slice: the instances that derive it, and how far it was expanded."""

    instances: list[Instance] = field(default_factory=list)
    expanded: bool = False
    computed: bool = False  # by all instances of rules that are no plain joins
    sampled: bool = False
    """Whether some rule instance may have more derivations than were fetched, or the term more mentions."""
    mentions: list[Fact] = field(default_factory=list)
    """For x sameAs x where x is in no asserted triple: facts that mention it."""


Wanted = dict[Shape, dict[Row, list[tuple[Fact | None, BodyMatch]]]]
"""Matches to look for: shape -> parameters -> what asks for them (None: an inconsistency)."""


class Slice:
    """Grows from goals backwards. classes: representative -> members, of the classes met. asserted: fact -> asserted
    triples (own ids) that normalise to it."""

    def __init__(self, source: Source, sample: int = THRESHOLDS.ways) -> None:
        self.source = source
        self.entries: dict[Fact, Entry] = {}
        self.classes: dict[int, list[int]] = {}
        self.asserted: dict[Fact, list[Fact]] = {}
        self.falsum = Entry()  # instances of rules whose head is false
        self.occurring: set[int] = set()  # terms in asserted triples, of those that some instance needs to occur
        self.anything: int | None = None  # a term that occurs
        self._reflexive: set[int] = set()  # terms (normalised) of which an instance reads `x owl:sameAs x`
        self._settled: set[int] = set()  # those of them whose occurrences are known
        self._representative: dict[int, int] = {}  # of the members of the classes met
        self._met: set[int] = set()  # ids looked up in the classes
        self._pending: list[Fact] = []  # entries whose asserted triples are not fetched yet
        self._keys: set[tuple[object, ...]] = set()
        self._asserted_sets: dict[Fact, set[Fact]] = {}
        self._sample = sample
        self._scratch = Scratch(source.engine)
        self._met.update(source.named)
        self._add_classes(source.named_classes)
        congruent = source.same_as is not None
        self.backward = Backward(source.rules, source.schema, source.own_constants, self.normal, congruent)

    # -- ids -------------------------------------------------------------------------------------------------------

    def normal(self, term: int) -> int:
        """The representative of a term that was met."""
        return self._representative.get(term, term)

    def normal_fact(self, triple: Fact) -> Fact:
        """The normal form of a triple of terms that were met; equalities in a class are one fact."""
        s, p, o = (self.normal(t) for t in triple)
        return s, p, o

    def classes_of(self, fact: Fact) -> list[Fact]:
        """The equalities that a fact may need: those of the classes that it mentions."""
        return [(t, SAME_AS, t) for t in dict.fromkeys(fact) if t in self.classes and fact != (t, SAME_AS, t)]

    def meet(self, ids: Iterable[int]) -> None:
        """Fetch the classes of ids not met before (representatives, or constants of rules)."""
        fresh = sorted({*ids} - self._met)
        self._met.update(fresh)
        if fresh:
            self._add_classes(self.source.classes_of(fresh))

    def _add_classes(self, members: Iterable[tuple[int, int]]) -> None:
        for term, representative in members:
            if term not in self._representative:
                self._representative[term] = representative
                self.classes.setdefault(representative, []).append(term)

    def asserted_set(self, fact: Fact) -> set[Fact]:
        """The asserted triples that a fact stands for."""
        if fact not in self._asserted_sets:
            self._asserted_sets[fact] = set(self.asserted.get(fact, ()))
        return self._asserted_sets[fact]

    # -- growing ---------------------------------------------------------------------------------------------------

    def want(self, facts: Iterable[Fact]) -> None:
        """Add facts of the closure, with the equalities that they may need."""
        for fact in facts:
            if fact not in self.entries:
                self.entries[fact] = Entry()
                self._pending.append(fact)

    def settle(self) -> None:
        """Fetch what is asserted of the facts added, and the classes that they mention."""
        while self._pending:
            fresh, self._pending = self._pending, []
            self.meet(t for fact in fresh for t in fact)
            for fact in fresh:
                self.want(self.classes_of(fact))
            self._fetch_asserted(fresh)
            if self.source.same_as is not None:
                self._fetch_occurring([s for s, p, _ in fresh if p == SAME_AS and s not in self.classes])
        asked = sorted(self._reflexive - self._settled)
        self._settled.update(asked)
        self._fetch_occurring([member for named in asked for member in self.classes.get(named, ())])
        if self._pending:
            self.settle()

    def expand(self, facts: Sequence[Fact]) -> None:
        """Add the instances that derive the facts."""
        wanted: Wanted = {}
        for fact in facts:
            entry = self.entries[fact]
            entry.expanded = True
            entry.sampled = False
            if entry.mentions:
                self._fetch_mentions(fact)
            self._request(fact, self.backward.deriving(fact), wanted)
        self._run(wanted)
        self.settle()

    def widen(self, facts: Sequence[Fact]) -> None:
        """Fetch more derivations of facts of which only some were."""
        self._sample *= GROWTH
        self.expand(facts)

    def compute(self, facts: Sequence[Fact]) -> bool:
        """Add the instances of rules that are no plain joins that derive the facts, more of them where those that were
        added before are too few; whether there are new ones."""
        before, cut = len(self._keys), True
        while cut and len(self._keys) == before:
            cut = self._compute(facts)
            self._sample *= GROWTH if cut else 1
        return len(self._keys) > before

    def _compute(self, facts: Sequence[Fact]) -> bool:
        """Add `_sample` of these instances for each fact and rule; whether there may be more."""
        wanted, left = Wanted(), [fact for fact in facts if not self.entries[fact].computed]
        for fact in left:
            self.entries[fact].computed = True
            alike = [self.classes.get(term, [term]) for term in fact]
            for place in self.backward.evaluated(fact):
                rows = self._evaluate(fact, place, alike, self._sample, wanted)
                self.entries[fact].computed &= rows < self._sample
        self._run(wanted)
        self.settle()
        return not all(self.entries[fact].computed for fact in left)

    def _evaluate(
        self, fact: Fact | None, place: Place, alike: Sequence[Sequence[int]], most: int, wanted: Wanted
    ) -> int:
        """Request the instances of such a rule that `Computed.deriving` finds; how many."""
        rows = list(self._computed.deriving(*place[2:], alike, most))
        for found in rows:
            self.meet(chain(*found.atoms, found.grouped.values()))
            atoms = [self.normal_fact(triple) for triple in found.atoms]
            made = found.head, found.seen, found.grouped
            self._request(fact, self.backward.instance(place, fact, atoms, *made), wanted)
        return len(rows)

    @cached_property
    def _computed(self) -> Computed:
        source = self.source
        if source.equality == Equality.AXIOMS:  # `fact` has every name; this slice is of its classes
            schema = source.own_constants.vocabulary.condition
            facts = self.source.engine.rows(f"SELECT s, p, o FROM fact WHERE {schema}")
            return Computed(source, SchemaFacts(facts), lambda term: term)
        return Computed(source, source.schema, self.normal)

    def _with_members(self, match: BodyMatch) -> BodyMatch:
        """The match with what its aggregates were made of among its atoms."""
        atoms, binding = list(match.body.atoms), dict(match.binding)
        for element in match.body.rule.body:
            if not isinstance(element, Aggregate) or any(key.name not in binding for key in element.keys):
                continue
            found = self._computed.members(element, match.binding)
            self.meet(term for triple, _ in found for term in triple)
            keys = {key.name for key in element.keys}
            for triple, asked in dict.fromkeys((self.normal_fact(triple), atom) for triple, atom in found):
                terms: list[Known] = []
                for number, place in zip(triple, asked.terms, strict=True):
                    if isinstance(place, Var) and place.name in keys:
                        terms.append(place.name)
                    elif number in self.classes:  # what is one in the end is counted once: any of its names will do
                        terms.append(f"{len(atoms)} {len(terms)}")
                        binding[f"{len(atoms)} {len(terms) - 1}"] = number
                    else:
                        terms.append(number)
                atoms.append((terms[0], terms[1], terms[2]))
        return replace(match, body=replace(match.body, atoms=tuple(atoms)), binding=binding)

    def violation(self, rule: str, facts: Sequence[Fact]) -> None:
        """Add the instances by which facts at fault violate a rule; one of each rule that is no plain join."""
        wanted: Wanted = {}
        named = list(map(self.normal_fact, facts))
        self._request(None, self.backward.violating(rule, named), wanted)
        alike = [self.classes.get(term, [term]) for fact in named for term in fact]
        for place in self.backward.constraints(rule):
            self._evaluate(None, place, alike, 1, wanted)
        self._run(wanted)
        self.settle()

    def _request(
        self,
        fact: Fact | None,
        found: Iterable[BodyMatch],
        wanted: Wanted,
    ) -> None:
        for plain in found:
            match = plain if plain.body.rule.monotone else self._with_members(plain)
            if match.shape is None:
                self._add(fact, match, {})
            else:
                wanted.setdefault(match.shape, {}).setdefault(match.row, []).append((fact, match))

    def _run(self, wanted: Wanted) -> None:
        """Match the shapes in the closure: one statement."""
        shapes = list(wanted)
        if not shapes:
            return
        selects = [self._select(number, shape, list(wanted[shape])) for number, shape in enumerate(shapes)]
        found = self.source.engine.rows(" UNION ALL ".join(selects) + " ORDER BY shape, leaf, ids")
        self._scratch.clear()
        counts: dict[tuple[int, Row], int] = {}
        leaves: set[tuple[int, Row]] = set()
        for number, ids, leaf in found:
            shape = shapes[number]
            width = len(next(iter(wanted[shape])))
            row, values = tuple(ids[:width]), ids[width:]
            counts[number, row] = counts.get((number, row), 0) + 1
            if leaf == 0:
                leaves.add((number, row))
            for fact, match in wanted[shape][row]:
                self._add(fact, match, dict(zip(match.names, values, strict=True)))
        for (number, row), rows in counts.items():
            if rows >= self._sample:
                for fact, _ in wanted[shapes[number]][row]:
                    if fact is not None and ((number, row) not in leaves or self.classes):
                        self.entries[fact].sampled = True

    def _select(self, number: int, shape: Shape, rows: Sequence[Row]) -> str:
        """The matches of a shape: at most `_sample` per row, those whose facts are all asserted first."""
        engine = self.source.engine
        given = instances(self._scratch, rows)
        variables = sorted({s.number for e in shape.body for s in e.slots if isinstance(s, V)})
        parameters = range(len(rows[0]))
        found = Shape(shape.body, (), (*(K(i) for i in parameters), *(V(i) for i in variables)))
        names = [*(f"k{i}" for i in parameters), *(f"v{i}" for i in variables)]
        inner = select(found, [self.source.fact] * len(shape.body), given, names)
        ids = engine.dialect.array(names)
        if not variables:
            return f"SELECT {number} AS shape, {ids} AS ids, 0 AS leaf FROM ({inner}) b"
        joins, flags = [], []
        for i, element in enumerate(shape.body):
            assert isinstance(element, Pattern)
            columns = [f"b.{'v' if isinstance(slot, V) else 'k'}{slot.number}" for slot in element.slots]
            same = " AND ".join(f"a{i}.{c} = {column}" for c, column in zip("spo", columns, strict=True))
            joins.append(f"LEFT JOIN {self.source.given} a{i} ON {same}")
            flags.append(f"a{i}.s IS NOT NULL")
        partition = ", ".join(f"k{i}" for i in parameters)
        order = ", ".join(f"v{i}" for i in variables)
        flagged = (
            f"SELECT b.*, CASE WHEN {' AND '.join(flags)} THEN 0 ELSE 1 END AS leaf FROM ({inner}) b {' '.join(joins)}"
        )
        over = f"{'PARTITION BY ' + partition if partition else ''} ORDER BY leaf, {order}"
        return (
            f"SELECT {number} AS shape, {ids} AS ids, leaf FROM "
            f"(SELECT *, row_number() OVER ({over}) AS n FROM ({flagged}) f) w WHERE n <= {self._sample}"
        )

    def _add(self, fact: Fact | None, match: BodyMatch, values: Mapping[str, int]) -> None:
        """Add a match as an instance: for a variable that may be any term, with each of `_any_terms`."""
        binding = {**match.binding, **values}
        named = {name for atom in match.body.atoms for name in atom if isinstance(name, str)}
        unbound = named.union(*match.same) - binding.keys()
        for anything in self._any_terms() if unbound else [0]:
            same = {name: binding.get(target, anything) for name, target in match.same}
            self._add_bound(fact, match, {**dict.fromkeys(unbound, anything), **binding, **same})

    def _add_bound(self, fact: Fact | None, match: BodyMatch, binding: dict[str, int]) -> None:
        if any(not self._may_differ(pair, binding) for pair in match.body.unequal):
            return
        if any(self._value(a, binding) != self._value(b, binding) for a, b in match.body.equal):
            return
        premises = tuple(self._ground(atom, binding) for atom in match.body.atoms)
        if fact in premises and not any(t in self.classes for t in fact or ()):
            return
        body = match.body
        key = (id(body.rule), fact, body.head, body.atoms, body.seen, tuple(sorted(binding.items())))
        if key in self._keys:
            return
        self._keys.add(key)
        entry = self.falsum if fact is None else self.entries[fact]
        entry.instances.append(Instance(match.body, fact, binding, premises))
        self.want(premises)
        if self.source.same_as is not None:
            self._reflexive.update(p[0] for p in premises if p[1] == SAME_AS)

    def _any_terms(self) -> list[int]:
        """Terms for a variable that may be any: one that occurs. Where owl:sameAs equals other properties, a triple of
        these is an equality in the end, but one like any other until then: terms of such triples too."""
        found = [self._any_term()]
        if names := [term for term in self.classes.get(self.normal(SAME_AS), ()) if term != SAME_AS]:
            listed = ", ".join(map(str, names))
            triples = " UNION ALL ".join(
                f"SELECT s, o FROM {table} WHERE p IN ({listed})" for table in ("fact", self.source.given)
            )
            terms = f"SELECT s AS term FROM ({triples}) f UNION SELECT o FROM ({triples}) f"
            rows = self.source.engine.rows(f"SELECT term FROM ({terms}) t ORDER BY term LIMIT {self._sample}")
            self.meet(term for (term,) in rows)
            found += [self.normal(term) for (term,) in rows]
        return list(dict.fromkeys(found))

    def _any_term(self) -> int:
        """A term that occurs."""
        if self.anything is None:
            ((found,),) = self.source.engine.rows(f"SELECT min(p) AS p FROM {self.source.given}")
            self.anything = SAME_AS if found is None else int(found)
            self.meet([self.anything])
        return self.normal(self.anything)

    def _may_differ(self, pair: tuple[Known, Known], binding: Mapping[str, int]) -> bool:
        left, right = (self._value(term, binding) for term in pair)
        if left != right:
            return True
        self.meet([left])
        return left in self.classes

    def _value(self, term: Known, binding: Mapping[str, int]) -> int:
        return binding[term] if isinstance(term, str) else self.normal(term)

    def _ground(self, atom: Triple, binding: Mapping[str, int]) -> Fact:
        s, p, o = (self._value(t, binding) for t in atom)
        return s, p, o

    # -- reading ---------------------------------------------------------------------------------------------------

    def _fetch_asserted(self, facts: Sequence[Fact]) -> None:
        with self.source.engine.scratch() as scratch:
            sql = self._asserted_sql(scratch, scratch.load("wanted", triples_table(facts)), facts)
            found = self.source.engine.rows(sql + " ORDER BY a.s, a.p, a.o")
        for triple in found:
            self.asserted.setdefault(self.normal_fact(triple), []).append(triple)

    def _asserted_sql(self, scratch: Scratch, wanted: str, facts: Sequence[Fact]) -> str:
        """The asserted triples that facts, which are in table `wanted`, stand for."""
        if not any(t in self.classes for fact in facts for t in fact):
            same = " AND ".join(f"a.{c} = w.{c}" for c in "spo")
            return f"SELECT a.s, a.p, a.o FROM {self.source.given} a JOIN {wanted} w ON {same}"
        members = {t: t for fact in facts for t in fact}
        members.update({m: t for t in list(members) for m in self.classes.get(t, ())})
        table = scratch.load("member", triples_table([(term, rep, 0) for term, rep in members.items()]))
        joins = " ".join(f"JOIN {table} n{c} ON n{c}.s = a.{c}" for c in "spo")
        same = " AND ".join(f"n{c}.p = w.{c}" for c in "spo")
        exists = f"SELECT 1 FROM {wanted} w WHERE {same}"
        return f"SELECT a.s, a.p, a.o FROM {self.source.given} a {joins} WHERE EXISTS ({exists})"

    def _fetch_occurring(self, terms: Sequence[int]) -> None:
        """Which terms that are one with no other occur in asserted triples; for others, facts that mention them.
        owl:sameAs occurs in what eq-ref says of any asserted triple."""
        if not terms:
            return
        listed = ", ".join(map(str, sorted(terms)))
        places = " UNION ALL ".join(
            f"SELECT {c} AS term FROM {self.source.given} WHERE {c} IN ({listed})" for c in "spo"
        )
        if SAME_AS in terms:
            places += f" UNION ALL SELECT CAST({SAME_AS} AS BIGINT) AS term FROM {self.source.given}"
        found = {term for (term,) in self.source.engine.rows(f"SELECT DISTINCT term FROM ({places}) t")}
        self.occurring |= found
        for term in sorted({self.normal(term) for term in set(terms) - found}):
            self._fetch_mentions((term, SAME_AS, term))

    def _fetch_mentions(self, equality: Fact) -> None:
        """Facts by which the term of x sameAs x occurs."""
        where = " OR ".join(f"{c} = {equality[0]}" for c in "spo")
        facts = self.source.engine.rows(
            f"SELECT s, p, o FROM {self.source.fact} WHERE {where} ORDER BY s, p, o LIMIT {self._sample}"
        )
        self.entries[equality].mentions = facts
        self.entries[equality].sampled = len(facts) == self._sample
        self.want(facts)
