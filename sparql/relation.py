"""Solutions as a named SQL step: which columns it has and what is known of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sparql.constants import Constants
from sparql.values import ERROR, Value, stored
from triplestore.engine.dialect import Dialect


@dataclass(frozen=True, slots=True)
class Column:
    """A variable's column: an id (BIGINT) or, for computed values, a token (text). nullable: it may be unbound."""

    token: bool = False
    nullable: bool = False


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


TERM_COLUMNS = ("lexical", "datatype", "lang", "double", "decimal", "micros")
"""The columns that decoding a variable adds, prefixed with the variable's own."""


@dataclass(slots=True)
class Steps:
    """The named steps of one statement in the making, and the names in it."""

    dialect: Dialect
    constants: Constants
    done: list[tuple[str, str]] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def column(self, variable: str) -> str:
        """The column name of a variable."""
        return f"v{self.numbers.setdefault(variable, len(self.numbers))}"

    def add(self, label: str, sql: str) -> str:
        """Add a step; its name."""
        name = f"{label}_{len(self.done)}"
        self.done.append((name, sql))
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
            return stored(self.qualifier(variable, column, alias), column.token)

        return find

    def qualifier(self, variable: str, column: Column, alias: str) -> Callable[[str], str]:
        name = self.column(variable)
        dot = f"{alias}." if alias else ""
        return lambda part: f"{dot}{name}" if part == "id" and not column.token else f"{dot}{name}_{part}"
