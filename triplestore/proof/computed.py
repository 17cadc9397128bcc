"""Rules with NOT, AGGREGATE or expressions, read backwards: the instances that derive a fact, found over the closure.

A plain rule is a join of patterns and can be read backwards in parts. Of these rules the whole body is evaluated, as
the reasoner does it, with the triples of its atoms as output besides the head; of the rows that have the fact as their
head each is an instance. What an aggregate was made of are premises too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from triplestore.compile.inline import bound_by
from triplestore.compile.plan import Grouped, Made, Occurs, Row, Shape
from triplestore.compile.schema import Constants, Fact, SchemaFacts, Vocabulary
from triplestore.compile.specialise import Specialiser
from triplestore.compile.sql import Terms, select
from triplestore.dictionary import encoding
from triplestore.dictionary.literals import equal_to
from triplestore.engine import Engine
from triplestore.engine.sql import Scratch
from triplestore.materialise.aggregates import Aggregates
from triplestore.materialise.mint import Mint
from triplestore.materialise.statements import instances
from triplestore.model.equality import Equality
from triplestore.model.rule import Aggregate, Atom, Rule, Span, SpanEnd, Var, constants_of
from triplestore.model.tables import EQUAL_VALUED, token_sql
from triplestore.model.terms import BUILTIN_IDS, SAME_AS
from triplestore.proof.conditions import grounded
from triplestore.storage.manifest import Counters

_OCCURRING: Final = (
    "(SELECT s AS term FROM fact UNION SELECT p FROM fact UNION SELECT o FROM fact "
    f"UNION SELECT CAST({SAME_AS} AS BIGINT) WHERE EXISTS (SELECT 1 FROM fact))"
)


class _Known(Mint):
    """Ids for tokens that the dictionary has; rows with others fall away."""

    def __init__(self, engine: Engine, by_value: bool) -> None:
        super().__init__(engine, Counters(equal_valued=1) if by_value else Counters(), by_value)

    def encode(self, scratch: Scratch, tokens: str) -> str:
        token = token_sql("t")
        return scratch.create("dictionary", f"SELECT x.token, t.id FROM ({tokens}) x JOIN term t ON {token} = x.token")


@dataclass(frozen=True)
class Source:
    """The closure to explain: names of working tables (or views) of its normalised facts, of its classes (None:
    owl:sameAs is a property like any other), and of what it rests on, besides `asserted`, `fact` and `term`.

    by_value: what it rests on are the asserted triples with literals by value, and types of literals.
    """

    engine: Engine
    fact: str
    same_as: str | None
    rules: tuple[Rule, ...]
    constants: Constants
    given: str = "asserted"
    by_value: bool = False
    equality: Equality = Equality.REWRITE

    @cached_property
    def own_constants(self) -> Constants:
        """The constants of the rules and of the vocabulary, by the dictionary's own ids."""
        return Constants({**BUILTIN_IDS, **self.constants}, self.constants.equal)

    @cached_property
    def named(self) -> list[int]:
        """The ids of the terms that the rules name, and of owl:sameAs."""
        own = self.own_constants
        used = {own[t] for r in self.rules for t in constants_of(r) if t in own}
        return sorted(used | {i for ids in own.equal.values() for i in ids} | {SAME_AS})

    @cached_property
    def named_classes(self) -> list[tuple[int, int]]:
        """The classes of these terms: (member, representative), sorted by member."""
        return self.classes_of(self.named)

    @cached_property
    def schema(self) -> SchemaFacts:
        """The schema part of the normalised facts."""
        representatives = dict(self.named_classes)
        condition = Vocabulary.under(lambda term: representatives.get(term, term)).condition
        return SchemaFacts(self.engine.rows(f"SELECT s, p, o FROM {self.fact} WHERE {condition}"))

    def classes_of(self, terms: Iterable[int]) -> list[tuple[int, int]]:
        """The classes of some terms: (member, representative), sorted by member; none where equality is off."""
        if self.same_as is None:
            return []
        listed = ", ".join(map(str, terms))
        return self.engine.rows(
            f"SELECT m.term, m.representative FROM {self.same_as} m WHERE m.representative IN "
            f"(SELECT k.representative FROM {self.same_as} k WHERE k.term IN ({listed})) ORDER BY m.term"
        )


@dataclass(frozen=True, slots=True)
class Found:
    """One row of a rule: the head as it was made (None: false), the triples of its atoms (none where they have spans),
    the terms that expressions saw of variables, and the keys and results of its aggregates."""

    head: Fact | None
    atoms: tuple[Fact, ...]
    seen: Mapping[str, int]
    grouped: Mapping[str, int]


class Computed:
    """The rules of a store that are no plain joins. schema, and `normal` (id -> representative): of `fact` as it is."""

    def __init__(self, source: Source, schema: SchemaFacts, normal: Callable[[int], int]) -> None:
        self.engine, self._equality, self._by_value = source.engine, source.equality, source.by_value
        self._schema = schema
        self._own = source.own_constants
        self._constants = self._own.under(normal)
        self._terms = Terms(self.engine.dialect, self._own)
        from triplestore.expressions.vectorised import register  # slow to import, and few rules call

        register(self.engine)  # what expressions may call
        known = _Known(self.engine, self._by_value)
        self._scratch = Scratch(self.engine)
        self._aggregates = Aggregates(self.engine, self.engine.scratch(), self._equality, self._terms, known)

    def deriving(self, rule: Rule, head: Atom | None, alike: Sequence[Sequence[int]], most: int) -> Iterator[Found]:
        """The rows of a rule whose head is a fact, or (no head) whose atoms are facts at fault: all, if they are less
        than `most`. alike: for each place of the facts the ids that it may have."""
        one = replace(rule, heads=() if head is None else (head,))
        program = Specialiser([one], self._equality, evidence=True).program(self._schema, self._constants)
        constraints = ((shape, rows) for (_, shape), rows in program.constraints.items())
        for shape, rows in (*program.instances.items(), *constraints):
            yield from self._found(one, shape, list(rows), alike, most)

    def members(self, group: Aggregate, values: Mapping[str, int]) -> list[tuple[Fact, Atom]]:
        """The facts that the atoms of an aggregate match, each with its atom, the keys being `values`."""
        keys = {key.name: values[key.name] for key in group.keys if key.name in values}
        tokens = encoding.decode(self.engine, keys.values())
        named = {name: tokens[i] for name, i in keys.items()}
        body = tuple(grounded(part, named) for part in group.body)
        constants = Constants({**self._constants, **{named[n]: i for n, i in keys.items()}}, self._constants.equal)
        rule = Rule("", (), body)
        program = Specialiser([rule], self._equality).program(self._schema, constants)
        atoms = [part for part in group.body if isinstance(part, Atom)]
        found: dict[tuple[Fact, Atom], None] = {}
        for (_, shape), rows in program.constraints.items():
            names = [f"e{i}" for i in range(len(shape.output))]
            given = instances(self._scratch, list(rows))
            terms = Terms(self.engine.dialect, {**self._own, **constants})
            scans = [_OCCURRING if isinstance(e, Occurs) else "fact" for e in shape.body]
            sql = select(shape, scans, given, names, terms, _OCCURRING)
            for row in self.engine.rows(
                f"SELECT DISTINCT {', '.join(names)} FROM ({sql}) m ORDER BY {', '.join(names)}"
            ):
                triples = _triples(row)
                if self._equality == Equality.OFF or all(p != SAME_AS for _, p, _ in triples):  # which count nothing
                    found.update(dict.fromkeys(zip(triples, atoms, strict=True)))
        return list(found)

    def _found(
        self, rule: Rule, shape: Shape, rows: Sequence[Row], alike: Sequence[Sequence[int]], most: int
    ) -> Iterator[Found]:
        names = [f"e{i}" for i in range(len(shape.output))]
        wheres = [
            f"{name} IN ({', '.join(map(self.engine.dialect.string, self._tokens(ids)))})"
            if isinstance(column, Made)
            else f"{name} IN ({', '.join(map(str, ids))})"
            for name, column, ids in zip(names, shape.output, alike, strict=False)
        ]
        grouped = [t for e in rule.body if isinstance(e, Aggregate) for t in bound_by(e)]
        first, last = 3 * len(rule.heads), len(names) - len(grouped)  # the columns of the atoms
        if not rule.heads and last != len(alike):
            return  # of another rule of that name, or of lists of another length
        atoms = [e for e in rule.body if isinstance(e, Atom)]
        spans = any(isinstance(t, Span | SpanEnd) for atom in atoms for t in atom.terms)
        terms = [] if spans else [t for atom in atoms for t in atom.terms]
        made = [place for place, column in enumerate(shape.output) if isinstance(column, Made)]
        for tables, some in self._aggregates.by_tables(shape, rows):
            scans = [
                tables[i] if isinstance(e, Grouped) else _OCCURRING if isinstance(e, Occurs) else "fact"
                for i, e in enumerate(shape.body)
            ]
            sql = select(shape, scans, instances(self._scratch, some), names, self._terms, _OCCURRING)
            listed = ", ".join(names) or "one"
            found = self.engine.rows(
                f"SELECT DISTINCT {listed} FROM ({sql}) m WHERE {' AND '.join(wheres) or 'TRUE'} "
                f"ORDER BY {listed} LIMIT {most}"
            )
            self._scratch.clear()
            ids = self._ids({str(row[place]) for row in found for place in made})
            for row in found:
                own = [
                    ids[str(value)] if place in made else int(value) for place, value in enumerate(row[: len(names)])
                ]
                yield Found(
                    (own[0], own[1], own[2]) if rule.heads else None,
                    _triples(own[first:last]) if terms else (),
                    {t.name: own[n] for n, t in enumerate(terms, first) if n in made and isinstance(t, Var)},
                    {t.name: i for t, i in zip(grouped, own[last:], strict=True) if isinstance(t, Var)},
                )

    def _ids(self, tokens: Collection[str]) -> dict[str, int]:
        """The ids of tokens; with literals by value, those that stand for their values."""
        literals = [token for token in tokens if token[0] == '"'] if self._by_value else []
        return {**encoding.lookup(self.engine, tokens), **equal_to(self.engine, literals)}

    def _tokens(self, ids: Sequence[int]) -> list[str]:
        """The tokens of ids; with literals by value, all those of their values."""
        several = list(ids)
        if self._by_value:
            listed = ", ".join(map(str, ids))
            several += [
                int(i) for (i,) in self.engine.rows(f"SELECT v.id FROM {EQUAL_VALUED} v WHERE v.value IN ({listed})")
            ]
        return sorted(encoding.decode(self.engine, several).values())


def _triples(row: Sequence[int | str]) -> tuple[Fact, ...]:
    ids = [int(i) for i in row]
    return tuple((ids[i], ids[i + 1], ids[i + 2]) for i in range(0, len(ids), 3))
