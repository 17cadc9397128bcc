"""Verification that NOT and AGGREGATE have read what holds in the end, where an equality may depend on them.

Strata (`triplestore.compile.strata`) then do not promise it: terms that become equal late may change what was read.
So each match of a rule with NOT or AGGREGATE is noted down when it fires, and compared with the matches in the closure
(both under pi; where equality is axiomatised, with the least of each class for its members). If they are the same,
deciding every NOT by the closure gives the closure again, and what was read first overestimates all that could ever
follow: the closure is the well-founded model, and that is total (Van Gelder 1993, the alternating fixpoint). If not,
the closure is refused. So programs are refused for data where it matters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from triplestore.compile.plan import K, Pattern, Row, Shape, Slot, V
from triplestore.compile.sql import Instances, Terms, select
from triplestore.dictionary import encoding
from triplestore.engine import Workbench
from triplestore.engine.sql import Scratch, count
from triplestore.materialise.aggregates import CLASSES, Aggregates
from triplestore.materialise.statements import instances
from triplestore.model.equality import Equality
from triplestore.model.errors import InputError
from triplestore.model.rule import Rule


class WellFoundedCheck:
    """The matches that fired: for each shape a table of its variables (v0, v1 ..) and parameters (k0 ..), in the run's
    scratch."""

    def __init__(
        self, engine: Workbench, scratch: Scratch, rules: Sequence[Rule], equality: Equality, terms: Terms
    ) -> None:
        self._scratch = scratch
        self.engine, self.rules, self.equality, self.terms = engine, rules, equality, terms
        self._tables: dict[Shape, str] = {}

    def note(self, shape: Shape, parameters: int, scans: Sequence[str], source: Instances) -> None:
        """Note down the matches of a statement. parameters: how many its instances have."""
        whole, columns = _whole(shape, parameters)
        sql = select(whole, scans, source, columns, self.terms)
        if shape in self._tables:
            self.engine.append(self._tables[shape], [sql])
        else:
            self._tables[shape] = self._scratch.table("fired")
            self.engine.create(self._tables[shape], sql)

    def verify(self, running: Mapping[Shape, Mapping[Row, str]], aggregates: Aggregates) -> None:
        """Compare with the matches in `fact`. running: the instances. Raises InputError where they differ."""
        aggregates.forget_all()
        for shape, rows in running.items():
            if not shape.negative:
                continue
            whole, columns = _whole(shape, len(next(iter(rows))))
            with self.engine.scratch() as scratch:
                selects = []
                for tables, some in aggregates.by_tables(shape, list(rows)):
                    source = instances(scratch, some)
                    scans = [tables.get(i) or _table(element) for i, element in enumerate(shape.body)]
                    selects.append(select(whole, scans, source, columns, self.terms))
                found = scratch.create("found", " UNION ".join(selects))
                final = scratch.create("final", self._normal(found, columns))
                noted = self._tables.get(shape)
                none = f"SELECT * FROM {final} WHERE 1 = 0"
                fired = scratch.create("fired", self._normal(noted, columns) if noted else none)
                for some_, others in ((fired, final), (final, fired)):
                    same = " AND ".join(f"b.{c} = a.{c}" for c in columns) or "TRUE"
                    lost = f"SELECT * FROM {some_} a WHERE NOT EXISTS (SELECT 1 FROM {others} b WHERE {same}) LIMIT 1"
                    for one in self.engine.query(lost).to_pylist():
                        row = tuple(one[c] for c in columns if c[0] == "k")
                        self._refuse(rows.get(row, ""), [one.get(f"own_{c}", one[c]) for c in columns if c[0] == "v"])
        for shape in self._tables.keys() - running.keys():
            if count(self.engine, self._tables[shape]):
                self._refuse("", [])

    def _normal(self, table: str, columns: Sequence[str]) -> str:
        """A table of matches, under pi, and as they were (own_v0 ..)."""
        pi = CLASSES if self.equality == Equality.AXIOMS else "same_as"
        listed = ", ".join(f"coalesce(e_{c}.representative, f.{c}) AS {c}, f.{c} AS own_{c}" for c in columns)
        joins = "".join(f" LEFT JOIN {pi} e_{c} ON e_{c}.term = f.{c}" for c in columns)
        return f"SELECT DISTINCT {listed} FROM {table} f{joins}"

    def _refuse(self, name: str, ids: Sequence[int]) -> None:
        rule = next((rule for rule in self.rules if rule.name == name), None)
        tokens = encoding.decode(self.engine, set(ids))
        match = f" (for {', '.join(tokens[i] for i in ids)})" if ids else ""
        raise InputError(
            f"rule {name or '(one of them)'}: an equality that follows changes what its NOT or AGGREGATE had read"
            f"{match}: the rules have no meaning together for these facts, or one that needs an order of steps\n"
            "break the circle: let the equality depend on other facts, or take out one of the rules, or the facts",
            rule.source if rule else None,
            rule.line if rule else None,
        )


def _whole(shape: Shape, parameters: int) -> tuple[Shape, list[str]]:
    """The shape with all its variables and parameters as output, and names for them."""
    slots: list[Slot] = [slot for element in shape.body for slot in element.slots if isinstance(slot, V)]
    output = (*dict.fromkeys(slots), *(K(number) for number in range(parameters)))
    return replace(shape, output=output), [f"{'v' if isinstance(s, V) else 'k'}{s.number}" for s in output]


def _table(element: object) -> str:
    return "fact" if isinstance(element, Pattern) else "occurs"
