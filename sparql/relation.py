"""Solutions as a named SQL step: which columns it has and what is known of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from triplake.sparql.constants import Constants
from triplestore.closure.expand import preferred_sql
from triplestore.dictionary.object_types import ObjectType
from triplestore.dictionary.term_rows import term_sql
from triplestore.engine.dialect import Dialect
from triplestore.expressions.columns import reference, unmarked
from triplestore.expressions.decoding import STORED, derived, parts_read
from triplestore.expressions.object_types import known_types, refined
from triplestore.expressions.staging import Staging
from triplestore.expressions.values import ERROR, Known, Value, of_known, stored
from triplestore.model.stopping import check
from triplestore.model.tables import token_sql
from triplestore.model.terms import FIRST_BLANK, FIRST_IRI, FIRST_LITERAL, FIRST_TRIPLE


@dataclass(frozen=True, slots=True)
class Column:
    """A variable's column: an id (BIGINT) or, for computed values, a token (text). nullable: it may be unbound.

    known: what is known of all terms, where they are tokens. types: those that the terms may have, where they are ids;
    None where they may be of any.

    members: what stands after FROM for the classes (term, representative) whose representatives the ids are, each for
    one solution a member (`sparql.classes`: a folded column); None where an id is just a term.
    """

    token: bool = False
    nullable: bool = False
    members: str | None = None
    known: Known | None = None
    types: frozenset[ObjectType] | None = None

    def or_else(self, other: Column) -> Column:
        """The column of values that come from this one or from another."""
        known = None if self.known is None else self.known.or_else(other.known)
        types = None if self.types is None or other.types is None else self.types | other.types
        return replace(self, known=known, types=types)

    @property
    def as_token(self) -> Column:
        """The column of the same terms as tokens."""
        return replace(self, token=True, known=known_types(self.types) if self.types else None, types=None)

    def and_also(self, other: Column) -> Column:
        """The column of values that come from this one and are in another, both of ids."""
        types = other.types if self.types is None else self.types & (self.types if other.types is None else other.types)
        return replace(self, types=types or None)


@dataclass(frozen=True, slots=True)
class Relation:
    """A step's rows: a bag of solutions.

    columns: of the variables that may be bound. weighted: column `n` says how many times each row counts. order: the
    sort keys as (column, descending), the first one foremost; empty where the rows have no order.
    """

    name: str
    columns: Mapping[str, Column]
    weighted: bool = False
    order: tuple[tuple[str, bool], ...] = ()

    def nullable(self, variable: str) -> bool:
        return variable not in self.columns or self.columns[variable].nullable

    @property
    def sorting(self) -> str:
        """The ORDER BY clause of the order, empty without one."""
        keys = (f"{key} {'DESC NULLS LAST' if down else 'ASC NULLS FIRST'}" for key, down in self.order)
        return f" ORDER BY {', '.join(keys)}" if self.order else ""


@dataclass(slots=True)
class Steps:
    """The named steps of one statement in the making, and the names in it. prefer: what the members that stand for
    their classes start with, see `triplestore.closure.expand.preferred_sql`. own: the working table (id, token) of the
    query's own terms, where they are many."""

    dialect: Dialect
    constants: Constants
    prefer: tuple[str, ...] = ()
    own: str | None = None
    done: list[tuple[str, str]] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def chosen(self, among: str) -> str:
        """The members (term, representative) that stand for the classes of some representatives, as SQL."""
        return preferred_sql(self.prefer, self.dialect, among)

    def column(self, variable: str) -> str:
        """The column name of a variable."""
        return f"v{self.numbers.setdefault(variable, len(self.numbers))}"

    def add(self, label: str, sql: str) -> str:
        """Add a step; its name."""
        check()
        name = f"{label}_{len(self.done)}"
        self.done.append((name, unmarked(sql)))
        return name

    def statement(self, sql: str) -> str:
        """The whole statement: the steps, then the SELECT."""
        if not self.done:
            return sql
        return "WITH " + ",\n".join(f"{name} AS ({text})" for name, text in self.done) + "\n" + sql

    def value(self, relation: Relation, alias: str) -> Callable[[str], Value]:
        """The values of a relation's variables, decoded columns taken from `alias`."""

        def find(variable: str) -> Value:
            column = relation.columns.get(variable)
            if column is None:
                return ERROR
            assert column.members is None, f"?{variable} is read before it is expanded"
            own = f"{alias}.{self.column(variable)}" if alias else self.column(variable)
            if column.token and column.known is not None:
                return of_known(self.dialect, own, column.known)
            value = stored(self.qualifier(variable, column, alias), column.token, own if column.token else None)
            return value if column.token or not column.types else refined(value, column.types, column.nullable)

        return find

    def qualifier(self, variable: str, column: Column, alias: str) -> Callable[[str], str]:
        name = self.column(variable)
        dot = f"{alias}." if alias else ""
        return lambda part: f"{dot}{name}" if part == "id" and not column.token else reference(f"{dot}{name}_{part}")

    def listed(self, relation: Relation, prefix: str = "", more: Sequence[str] = ()) -> str:
        """The select list that carries a relation on: its variables, count and sort keys, and more."""
        own = [f"{prefix}{self.column(name)}" for name in relation.columns]
        own += [f"{prefix}n"] * relation.weighted + [f"{prefix}{key}" for key, _ in relation.order]
        return ", ".join([*own, *more]) or "1 AS unit"

    def staged(self, relation: Relation, staging: Staging, *sql: str) -> str:
        """The relation with the term columns and staged values that some SQL reads, to stand after FROM."""
        read = staging.prune(*sql)
        return staging.source(self.dialect, self.decode(relation, read).name)

    def decode(self, relation: Relation, read: Collection[str], prefix: str = "") -> Relation:
        """The relation with the term columns of those of its variables of which some, so prefixed, are `read`."""
        joins, selected = [], []
        for name, column in relation.columns.items():
            own = self.column(name)
            parts = parts_read(f"{prefix}{own}", read)
            if not parts:
                continue
            alias, key = f"t_{own}", "token" if column.token else "id"
            source = f"({self._parsed(relation, own)})" if column.token else self._terms()
            joins.append(f"LEFT JOIN {derived(self.dialect, source, parts)} {alias} ON {alias}.{key} = x.{own}")
            selected += [f"{alias}.{part} AS {own}_{part}" for part in parts]
        if not joins:
            return relation
        listed = self.listed(relation, "x.", selected)
        return replace(relation, name=self.add("decoded", f"SELECT {listed} FROM {relation.name} x {' '.join(joins)}"))

    def _parsed(self, relation: Relation, column: str) -> str:
        """The tokens of a column cut into term columns; ids stand for kinds only."""
        others = f"WHEN '_' THEN {FIRST_BLANK} WHEN '(' THEN {FIRST_TRIPLE} ELSE {FIRST_LITERAL}"
        kind = f"CASE substr({column}, 1, 1) WHEN '<' THEN {FIRST_IRI} {others} END"
        tokens = f"(SELECT DISTINCT {column} AS token, {kind} AS id FROM {relation.name} WHERE {column} IS NOT NULL) y"
        return f"SELECT {token_sql('t')} AS token, t.* FROM ({term_sql(self.dialect, tokens)}) t"

    def _terms(self) -> str:
        """The dictionary, with the constants of this query that it lacks."""
        own = self.constants.own
        if not own:
            return "term"
        rows = self.own
        if rows is None:
            listed = ", ".join(f"({number}, {self.dialect.string(text)})" for text, number in own.items())
            rows = f"(VALUES {listed}) y(id, token)"
        extra = term_sql(self.dialect, rows)
        columns = ", ".join(f"z.{part}" for part in STORED)
        return f"(SELECT {columns} FROM term z UNION ALL SELECT {columns} FROM ({extra}) z)"

    def tokens(self, relation: Relation, variables: Sequence[str]) -> tuple[str, list[str]]:
        """(joins to the relation as x, expressions) that give the tokens of variables."""
        joins, tokens = [], []
        for name in variables:
            own = self.column(name)
            if name not in relation.columns:
                tokens.append("CAST(NULL AS STRING)")
            elif relation.columns[name].token:
                tokens.append(f"x.{own}")
            else:
                joins.append(f"LEFT JOIN {self._terms()} t_{own} ON t_{own}.id = x.{own}")
                tokens.append(f"CASE WHEN x.{own} IS NOT NULL THEN {token_sql(f't_{own}')} END")
        return " ".join(dict.fromkeys(joins)), tokens

    def values(self, relation: Relation, variables: Sequence[str]) -> list[str]:
        """Expressions (over the relation as x) for variables as they are: tokens where computed, ids elsewhere."""
        null = "CAST(NULL AS STRING)"
        return [f"x.{self.column(name)}" if name in relation.columns else null for name in variables]

    def tokenised(self, relation: Relation, names: Collection[str]) -> Relation:
        """The relation with these variables as tokens."""
        names = [name for name in names if not relation.columns[name].token]
        if not names:
            return relation
        joins, tokens = self.tokens(relation, names)
        columns = {name: relation.columns[name].as_token for name in names}
        return self.changed("tokens", relation, columns, dict(zip(names, tokens, strict=True)), joins)

    def changed(
        self, label: str, relation: Relation, columns: Mapping[str, Column], values: Mapping[str, str], joins: str
    ) -> Relation:
        """The relation with new values (SQL over the relation as x, and joins) in some columns, described again."""
        parts = [f"{values.get(n, f'x.{self.column(n)}')} AS {self.column(n)}" for n in relation.columns]
        parts += ["x.n"] * relation.weighted + [f"x.{key}" for key, _ in relation.order]
        step = self.add(label, f"SELECT {', '.join(parts) or '1 AS unit'} FROM {relation.name} x {joins}")
        return replace(relation, name=step, columns={n: columns.get(n, c) for n, c in relation.columns.items()})

    def compatible(self, a: Relation, b: Relation, name: str) -> str:
        """The condition that l and r agree on a variable, or one of them has it unbound."""
        column = self.column(name)
        if name.startswith(".outer."):  # no variable, but what one was (`sparql.exists`)
            return f"l.{column} IS NOT DISTINCT FROM r.{column}"
        unbound = [f"{alias}.{column} IS NULL" for alias, side in (("l", a), ("r", b)) if side.nullable(name)]
        equal = f"l.{column} = r.{column}"
        return f"({' OR '.join([equal, *unbound])})" if unbound else equal

    def merged(self, a: Relation, b: Relation, name: str, inner: bool) -> tuple[Column, str]:
        """A variable of a join's result: (column, SQL over l and r). inner: every row has both sides."""
        column = self.column(name)
        if name not in b.columns:
            return a.columns[name], f"l.{column}"
        if name not in a.columns:
            return replace(b.columns[name], nullable=b.columns[name].nullable or not inner), f"r.{column}"
        if not a.nullable(name):
            both = inner and not b.nullable(name) and not a.columns[name].token
            return a.columns[name].and_also(b.columns[name]) if both else a.columns[name], f"l.{column}"
        nullable = b.nullable(name) or not inner
        return replace(a.columns[name].or_else(b.columns[name]), nullable=nullable), f"coalesce(l.{column}, r.{column})"
