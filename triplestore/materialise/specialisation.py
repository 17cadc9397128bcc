"""The program of a run under way: rules specialised by the schema of the closure, brought up to date each round.

What is made of a schema is in `triplestore.compile.specialise`, which part of the schema is in memory in
`triplestore.materialise.ontology`, which of the negative instances run when in `triplestore.materialise.stages`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from triplestore.compile.plan import Grouped
from triplestore.compile.program import Program
from triplestore.compile.schema import Constants, Fact, SchemaFacts
from triplestore.compile.unify import SAME_AS_TOKEN
from triplestore.dictionary import encoding
from triplestore.engine.sql import count
from triplestore.materialise.aggregates import Aggregates
from triplestore.materialise.datatypes import Datatypes, Names, asked, joined, representatives, types_sql
from triplestore.materialise.facts import Facts
from triplestore.materialise.ontology import Ontology
from triplestore.materialise.same_as import normalised
from triplestore.materialise.stages import Instances, Stages, both
from triplestore.model.equality import Equality
from triplestore.model.errors import InputError
from triplestore.model.rule import Rule, Var
from triplestore.model.terms import BUILTIN_IDS, FIRST_LITERAL, SAME_AS, TYPE, to_ntriples
from triplestore.model.thresholds import SIZES


class Specialisation:
    """The program, and what it is made of.

    constants: of the rules, under pi. later: what holds without condition, for this round to derive. datatypes: those
    of which the literals that are instances are in `fact` are kept in `typed`.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        constants: Constants,
        facts: Facts,
        stages: Stages,
        aggregates: Aggregates,
        datatypes: Datatypes | None,
        many: int,
    ) -> None:
        self.engine, self.equality, self.facts = facts.engine, facts.equality, facts
        self.stages, self.aggregates, self.datatypes = stages, aggregates, datatypes
        self.constants = Constants({**BUILTIN_IDS, **constants}, constants.equal)
        most = sys.maxsize if any(rule.negative for rule in rules) else many
        self.ontology = Ontology(self.engine, rules, self.equality, most)
        self.program = Program()
        self.later: list[Fact] = []
        self.typed: set[int] = set()
        self.stale = True  # whether schema and program must be made again
        self._starting: Instances = {}  # instances whose stage begins with the next round
        self._grown = False  # whether classes have grown since the last round
        self._issued: set[Fact] = set()  # what was in `later` before
        self._datatypes: Names = {}  # the datatypes by the ids that `fact` has for them

    @property
    def unsettled(self) -> bool:
        """Whether the next round has more to look at than the delta: rules to be specialised again, or instances that
        see classes that have grown."""
        seeing = self._grown and any(shape.sees_parameters for shape in self.program.instances)
        return self.stale or seeing or bool(self._starting)

    def refresh(self) -> Instances:
        """Bring schema and program up to date with the delta (which was summarised); the instances that are new. What
        now holds without condition is left in `later`."""
        facts = self.facts
        self.later = []
        self.stale = self.ontology.note(facts.sizes, self.constants) or self.stale
        predicates = self.constants.vocabulary.predicates
        touched = self.stale or any(p == TYPE or p in predicates for p, _ in facts.sizes)
        starting, self._starting = both(self._starting, self._reading_grown()), {}
        if self.stale:
            self.ontology.facts = SchemaFacts()
            self._normalise_constants()
        new_schema = self.ontology.read("delta", self.constants) if touched else []
        if not (self.stale or new_schema):
            if self.ontology.specialiser.large and self._add_types(("delta",)):
                facts.summarise()
            self._new_groups(starting)
            return starting
        if self.stale and facts.old:
            new_schema += self.ontology.read("fact", self.constants)
        self.stale = False
        derived, others = self.ontology.close(new_schema, ("delta", "fact"), self.constants)
        before, self.program = self.program, self.ontology.program(self.constants)
        if derived:
            facts.extend(derived)
        types = self._add_types(("delta", "fact"))
        if derived or types:
            facts.summarise()
        self.later = sorted({*others, *self.program.facts} - self._issued)
        self._issued.update(self.later)
        fresh = self.program.minus(before)
        self.stages.check(self.program, self.constants, fresh, {*self.later, *derived}, new_schema)
        fresh = self.stages.running(fresh)
        self._new_groups(starting)
        return both(fresh, starting)

    def check_lists(self) -> None:
        """At a fixpoint under rewriting: raise InputError where an equality closes a list that rules read. What they
        derived by the list as it was would stay, and they would not derive it again."""
        closed = self.ontology.facts.closed
        if not closed or self.equality != Equality.REWRITE:
            return
        among = ", ".join(map(str, sorted(closed)))
        equal = f"same_as WHERE representative IN ({among}) AND term <> representative"
        if found := self.engine.rows(f"SELECT representative, term FROM {equal} ORDER BY representative, term LIMIT 1"):
            tokens = encoding.decode(self.engine, set(found[0]))
            node, other = (to_ntriples(tokens[number]) for number in found[0])
            raise InputError(
                f"{node} equals {other}, which closes a list that rules read: it leads back to one of its nodes, or on "
                "from its end\nmend the list, or what makes the two equal; or take equality axioms, which reads such "
                "lists node by node"
            )

    def begin_stage(self) -> bool:
        """At a fixpoint: let the next negative instances run; whether there are any."""
        self._starting = self.stages.advance(self.program, self.constants)
        return bool(self._starting)

    def restore(self) -> None:
        """Make the program of the closure that is in `fact`."""
        self._normalise_constants()
        self.ontology.note_stored(self.constants)
        self.ontology.facts = SchemaFacts(self.ontology.read("fact", self.constants))
        self.program = self.ontology.program(self.constants)
        self._issued = set(self.program.facts)
        if self.datatypes is not None:
            self.typed = self._asked(("fact",))
        self.stale = False
        if self.program.negative:
            self.stages.enter_all(self.program, self.constants)
        if self.program.uses_occurs:
            self.facts.occur()

    def held(self) -> set[Fact]:
        """What holds as long as the schema does, and is none of it."""
        return {*self.program.facts, *self.ontology.others(self.constants)}

    def find_identities(self) -> None:
        """After `restore`: have what says `x owl:sameAs x` say it again, since that is stored nowhere."""
        if self.equality == Equality.OFF:
            return
        names = f"SELECT term FROM same_as WHERE representative = {SAME_AS}"
        self.facts.begin_identities(
            f"SELECT DISTINCT s AS term FROM given WHERE s = o AND (p = {SAME_AS} OR p IN ({names}))"
        )
        rest = self.program.without_identities()
        heads = (head for rule in self.ontology.specialiser.schema_rules for head in rule.heads)
        if rest != self.program or any(isinstance(head.p, Var) or head.p == SAME_AS_TOKEN for head in heads):
            self.program, self.stale = rest, True
            self._issued = set(rest.facts)

    def merged(self, table: str) -> None:
        """Take note of the terms in a working table (see `same_as.merge`), which others represent from now on."""
        self._grown = True
        self.stale = self.stale or self._touches_rules(table)

    def types_of(self, literals: str) -> str:
        """The types asked for of literals in `literals` (like TERM), as SQL."""
        return types_sql(self.engine.dialect, self.typed, self._datatypes, literals)

    def types_made(self, before: int) -> str:
        """The same of the literals that rules made: those after the first `before` of all."""
        return self.types_of(f"(SELECT * FROM new_term WHERE id >= {FIRST_LITERAL + before}) n")

    def _touches_rules(self, merged: str) -> bool:
        """Whether a lost representative is one of the schema's terms or the rules' constants."""
        if count(self.engine, merged) > SIZES.small:
            return True
        lost = set(self.facts.column(f"SELECT term FROM {merged}"))
        equal = (i for ids in self.constants.equal.values() for i in ids)
        used = {*self.constants.values(), *equal, *(x for fact in self.ontology.facts.facts for x in fact)}
        return not lost.isdisjoint(used)

    def _add_types(self, tables: Sequence[str]) -> int:
        """Add to the delta the literals of the datatypes that the program now asks for, by itself or by facts of
        the tables that it joins; facts added."""
        if self.datatypes is None:
            return 0
        fresh = self._asked(tables) - self.typed
        self.typed |= fresh
        types = types_sql(self.engine.dialect, fresh, self._datatypes)
        if fresh and self.equality == Equality.REWRITE and count(self.engine, f"same_as WHERE term >= {FIRST_LITERAL}"):
            types = normalised(f"({types})", "same_as")
        typed = self.facts.scratch.table("typed")
        added = self.facts.extend_by(types, typed) if fresh else 0
        if added:
            self.facts.late.append(typed)
        return added

    def _asked(self, tables: Sequence[str]) -> set[int]:
        self._datatypes = representatives(self.engine, self.equality)
        found = asked(self.program, self._datatypes)
        if self.ontology.specialiser.large and (sql := joined(self.program, tables, self._datatypes)):
            found |= set(self.facts.column(sql))
        return found

    def _reading_grown(self) -> Instances:
        """After a merge: the instances that read their parameters, whose classes may have grown."""
        if not self._grown:
            return {}
        self._grown = False
        return self.stages.running({s: rows for s, rows in self.program.instances.items() if s.sees_parameters})

    def _new_groups(self, instances: Instances) -> None:
        """Have the aggregates that these instances read made again."""
        for shape, rows in instances.items():
            for element in shape.body:
                if isinstance(element, Grouped):
                    for row in rows:
                        self.aggregates.forget(element, row)

    def _normalise_constants(self) -> None:
        """Put the rules' constants under pi."""
        if self.equality != Equality.REWRITE:
            return
        equal = self.constants.equal
        listed = ", ".join(map(str, sorted({*self.constants.values(), *(i for ids in equal.values() for i in ids)})))
        pi = self.engine.query(f"SELECT term, representative FROM same_as WHERE term IN ({listed})").to_pydict()
        now = dict(zip(pi["term"], pi["representative"], strict=True))
        if now:
            self.constants = Constants(
                {t: now.get(i, i) for t, i in self.constants.items()},
                {t: sorted({now.get(i, i) for i in ids}) for t, ids in equal.items()},
            )
