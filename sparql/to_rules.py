"""CONSTRUCT queries as rules: the triples of the template hold for every solution of the pattern.

A pattern becomes one rule body for each way through its UNIONs. FILTER, BIND, NOT EXISTS and MINUS, EXISTS, and
sub-SELECTs with GROUP BY have their counterparts in rules; what has none (OPTIONAL, VALUES, repeated paths, LIMIT ..)
is refused with its place. Two differences stay, and are those of all rules: equal resources are matched and counted
once in NOT and AGGREGATE, and a number in a triple pattern matches every number of its value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Final, NoReturn

from triplake.rulesets.safety import fault
from triplake.sparql.algebra import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    GraphPattern,
    Group,
    Join,
    Kept,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    PathPattern,
    Project,
    Query,
    Service,
    Slice,
    Union,
    Values,
    conjuncts,
    in_scope,
    pattern_of,
)
from triplake.sparql.cursor import Cursor, place, words
from triplake.sparql.parser import Parser, not_too_deep
from triplake.sparql.triple_terms import PARTS
from triplestore.compile.inline import bound_by, substituted
from triplestore.model.errors import InputError, UnsupportedError, UsageError
from triplestore.model.expression import Call, Constant, Exists, Expression, Variable, variables_of, walk
from triplestore.model.rule import Aggregate, Atom, Bind, BodyElement, Holds, Not, Result, Rule, Term, Var

Body = tuple[BodyElement, ...]
Scope = dict[str, str]
"""The variables of one scope of the query -> those of the rule."""

_AGGREGATES: Final = ("COUNT", "SUM", "MIN", "MAX", "AVG")


def rules_of_query(text: str, source: str, check: Callable[[Call], str] | None = None) -> tuple[Rule, ...]:
    """The rules that a CONSTRUCT query says, all called after the file `source`.

    check: says why a call of a function has no place in a rule, or nothing (`triplestore.compile.check`).
    Raises InputError (file, line, column) for what is no query, no CONSTRUCT query, or says more than rules do.
    """
    try:
        with not_too_deep("query"):
            query = Parser(Cursor(text, source=source)).query()
    except UnsupportedError as error:
        raise InputError(str(error)) from error
    except UsageError as error:
        raise InputError(str(error), source) from error
    return _Translator(text, source, check).rules(query)


class _Translator:
    """Patterns to bodies. Variables of inner scopes are renamed apart."""

    def __init__(self, text: str, source: str, check: Callable[[Call], str] | None) -> None:
        self.text, self.source, self.check = text, source, check
        self._taken: set[str] = set()
        self._around: set[str] = set()  # what is bound around an EXISTS: filters in it read that too
        self._counting = False  # whether matches are those of an aggregate, which counts what only EXISTS would name

    def rules(self, query: Query) -> tuple[Rule, ...]:
        if query.kind != "construct":
            self.refuse(f"a rule is a CONSTRUCT query: this is {query.kind.upper()}", query.kind.upper())
        if query.dataset is not None:
            self.refuse("FROM has no place in a rule, which sees the default graph", "FROM")
        assert query.pattern is not None
        self._check(query)
        known = set(in_scope(query.pattern))
        for term in (term for triple in query.template for term in triple):
            if isinstance(term, Variable) and term.name.startswith("_:"):
                self.refuse("a rule makes no blank nodes: BIND an IRI, as in BIND(IRI(CONCAT(..)) AS ?x)", "[", "_:")
            if isinstance(term, Variable) and term.name not in known:
                self.refuse(f"?{term.name} of the template is bound by nothing in WHERE", f"?{term.name}")
        scope: Scope = {}
        self._taken = {name for name in known if not name.startswith(("_:", "."))}
        alternatives = self.bodies(query.pattern, scope)
        heads = [Atom(*(self._term(term, scope) for term in triple)) for triple in query.template]
        name = re.sub(r"\s", "_", Path(self.source).stem)
        line = self._place("CONSTRUCT")[0]
        found = [
            Rule(name, tuple(some), body, self.source, line)
            for alternative in alternatives
            for body, some in _by_need(alternative, heads)
        ]
        for rule in found:
            if reason := fault(rule):
                raise InputError(f"rule {name}: {reason}", self.source, line)
        return tuple(dict.fromkeys(found))

    # -- patterns -------------------------------------------------------------------------------------------------

    def bodies(self, node: Node, scope: Scope) -> list[Body]:
        """One body for each way through the pattern's UNIONs."""
        match node:
            case Bgp(triples):
                return [tuple(Atom(*(self._term(term, scope) for term in triple)) for triple in triples)]
            case Join(left, right):
                return _joined(self.bodies(left, scope), self.bodies(right, scope))
            case Union(left, right):
                return self.bodies(left, scope) + self.bodies(right, scope)
            case Filter(pattern, condition):
                found = self.bodies(pattern, scope)
                for part in conjuncts(condition):
                    found = [more for body in found for more in self._filtered(body, part, scope)]
                return found
            case Extend(pattern, variable, Variable(name)) if name.startswith(".agg") and name not in scope:
                scope[name] = self._name(variable, scope)
                return self.bodies(pattern, scope)
            case Extend(pattern, variable, expression):
                return [self._extended(body, variable, expression, scope) for body in self.bodies(pattern, scope)]
            case Minus(left, right):
                return [self._without(body, right, scope) for body in self.bodies(left, scope)]
            case Project(pattern, variables):
                inner = {name: self._name(name, scope) for name in variables}
                inner |= {name: self._fresh(name) for name in in_scope(pattern) if name not in inner}
                return self.bodies(pattern, inner)
            case Distinct(Project(pattern, variables)) if self._counting and not {*in_scope(pattern)} <= {*variables}:
                self.refuse("DISTINCT in an aggregate takes two rules: one query for each", "DISTINCT")
            case Distinct(pattern) | OrderBy(pattern):
                return self.bodies(pattern, scope)
            case Group():
                return [(self._aggregate(node, scope),)]
            case GraphPattern():
                self.refuse("GRAPH has no place in a rule, which sees the default graph", "GRAPH")
            case Service():
                self.refuse("SERVICE has no place in a rule, which sees this store alone", "SERVICE")
            case LeftJoin():
                self.refuse("OPTIONAL has no counterpart in rules: write one query for each case", "OPTIONAL")
            case Kept():
                raise AssertionError(node)  # no text has it
            case Values():
                self.refuse("VALUES has no counterpart in rules: write one query for each row", "VALUES")
            case Slice():
                self.refuse("a rule holds for all solutions, not for some of them", "LIMIT", "OFFSET")
            case PathPattern():
                self.refuse("a repeated path has no counterpart in rules: derive it by rules of its own", "*", "+", "?")

    def _filtered(self, body: Body, condition: Expression, scope: Scope) -> list[Body]:
        if isinstance(condition, Exists):
            pattern = pattern_of(condition)
            groups = self._inside(pattern, body, scope, self._around | _bound(body))
            if not condition.negated:
                if self._counting:
                    self.refuse("EXISTS in an aggregate takes two rules: one query for each", "EXISTS")
                return [body + group for group in groups]
            return [(*body, *(self._not(group, "EXISTS") for group in groups))]
        if any(isinstance(part, Exists) for part in walk(condition)):
            self.refuse("EXISTS stands by itself in a FILTER, or beside &&", "EXISTS")
        return [(*body, Holds(self._expression(condition, body, scope)))]

    def _extended(self, body: Body, variable: str, expression: Expression, scope: Scope) -> Body:
        if any(isinstance(part, Exists) for part in walk(expression)):
            self.refuse("EXISTS stands by itself in a FILTER, or beside &&", "EXISTS")
        return (*body, Bind(self._expression(expression, body, scope), Var(self._name(variable, scope))))

    def _without(self, body: Body, right: Node, scope: Scope) -> Body:
        groups = self._inside(right, body, scope, set())
        groups = [group for group in groups if not _bound(body).isdisjoint(_bound(group))]
        return (*body, *(self._not(group, "MINUS") for group in groups))

    def _inside(self, pattern: Node, body: Body, scope: Scope, around: set[str]) -> list[Body]:
        """The bodies inside a NOT: variables bound around it are shared, others its own. around: what filters read."""
        bound = _bound(body) | self._around
        shared = {name: own for name, own in scope.items() if own in bound}
        before, self._around = self._around, around
        inner = shared | {name: self._fresh(name) for name in in_scope(pattern) if name not in shared}
        found = self.bodies(pattern, inner)
        self._around = before
        return found

    def _not(self, group: Body, word: str) -> Not:
        plain = tuple(element for element in group if isinstance(element, Atom | Holds))
        if len(plain) < len(group):
            self.refuse(f"{word} holds triple patterns and FILTERs in a rule, no more", word)
        if not any(isinstance(element, Atom) for element in plain):
            self.refuse(f"{word} without a triple pattern has no counterpart in rules", word)
        return Not(plain)

    def _aggregate(self, group: Group, scope: Scope) -> Aggregate:
        for made in group.aggregates:
            if made.function not in _AGGREGATES:
                self.refuse(
                    f"{made.function} is none of the aggregates of rules: {', '.join(_AGGREGATES)}", made.function
                )
        if not group.keys:
            word = next((a.function for a in group.aggregates), "SELECT")
            self.refuse("without GROUP BY there is a result even for no match, which rules do not have", word)
        keys = {key: self._name(key, scope) for key in group.keys}
        inner = keys | {name: self._fresh(name) for name in in_scope(group.pattern) if name not in keys}
        before, self._counting = self._counting, True
        found = self.bodies(group.pattern, inner)
        self._counting = before
        if len(found) != 1:
            self.refuse("UNION has no counterpart inside of an aggregate", "UNION")
        if any(isinstance(element, Aggregate) for element in found[0]):
            self.refuse("an aggregate of an aggregate takes two rules: one query for each", "GROUP")
        (body,) = found
        results = tuple(
            Result(
                made.function,
                made.argument and self._expression(made.argument, body, inner),
                made.distinct,
                Var(self._name(made.variable, scope)),
            )
            for made in group.aggregates
        )
        needed = _needed(body, keys.values())
        kept = tuple(e for e in body if not isinstance(e, Bind) or e.variable.name in needed)
        return Aggregate(kept, tuple(Var(name) for name in keys.values()), results)  # type: ignore[arg-type]

    # -- expressions and terms ------------------------------------------------------------------------------------

    def _expression(self, expression: Expression, body: Body, scope: Scope) -> Expression:
        """An expression over what the body binds, BINDs put in place: an error of theirs is one of the expression."""
        names = {name: Variable(self._name(name, scope)) for name in variables_of(expression)}
        made = {e.variable.name: e.expression for e in body if isinstance(e, Bind)}
        bound = _bound(body) | self._around
        for name, variable in names.items():
            if variable.name not in bound:
                self.refuse(f"?{name} may have no value where it is read", f"?{name}")
        return substituted(substituted(expression, names), made)

    def _check(self, query: Query) -> None:
        for call in walk(query):
            if self.check and isinstance(call, Call) and (reason := self.check(_of_variables(call))):
                self.refuse(reason, call.name)

    def _term(self, term: Variable | Constant, scope: Scope) -> Term:
        return Var(self._name(term.name, scope)) if isinstance(term, Variable) else term.token

    def _name(self, name: str, scope: Scope) -> str:
        """The rule's name of a variable in a scope."""
        if name not in scope:
            scope[name] = name if re.fullmatch(r"[A-Za-z_]\w*", name) else self._fresh(name)
        return scope[name]

    def _fresh(self, name: str) -> str:
        stem = re.sub(r"^[^A-Za-z_]|\W", "_", name.lstrip("_:.")) or "x"
        number = 1
        while f"{stem}_{number}" in self._taken:
            number += 1
        self._taken.add(f"{stem}_{number}")
        return f"{stem}_{number}"

    # -- refusals -------------------------------------------------------------------------------------------------

    def refuse(self, reason: str, *marks: str) -> NoReturn:
        """Refuse the query at the first word that is one of these (or starts with it, if it ends in a colon)."""
        raise InputError(reason, self.source, *self._place(*marks))

    def _place(self, *marks: str) -> tuple[int, int]:
        for word in words(self.text):
            if any(word.text.upper() == m.upper() or (m[-1] == ":" and word.text.startswith(m)) for m in marks):
                return place(self.text, word.start)
        return 1, 1


def _joined(some: Iterable[Body], others: Sequence[Body]) -> list[Body]:
    return [left + tuple(_beside(element, left) for element in right) for left, right in product(some, others)]


def _beside(element: BodyElement, body: Body) -> BodyElement:
    """An element of a body that is joined with another one. What both take from triple terms, never an error, is one
    term."""
    match element:
        case Bind(Call(name) as expression, variable) if name in PARTS:
            if any(isinstance(e, Bind) and e.variable == variable for e in body):
                return Holds(Call("SAMETERM", (Variable(variable.name), expression)))
    return element


def _bound(body: Iterable[BodyElement]) -> set[str]:
    """The variables that a body gives values to."""
    found = {term.name for element in body for term in bound_by(element) if isinstance(term, Var)}
    return found | {element.variable.name for element in body if isinstance(element, Bind)}


def _needed(body: Body, names: Iterable[str]) -> set[str]:
    """Variables that must have a value for a match: these, and those in atoms and NOTs."""
    inside = [part for element in body if not isinstance(element, Bind | Holds) for part in walk(element)]
    return {*names, *(part.name for part in inside if isinstance(part, Var | Variable))}


def _by_need(body: Body, heads: Sequence[Atom]) -> list[tuple[Body, list[Atom]]]:
    """Bodies and heads: a BIND in error leaves its variable without a value, and the triples that do without it hold.

    Heads with a variable that this body does not bind are left out.
    """
    bound = _bound(body)
    found: dict[Body, list[Atom]] = {}
    for head in heads:
        names = [term.name for term in head.terms if isinstance(term, Var)]
        if bound.issuperset(names):
            needed = _needed(body, names)
            kept = tuple(e for e in body if not isinstance(e, Bind) or e.variable.name in needed)
            found.setdefault(kept, []).append(head)
    return list(found.items())


def _of_variables(call: Call) -> Call:
    """The call with variables for arguments that are not constants, as `check` wants it."""
    return Call(
        call.name,
        tuple(a if isinstance(a, Constant) else Variable(f"x{n}") for n, a in enumerate(call.arguments)),
    )
