"""Expressions and aggregates over bindings in memory: the engine evaluates them, as it does in materialisation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Final

import numpy as np
import pyarrow as pa

from triplestore.compile.plan import Group
from triplestore.compile.sql import Terms
from triplestore.engine import Workbench
from triplestore.engine.arrow import as_numpy, int64s
from triplestore.engine.sets import combinations
from triplestore.expressions import Expressions, token
from triplestore.expressions.columns import unmarked
from triplestore.expressions.decoding import decoded, decoded_value
from triplestore.expressions.staging import Staging
from triplestore.expressions.vectorised import register
from triplestore.maintain.keys import Ids, Mask
from triplestore.maintain.remembered import ERROR, Remembered, What
from triplestore.materialise.aggregates import tabulated
from triplestore.materialise.mint import Mint
from triplestore.model.expression import Expression, Variable
from triplestore.model.rule import Rule
from triplestore.model.terms import BUILTIN_IDS, XSD, literal_token
from triplestore.model.thresholds import SIZES

INTEGER: Final = XSD + "integer"


class Evaluator:
    """Evaluates for one run. constants: ids of the rules' constants. mint: numbers what is made. remembered: what
    evaluators before this one found. prepare: makes the view `term` of all terms, and working table `new_term`."""

    def __init__(
        self,
        engine: Workbench,
        constants: Mapping[str, int],
        mint: Mint,
        remembered: Remembered,
        prepare: Callable[[], None],
    ) -> None:
        self.engine, self.mint = engine, mint
        self._terms = Terms(engine.dialect, {**BUILTIN_IDS, **constants})
        self._remembered, self._prepare, self._prepared = remembered, prepare, False
        self._making = 0  # rounds in which terms were made that were not there

    # -- expressions -----------------------------------------------------------------------------------------------

    def holds(self, expression: Expression, columns: Sequence[Ids], rows: int) -> Mask:
        """For which rows an expression is true, errors being false. columns: the ids of its variables "0", "1" .."""

        def evaluate(table: str, names: Sequence[str]) -> Iterable[tuple[int, int]]:
            sql = self._selected(table, names, expression, "holds")
            return ((row, 1) for row in as_numpy(self.engine.query(sql).column(0)).tolist())

        found: Mask = self._each(("holds", expression), columns, rows, evaluate) != ERROR
        return found

    def made(self, expression: Expression, columns: Sequence[Ids], rows: int) -> Ids:
        """The ids of what an expression makes, in the form that facts have of a literal; ERROR where there is none."""

        def evaluate(table: str, names: Sequence[str]) -> Iterable[tuple[int, int]]:
            found = self.engine.query(self._selected(table, names, expression, "made"))
            return zip(as_numpy(found.column(0)).tolist(), self._ids(found.column(1).to_pylist()), strict=True)

        return self._each(("made", expression), columns, rows, evaluate)

    def keys(self, expression: Expression, columns: Sequence[Ids], rows: int) -> Ids:
        """Numbers that values of an expression have in common where they are equal, and seldom else: of their
        `triplestore.expressions.compare.equality_key`; ERROR where there is no value."""

        def evaluate(table: str, names: Sequence[str]) -> Iterable[tuple[int, int]]:
            found = self.engine.query(self._selected(table, names, expression, "key"))
            digests = (
                blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8) for key in found.column(1).to_pylist()
            )
            return zip(as_numpy(found.column(0)).tolist(), (int(d.hexdigest(), 16) >> 1 for d in digests), strict=True)

        return self._each(("key", expression), columns, rows, evaluate)

    def _ids(self, tokens: Sequence[str]) -> Sequence[int]:
        """The ids of tokens; those that the dictionary lacks are new terms."""
        ids = self._remembered.ids
        if len(ids) > SIZES.one_thread:
            ids.clear()
        if unknown := {*tokens} - ids.keys():
            ids.update(self.mint.ids(unknown))
        return [ids[token] for token in tokens]

    def _each(
        self,
        key: tuple[What, Expression],
        columns: Sequence[Ids],
        rows: int,
        evaluate: Callable[[str, Sequence[str]], Iterable[tuple[int, int]]],
    ) -> Ids:
        """The value of each row: each combination of terms is evaluated once, and remembered."""
        if not columns:
            columns = [np.zeros(rows, dtype=np.int64)]
        distinct, back = combinations(columns)
        asked = list(zip(*(column[distinct].tolist() for column in columns), strict=True))
        known = self._remembered.of(*key, len(asked))
        unknown = [terms for terms in asked if terms not in known]
        if unknown:
            self._ready()
            with self.engine.scratch() as scratch:
                names = [f"c{i}" for i in range(len(columns))]
                arrays = [int64s(range(len(unknown))), *(int64s(column) for column in zip(*unknown, strict=True))]
                table = scratch.load("bound", pa.table(dict(zip(["number", *names], arrays, strict=True))))
                found = dict(evaluate(table, names))
            known.update((terms, found.get(row, ERROR)) for row, terms in enumerate(unknown))
        values = np.fromiter((known[terms] for terms in asked), np.int64, len(asked))
        return values[back]

    def _selected(self, table: str, names: Sequence[str], expression: Expression, what: What) -> str:
        """SELECT of the rows for which an expression is true, or of rows and tokens or keys of what it makes."""

        dialect, staging = self._terms.dialect, Staging()
        expressions = Expressions(dialect, self._terms.ids, decoded_value, staging.stage)
        if what == "holds":
            columns, where = "y.number", expressions.condition(expression)
        else:
            made = expressions.key(expression) if what == "key" else token(expressions.value(expression))
            made = expressions.keep(made)
            columns, where = f"y.number, {made} AS made", f"({made}) IS NOT NULL"
        source = staging.source(dialect, decoded(dialect, table, ["number"], names, staging.prune(columns, where)))
        return unmarked(f"SELECT {columns} FROM {source} y WHERE {where}")

    # -- aggregates ------------------------------------------------------------------------------------------------

    def results(self, group: Group, groups: Ids, matches: Ids) -> tuple[Ids, Ids]:
        """(groups that have one, their results as ids, a row each). groups: of each of the matches, which are rows of
        ids, distinct, a column for each variable of the group."""
        self._ready()
        if all(r.function == "COUNT" and isinstance(r.argument, Variable | None) for r in group.results):
            return self._counts(group, groups, matches)
        with self.engine.scratch() as scratch:
            columns = {f"c{i}": matches[:, i] for i in range(matches.shape[1])}
            matched = scratch.load("matched", pa.table({"number": groups, **columns}))
            names, sql = tabulated(group, matched, ["number"], self._terms)
            found = self.engine.query(sql)
        tokens = [token for i in range(len(names)) for token in found.column(1 + i).to_pylist()]
        ids = np.array(self._ids(tokens), dtype=np.int64).reshape(len(names), -1)
        return as_numpy(found.column(0)), ids.T

    def _counts(self, group: Group, groups: Ids, matches: Ids) -> tuple[Ids, Ids]:
        """`results` that count matches, or the terms that they have of a variable."""
        found = np.unique(groups)
        counts = []
        for result in group.results:
            counted = groups
            if result.distinct and isinstance(result.argument, Variable):
                pairs = np.column_stack((groups, matches[:, int(result.argument.name)]))
                counted = np.unique(pairs, axis=0)[:, 0]
            counts.append(np.bincount(np.searchsorted(found, counted), minlength=len(found)))
        tokens = [literal_token(str(number), INTEGER) for column in counts for number in column.tolist()]
        return found, np.array(self._ids(tokens), dtype=np.int64).reshape(len(counts), -1).T

    # -- terms that are made -----------------------------------------------------------------------------------------

    def check_limits(self, before: int, rules: Iterable[Rule]) -> None:
        """After a round: whether the rules, which make terms, may go on. before: `Mint.made` before it. Raises
        EndlessError."""
        if self.mint.made > before:
            self._making += 1
            self.mint.limits.check(self.mint.made, self._making, rules)

    def special(self) -> tuple[dict[int, int], list[int]]:
        """Of the literals that were made: those that have the value of another one, with it, and the ill-typed ones."""
        rows = self.engine.query("SELECT id, value, ill_typed FROM new_term WHERE value IS NOT NULL OR ill_typed")
        found = [tuple(row.values()) for row in rows.to_pylist()]
        values = {number: value for number, value, _ in found if value is not None} if self.mint.by_value else {}
        return values, [number for number, _, ill_typed in found if ill_typed]

    def _ready(self) -> None:
        if not self._prepared:
            self._prepare()
            register(self.engine)  # what expressions may call
            self._prepared = True
