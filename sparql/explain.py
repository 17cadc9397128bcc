"""How a query is answered: its algebra, the SQL that it becomes, and the plan by which the engine ran that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, get_args

from triplake.sparql import algebra, paths
from triplake.sparql.algebra import Aggregate, Node
from triplake.sparql.patterns import Planned
from triplestore.engine.protocol import PlanStep
from triplestore.model.expression import Call, Constant, Exists, Variable
from triplestore.model.terms import to_ntriples

_INFIX = frozenset(["=", "!=", "<", ">", "<=", ">=", "&&", "||", "+", "-", "*", "/"])
_SHORT = 120


@dataclass(frozen=True, slots=True)
class JoinStep:
    """A triple pattern in the order of joins of its basic graph pattern. matches: of the pattern alone, rows: of the
    join up to it, both as estimated from the counts of the store."""

    pattern: str
    matches: int
    rows: int


@dataclass(frozen=True, slots=True)
class QueryExplanation:
    """A query that was run. kind: select, ask, construct or describe. algebra: of what the statement answers, see
    `tree`; order: of each basic graph pattern's joins, by its name in the statement; sql: the statement; plan: the
    engine's, None where there was nothing to ask. Repeated paths (`+`, `*`) were closed before, by a loop, and are
    tables in it."""

    kind: str
    algebra: dict[str, Any] | None
    sql: str
    plan: PlanStep | None
    order: Mapping[str, Sequence[JoinStep]] = field(default_factory=dict)

    def text(self) -> str:
        """For people: the four parts under headings."""
        shown = "\n".join(_lines(self.algebra)) if self.algebra else "nothing"
        plan = "\n".join(self.plan.lines()) if self.plan else "nothing"
        order = "\n".join(self._order_lines()) or "nothing to join"
        return (
            f"-- algebra ({self.kind})\n{shown}\n\n-- order of joins, with estimates\n{order}\n\n"
            f"-- SQL\n{self.sql}\n\n-- plan\n{plan}\n"
        )

    def _order_lines(self) -> Iterator[str]:
        for name, steps in self.order.items():
            yield name
            for number, step in enumerate(steps):
                joined = f", {step.rows:,} rows so far" if number else ""
                yield f"  {step.pattern}  ({step.matches:,} matches{joined})"

    def as_json(self) -> dict[str, Any]:
        """For programs: `kind`, `algebra`, `order` (of each basic graph pattern: pattern, matches, rows), `sql`, `plan`
        (operation, detail, rows, estimated, inputs)."""
        plan = None if self.plan is None else asdict(self.plan)
        order = {name: [asdict(step) for step in steps] for name, steps in self.order.items()}
        return {"kind": self.kind, "algebra": self.algebra, "order": order, "sql": self.sql, "plan": plan}


def order(planned: Sequence[Planned]) -> list[JoinStep]:
    """An order of joins, as it is shown."""
    return [JoinStep(_listed((step.triple,)), round(step.matches), round(step.rows)) for step in planned]


def tree(node: Node) -> dict[str, Any]:
    """An algebra expression as plain data: `operator`, and its parts by their names in `sparql.algebra`, operators as
    trees and everything else as text."""
    found: dict[str, Any] = {"operator": type(node).__name__}
    for part in (part for part in fields(node) if part.repr):
        value = getattr(node, part.name)
        found[part.name] = tree(value) if isinstance(value, get_args(Node)) else _shown(value)
    return found


def _lines(found: dict[str, Any], depth: int = 0) -> Iterator[str]:
    inline = {name: value for name, value in found.items() if not isinstance(value, dict) and name != "operator"}
    yield "  " * depth + "  ".join([found["operator"], *(f"{k}: {v}" for k, v in inline.items() if v != "")])
    for value in found.values():
        if isinstance(value, dict):
            yield from _lines(value, depth + 1)


def _shown(value: object) -> Any:
    """A part of an operator as text (numbers as they are)."""
    match value:
        case None | int():
            return value
        case str():
            return value
        case Variable(name):
            return name if name.startswith("_:") else f"?{name}"
        case Constant(token):
            return to_ntriples(token)
        case Call(name, (one, other)) if name in _INFIX:
            return f"({_shown(one)} {name} {_shown(other)})"
        case Call(name, arguments):
            return f"{name}({', '.join(str(_shown(argument)) for argument in arguments)})"
        case Exists(pattern, negated):
            inner = " ".join(line.strip() for line in _lines(tree(pattern)))  # type: ignore[arg-type]
            return f"{'NOT ' * negated}EXISTS {{ {inner} }}"
        case Aggregate(variable, function, argument, distinct, _):
            read = "*" if argument is None else _shown(argument)
            return f"{function}({'DISTINCT ' * distinct}{read}) AS ?{variable}"
        case paths.Repeat(path, zero, many):
            return f"({_shown(path)}){'*' if zero and many else '+' if many else '?'}"
        case paths.Inverse(path):
            return f"^{_shown(path)}"
        case paths.Sequence(first, second):
            return f"({_shown(first)}/{_shown(second)})"
        case paths.Alternative(one, other):
            return f"({_shown(one)}|{_shown(other)})"
        case paths.Negated(forward, backward):
            excluded = [str(_shown(iri)) for iri in forward or ()] + [f"^{_shown(iri)}" for iri in backward or ()]
            return f"!({'|'.join(excluded)})"
        case tuple():
            return _listed(value)
    raise AssertionError(value)


def _listed(items: tuple[object, ...]) -> str:
    """Triples with full stops between them; other lists with commas; long ones cut (inline data can be)."""
    if items and all(isinstance(item, tuple) and len(item) == 3 and _terms(item) for item in items):
        return " . ".join(" ".join(str(_shown(term)) for term in item) for item in items)  # type: ignore[attr-defined]
    parts = [f"({_listed(item)})" if isinstance(item, tuple) else str(_shown(item)) for item in items]
    text = ", ".join(parts)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}... ({len(items):,} in all)"


def _terms(items: tuple[object, ...]) -> bool:
    return all(isinstance(item, get_args(algebra.Term)) for item in items)
