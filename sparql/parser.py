"""SPARQL text to algebra: Oxigraph says whether the text is legal, RDFLib parses it, unsupported constructs are named.

RDFLib's parser lets some illegal queries through and its algebra has no types, so: refuse what would leave the store
(SERVICE) or needs named graphs, let an empty pyoxigraph store validate the text, and translate RDFLib's algebra
(SPARQL 1.1, section 18.2) into `sparql.algebra`, naming whatever has no translation.
"""

from __future__ import annotations

import logging
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final

import pyoxigraph
import rdflib
from pyparsing import ParseResults
from rdflib.paths import AlternativePath, InvPath, Path, SequencePath
from rdflib.plugins.sparql import algebra as rdflib_algebra
from rdflib.plugins.sparql import parser as rdflib_parser
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import BNode, Identifier, Literal, URIRef
from rdflib.term import Variable as RdflibVariable

from sparql.algebra import (
    UNIT,
    Aggregate,
    Bgp,
    Distinct,
    Extend,
    Filter,
    Group,
    Join,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    Project,
    Query,
    Slice,
    Term,
    Triple,
    Union,
    Values,
    in_scope,
    visible,
)
from sparql.lexer import keywords
from triplestore.errors import UnsupportedError, UsageError
from triplestore.expression import Call, Constant, Exists, Expression, Variable, walk
from triplestore.terms import from_rdflib

_REFUSED: Final = {
    "SERVICE": "SERVICE (federated queries)",
    "GRAPH": "GRAPH (named graphs: a store is one graph)",
    "FROM": "FROM (named graphs: a store is one graph)",
}
_KINDS: Final = {
    "SelectQuery": "select",
    "AskQuery": "ask",
    "ConstructQuery": "construct",
    "DescribeQuery": "describe",
}
_AGGREGATES: Final = {"Count", "Sum", "Min", "Max", "Avg", "Sample"}
_PARSING = threading.Lock()
_LOG = logging.getLogger("rdflib.term")


def parse_query(text: str) -> Query:
    """The algebra of a SPARQL query.

    Raises UsageError with line and column for a syntax error, UnsupportedError naming a construct that is not
    supported.
    """
    if re.search(r"\\u00(22|27|5[cC]|0[aAdD])", text):  # RDFLib unescapes these before it looks for strings
        raise UnsupportedError('\\u escapes of quotes, backslashes and line ends are not supported: write \\" or \\n')
    for keyword in sorted(keywords(text) & _REFUSED.keys()):
        raise UnsupportedError(f"{_REFUSED[keyword]} is not supported: take it out of the query")
    _validate(text)
    try:
        with _exact_literals():
            tree = rdflib_parser.parseQuery(text)
            star = tree[1].name != "SelectQuery" or not tree[1].projection
            _check_subselects(tree[1])
            parsed = rdflib_algebra.translateQuery(tree)
    except UnsupportedError:
        raise
    except Exception as error:  # RDFLib raises whatever pyparsing or its own code trips over
        raise UnsupportedError(f"this query is legal SPARQL, but its form is not supported: {error}") from error
    return _query(parsed, star)


def _validate(text: str) -> None:
    try:
        pyoxigraph.Store().query(text)
    except SyntaxError as error:
        raise UsageError(syntax_message("query", error)) from error
    except RuntimeError:
        pass  # it is legal, but Oxigraph cannot evaluate it; what we cannot is named below


def syntax_message(what: str, error: SyntaxError) -> str:
    """Oxigraph's "error at 1:25: expected ..." with line and column spelt out."""
    found = re.match(r"error at (\d+):(\d+): (.*)", str(error), re.DOTALL)
    if not found:
        return f"the {what} is not legal SPARQL: {error}"
    return f"the {what} is not legal SPARQL: line {found[1]}, column {found[2]}: {found[3]}"


class _ExactType(type):
    """Makes RDFLib literals that keep the text they were written with."""

    def __call__(cls, value: object, lang: str | None = None, datatype: str | None = None) -> Literal:
        return Literal(value, lang=lang, datatype=datatype, normalize=False)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Literal)


class _ExactLiteral(metaclass=_ExactType):
    """Stands in for `rdflib.Literal` while RDFLib parses a query."""


class _Exact(ModuleType):
    """Stands in for the module `rdflib` inside RDFLib's SPARQL parser."""

    Literal = _ExactLiteral

    def __getattr__(self, name: str) -> Any:
        return getattr(rdflib, name)


def _negative(literal: Literal) -> Literal:
    return Literal(f"-{literal}", datatype=literal.datatype, normalize=False)


@contextmanager
def _exact_literals() -> Iterator[None]:
    """RDFLib's parser rewrites "01"^^xsd:integer to "1"; a store keeps them apart, so parse without rewriting."""
    with _PARSING:
        rdflib_parser.rdflib, rdflib_parser.neg = _Exact("rdflib"), _negative
        rdflib_algebra.Literal = _ExactLiteral
        quiet, _LOG.disabled = _LOG.disabled, True  # an ill-typed literal is legal: no traceback for it
        try:
            with warnings.catch_warnings(action="ignore", category=UserWarning):
                yield
        finally:
            rdflib_parser.rdflib, rdflib_parser.neg = rdflib, _RDFLIB_NEG
            rdflib_algebra.Literal = Literal
            _LOG.disabled = quiet


_RDFLIB_NEG = rdflib_parser.neg


def _query(parsed: Any, star: bool) -> Query:
    translation = _Translation(bool(parsed.prologue.base))
    tree = parsed.algebra
    if tree.datasetClause:
        raise UnsupportedError(_REFUSED["FROM"] + " is not supported")
    kind = _KINDS[tree.name]
    if kind == "describe":
        targets = tuple(translation.term(target) for target in tree.PV)
        return Query(kind, translation.node(tree.p) if tree.p else None, targets=targets)
    pattern = translation.node(tree.p, star=star)
    if kind == "select":
        return Query(kind, pattern, visible(pattern) if star else tuple(str(v) for v in tree.PV))
    if kind == "construct":
        if tree.template is None:
            template = tuple(t for part in walk(pattern) if isinstance(part, Bgp) for t in part.triples)
        else:
            template = tuple(translation.triple(triple) for triple in tree.template)
        return Query(kind, pattern, template=template)
    return Query(kind, pattern)


def _check_subselects(tree: Any) -> None:
    """RDFLib forgets the variables of VALUES behind a sub-SELECT *: refuse that one form."""
    if isinstance(tree, CompValue):
        if tree.name == "SubSelect" and not tree.projection and tree.valuesClause:
            raise UnsupportedError("VALUES behind a sub-SELECT * is not supported: name the variables it projects")
        for part in tree.values():
            _check_subselects(part)
    elif isinstance(tree, list | tuple | ParseResults):
        for part in tree:
            _check_subselects(part)


_OPERATORS: Final = {
    "ConditionalOrExpression": "||",
    "ConditionalAndExpression": "&&",
    "UnaryNot": "!",
    "UnaryMinus": "negate",
    "UnaryPlus": "plus",
}


@dataclass(frozen=True, slots=True)
class _Translation:
    """RDFLib's algebra of one query into ours; `based`: the query has a BASE."""

    based: bool
    aliases: dict[str, str] = field(default_factory=dict)
    """RDFLib's names for grouped variables (of the group translated last) and the variables they stand for."""

    def node(self, tree: Any, star: bool = False) -> Node:
        """A graph pattern or solution modifier. star: the outermost projection keeps all that is in scope."""
        match tree.name:
            case "BGP":
                return self.bgp(tree.triples)
            case "Join":
                return self.join(self.node(tree.p1), self.node(tree.p2))
            case "LeftJoin":
                condition = None if _is_true(tree.expr) else self.expression(tree.expr)
                return LeftJoin(self.node(tree.p1), self.node(tree.p2), condition)
            case "Union":
                return Union(self.node(tree.p1), self.node(tree.p2))
            case "Minus":
                return Minus(self.node(tree.p1), self.node(tree.p2))
            case "Filter":
                return Filter(self.node(tree.p), self.expression(tree.expr))
            case "Extend":
                inner = self.node(tree.p)
                expression = self.expression(tree.expr)
                if expression == Variable(str(tree.var)):  # RDFLib's detour for a grouped variable
                    return inner
                return Extend(inner, str(tree.var), expression)
            case "ToMultiSet":
                return self.values(tree.p.res) if tree.p.name == "values" else self.node(tree.p)
            case "values":
                return self.values(tree.res)
            case "AggregateJoin":
                return self.group(tree)
            case "Project":
                inner = self.node(tree.p)
                names = {str(v) for v in tree.PV}
                kept = tuple(name for name in in_scope(inner) if star or name in names)
                return Project(inner, visible(inner) if star else kept)
            case "Distinct":
                return Distinct(self.node(tree.p, star))
            case "Reduced":
                return self.node(tree.p, star)
            case "OrderBy":
                inner = self.node(tree.p)
                return OrderBy(inner, tuple((self.expression(k.expr), k.order == "DESC") for k in tree.expr))
            case "Slice":
                length = tree.length
                return Slice(self.node(tree.p, star), tree.start, None if length is None else int(length))
            case _:
                raise UnsupportedError(f"{tree.name} is not supported in queries")

    def join(self, left: Node, right: Node) -> Node:
        if left == UNIT:
            return right
        if isinstance(left, Bgp) and isinstance(right, Bgp):
            return Bgp(left.triples + right.triples)
        return left if right == UNIT else Join(left, right)

    def bgp(self, triples: Any) -> Node:
        """A basic graph pattern; sequence, inverse and alternative paths by their definitions (SPARQL 18.2.2.4)."""
        plain: list[Triple] = []
        others: list[Node] = []
        for s, p, o in triples:
            if isinstance(p, Path):
                others.append(self.path(self.term(s), p, self.term(o)))
            else:
                plain.append((self.term(s), self.term(p), self.term(o)))
        found: Node = Bgp(tuple(plain))
        for other in others:
            found = self.join(found, other)
        return found

    def path(self, s: Term, path: Any, o: Term) -> Node:
        match path:
            case URIRef():
                return Bgp(((s, self.term(path), o),))
            case InvPath():
                return self.path(o, path.arg, s)
            case SequencePath():
                stops: list[Term] = [s, *(Variable(f"_:{BNode()}") for _ in path.args[1:]), o]
                found: Node = UNIT
                for start, step, end in zip(stops, path.args, stops[1:], strict=False):
                    found = self.join(found, self.path(start, step, end))
                return found
            case AlternativePath():
                first, *rest = (self.path(s, step, o) for step in path.args)
                for other in rest:
                    first = Union(first, other)
                return first
            case _:
                raise UnsupportedError(
                    "property paths with *, +, ? or ! are not supported: only /, | and ^ are, or write the steps out"
                )

    def values(self, rows: Any) -> Values:
        names = tuple(dict.fromkeys(str(v) for row in rows for v in row))
        return Values(names, tuple(tuple(_inline(row.get(RdflibVariable(name))) for name in names) for row in rows))

    def group(self, tree: Any) -> Node:
        """Grouping and aggregates. RDFLib takes a SAMPLE of each grouped variable it meets: that is the key itself."""
        inner = self.node(tree.p.p)
        keys: list[str] = []
        for number, key in enumerate(tree.p.expr or ()):
            expression = self.expression(key)
            if isinstance(expression, Variable):
                keys.append(expression.name)
            else:
                keys.append(f".key{number}")
                inner = Extend(inner, keys[-1], expression)
        aggregates: list[Aggregate] = []
        for item in tree.A:
            function = item.name.removeprefix("Aggregate_")
            if function not in _AGGREGATES:
                raise UnsupportedError(f"the aggregate {function.upper()} is not supported")
            result = str(item.res)
            argument = None if isinstance(item.vars, str) and item.vars == "*" else self.expression(item.vars)
            self.aliases.pop(result, None)
            if function == "Sample" and isinstance(argument, Variable) and argument.name in keys:
                self.aliases[result] = argument.name
            else:
                aggregates.append(Aggregate(result, function.upper(), argument, bool(item.distinct)))
        return Group(inner, tuple(dict.fromkeys(keys)), tuple(aggregates))

    def triple(self, triple: Any) -> Triple:
        s, p, o = triple
        return self.term(s), self.term(p), self.term(o)

    def term(self, term: Any) -> Term:
        if isinstance(term, RdflibVariable):
            return Variable(self.aliases.get(str(term), str(term)))
        if isinstance(term, BNode):
            return Variable(f"_:{term}")
        return Constant(from_rdflib(term))

    def expression(self, tree: Any) -> Expression:
        """An expression: operators and functions as `Call`, by their names in the recommendation."""
        if isinstance(tree, Identifier):
            return self.term(tree)
        if not isinstance(tree, CompValue):
            raise UnsupportedError(f"the expression {tree!r} is not supported")
        name = tree.name
        if name in ("ConditionalOrExpression", "ConditionalAndExpression"):
            return Call(_OPERATORS[name], tuple(self.expression(e) for e in (tree.expr, *tree.other)))
        if name in ("UnaryNot", "UnaryMinus", "UnaryPlus"):
            return Call(_OPERATORS[name], (self.expression(tree.expr),))
        if name == "RelationalExpression":
            other = tree.other if isinstance(tree.other, list | ParseResults) else [tree.other]
            return Call(tree.op, tuple(self.expression(e) for e in (tree.expr, *other)))
        if name in ("AdditiveExpression", "MultiplicativeExpression"):
            found = self.expression(tree.expr)
            for operator, operand in zip(tree.op, tree.other, strict=True):
                found = Call(operator, (found, self.expression(operand)))
            return found
        if name in ("Builtin_EXISTS", "Builtin_NOTEXISTS"):
            graph = tree.graph
            if graph.name.startswith("GroupGraphPattern"):
                graph = rdflib_algebra.translateGroupGraphPattern(graph)
            return Exists(self.node(graph), name == "Builtin_NOTEXISTS")
        if name == "Function":
            return Call(str(tree.iri), tuple(self.expression(e) for e in tree.expr or ()))
        if name.startswith("Builtin_"):
            return self.builtin(name.removeprefix("Builtin_").upper(), tree)
        raise UnsupportedError(f"{name} is not supported in expressions")

    def builtin(self, name: str, tree: Any) -> Call:
        if name in ("IRI", "URI") and self.based:
            raise UnsupportedError("IRI() in a query with BASE is not supported: write the IRI in full")
        arguments: list[Any] = []
        for key in ("arg", "arg1", "arg2", "arg3", "text", "start", "length", "pattern", "replacement", "flags"):
            part = getattr(tree, key)
            if isinstance(part, list | ParseResults):
                arguments.extend(part)
            elif part is not None:
                arguments.append(part)
        return Call({"URI": "IRI", "ISURI": "ISIRI"}.get(name, name), tuple(self.expression(a) for a in arguments))


def _inline(term: Any) -> str | None:
    """A term of inline data; RDFLib has the string UNDEF for none."""
    return from_rdflib(term) if isinstance(term, Identifier) else None


def _is_true(expression: Any) -> bool:
    return isinstance(expression, CompValue) and expression.name == "TrueFilter"
