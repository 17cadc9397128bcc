"""The rule language: text -> `triplestore.model.rule.Rule`, and back (`render`). See rulesets/README.md.

    @rule prp-dom
    [?x, rdf:type, ?c] :- [?p, rdfs:domain, ?c], [?x, ?p, ?y] .

One regular expression cuts the text into tokens, `_Parser` is a recursive descent over them (one method per
construct), and `rulesets.safety` refuses rules without a meaning. Every error is an InputError with its place.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from triplake.rulesets.expressions import Check, ExpressionReader
from triplake.rulesets.render import render
from triplake.rulesets.safety import fault, normal, own_fault
from triplake.rulesets.tokens import Token
from triplestore.model.errors import InputError
from triplestore.model.expression import Call, Constant, Expression, Variable
from triplestore.model.rule import (
    Aggregate,
    Atom,
    Bind,
    BodyElement,
    Filter,
    Holds,
    ListOf,
    MemberOf,
    Not,
    Result,
    Rule,
    Ruleset,
    Span,
    Term,
    Var,
)
from triplestore.model.terms import RDF, Kind, iri_token, kind_of_token

__all__ = ["parse", "read", "render"]

_AGGREGATES: Final = ("COUNT", "SUM", "MIN", "MAX", "AVG")


def parse(text: str, source: str, check: Check | None = None) -> tuple[Rule, ...]:
    """The rules of a text, in its order. `source` names it in errors; unnamed rules are called `<stem>:<line>`.

    check: says why a call of a function has no meaning (`triplestore.compile.check`), or nothing.
    Raises InputError (file, line, column, what was expected) for anything that is not a rule with a meaning.
    """
    return _Parser(text, source, check).rules()


def read(path: str | Path) -> Ruleset:
    """The rules of a file. Raises InputError where it cannot be read or parsed."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InputError("not UTF-8 text: save the rules as UTF-8", str(path), line) from None
    except OSError as error:
        raise InputError(f"cannot read the rules: {error.strerror}", str(path)) from None
    return Ruleset(str(path), parse(text, str(path)))


class _Parser(ExpressionReader):
    """One method per construct."""

    def __init__(self, text: str, source: str, check: Check | None) -> None:
        super().__init__(text, source, check)
        self.stem = re.sub(r"\s", "_", Path(source).stem)
        self.name: str | None = None
        self.own: list[tuple[Token, Not, list[Var]]] = []  # the NOT EXISTS of a rule, and their variables

    # -- statements

    def rules(self) -> tuple[Rule, ...]:
        rules = []
        while self.token.kind != "end":
            if self.token.kind == "rule":
                self.name = self.next().text.split(maxsplit=1)[1]
            elif self.token.kind == "at" and self.token.text == "@rule":
                self.fail("expected a name after @rule, on the same line: @rule my-rule")
            elif self.keyword() == "PREFIX" or self.token.text == "@prefix":
                self.prefix()
            else:
                rules.append(self.rule())
        return tuple(rules)

    def prefix(self) -> None:
        self.next()
        name = self.token.text
        if self.token.kind != "name" or not name.endswith(":") or name.count(":") != 1:
            self.expected("a prefix that ends in ':', as in PREFIX ex: <http://example.org/>")
        self.next()
        if self.token.kind != "iri":
            self.expected("an IRI between < and >")
        self.prefixes[name[:-1]] = self.iri()[1:-1]
        if self.at("."):
            self.next()

    def rule(self) -> Rule:
        start = self.token
        self.own = []
        heads: tuple[Atom, ...] = ()
        if self.keyword() == "FALSE":
            self.next()
        else:
            heads = self.heads()
        body: tuple[BodyElement, ...] = ()
        if self.at(":-"):
            self.next()
            body = self.body()
        self.take(".", "',' or '.'" if body else "',', ':-' or '.'")
        name = self.name or f"{self.stem}:{start.line}"
        rule = Rule(name, heads, body, self.source, start.line)
        for place, group, own in self.own:
            if reason := own_fault(rule, group, own):
                self.fail(f"rule {name}: {reason}", place)
        rule = normal(rule)
        if reason := fault(rule):
            self.fail(f"rule {name}: {reason}", start)
        return rule

    # -- parts of a rule

    def heads(self) -> tuple[Atom, ...]:
        atoms = [self.head()]
        while self.at(","):
            self.next()
            atoms.append(self.head())
        return tuple(atoms)

    def head(self) -> Atom:
        if not self.at("["):
            self.expected("a rule: head atoms [s, p, o] or false, then ':-' and the body, then '.'")
        start = self.token
        atom = self.atom()
        if isinstance(atom.s, str) and kind_of_token(atom.s) is Kind.LITERAL:
            self.fail("a literal cannot be the subject of a head", start)
        return atom

    def body(self) -> tuple[BodyElement, ...]:
        elements = [self.element()]
        while self.at(","):
            self.next()
            elements.append(self.element())
        return tuple(elements)

    def element(self) -> BodyElement:
        match self.keyword():
            case "LIST":
                return self.list_of()
            case "MEMBER":
                return self.member_of()
            case "FILTER":
                return self.filter()
            case "BIND":
                return self.bind()
            case "NOT":
                return self.negation()
            case "AGGREGATE":
                return self.aggregate()
            case "EXISTS" | "OPTIONAL" | "UNION" | "MINUS" as word:
                self.fail(f"{word} is not of the rule language: write atoms, NOT, or one rule for each case")
        if not self.at("["):
            self.expected("an atom [s, p, o], LIST[..], MEMBER[..], FILTER(..), BIND(..), NOT or AGGREGATE(..)")
        return self.atom()

    def atom(self) -> Atom:
        self.take("[", "'['")
        s = self.term("a subject")
        self.take(",", "',' and a predicate")
        start = self.token
        if self.at("a"):
            self.next()
            p: Term = iri_token(RDF + "type")
        else:
            p = self.term("a predicate")
        if isinstance(p, str) and kind_of_token(p) is Kind.LITERAL:
            self.fail("a literal cannot be a predicate: give an IRI or a variable", start)
        self.take(",", "',' and an object")
        o = self.term("an object")
        self.take("]", "']' after the object")
        return Atom(s, p, o)

    def list_of(self) -> ListOf:
        self.next()
        self.take("[", "'[' after LIST")
        head = self.single("the list")
        self.take(",", "',' and the members, ?x1 .. ?xn")
        start = self.token
        items = self.term("the members, ?x1 .. ?xn")
        if not isinstance(items, Span):
            self.fail("LIST takes a list and its members as a span: LIST[?l, ?x1 .. ?xn]", start)
        self.take("]", "']' after the members")
        return ListOf(head, items)

    def member_of(self) -> MemberOf:
        self.next()
        self.take("[", "'[' after MEMBER")
        head = self.single("the list")
        self.take(",", "',' and a member")
        item = self.single("a member")
        position: Term | None = None
        if self.at(","):
            self.next()
            start = self.token
            position = self.single("a variable for the position")
            if not isinstance(position, Var):
                self.fail("the position of a member is a variable", start)
        self.take("]", "']' after the member" if position is None else "']' after the position")
        return MemberOf(head, item, position)

    def filter(self) -> Filter | Holds:
        self.next()
        self.take("(", "'(' after FILTER")
        expression = self.expression()
        self.take(")", "an operator or ')'")
        match expression:
            case Call("=" | "!=" | "<" | ">" as operator, (left, right)):
                ends = _plain(left), _plain(right)
                if None not in ends and (operator in "!=" or all(isinstance(end, Var) for end in ends)):
                    return Filter(operator, *(end for end in ends if end is not None))
        return Holds(expression)

    def bind(self) -> Bind:
        self.next()
        self.take("(", "'(' after BIND")
        expression = self.expression()
        variable = self.named("BIND(expression AS ?variable)")
        self.take(")", "')'")
        return Bind(expression, variable)

    def named(self, what: str) -> Var:
        """``AS ?x``."""
        if self.keyword() != "AS":
            self.expected(f"AS and a variable, as in {what}")
        self.next()
        return self.variable("a variable after AS")

    def variable(self, what: str) -> Var:
        token = self.token
        if token.kind != "var":
            self.expected(what)
        self.next()
        return Var(token.text[1:])

    def negation(self) -> Not:
        start = self.next()
        own: list[Var] | None = None
        if self.keyword() == "EXISTS":
            self.next()
            own = []
            while self.token.kind == "var" or (own and self.at(",")):
                if self.at(","):
                    self.next()
                own.append(self.variable("a variable after ','"))
            if own:
                if self.keyword() != "IN":
                    self.expected("IN, as in NOT EXISTS ?y IN ([?x, :p, ?y])")
                self.next()
        if self.at("["):
            body: list[BodyElement] = [self.atom()]
        else:
            self.take("(", "'[' or '(' after NOT")
            body = self.within(lambda: self.group(")"))
            self.next()
        for element in body:
            if not isinstance(element, Atom | Filter | Holds):
                self.fail("a NOT holds atoms and FILTERs, no more", start)
        found = Not(tuple(e for e in body if isinstance(e, Atom | Filter | Holds)))
        if own:
            self.own.append((start, found, own))
        return found

    def group(self, *ends: str) -> list[BodyElement]:
        """Elements up to one of the words or symbols, which is not read."""
        elements = [self.element()]
        while self.at(","):
            self.next()
            elements.append(self.element())
        if not self.at(*ends) and self.keyword() not in ends:
            self.expected(f"',' or {ends[0]}")
        return elements

    def aggregate(self) -> Aggregate:
        start = self.next()
        self.take("(", "'(' after AGGREGATE")
        body = self.within(lambda: self.group("ON"))
        for element in body:
            if not isinstance(element, Atom | Filter | Holds | Bind | Not):
                self.fail("an AGGREGATE holds atoms, FILTER, BIND and NOT, no more", start)
        self.next()
        keys: list[Var] = []
        while self.token.kind == "var":
            keys.append(self.variable("a variable"))
            if self.at(","):
                self.next()
        results: list[Result] = []
        while self.keyword() == "BIND":
            self.next()
            results.append(self.result())
        if not results:
            self.expected("BIND and an aggregate, as in BIND COUNT(?y) AS ?n")
        self.take(")", "BIND or ')'")
        return Aggregate(tuple(body), tuple(keys), tuple(results))  # type: ignore[arg-type]

    def result(self) -> Result:
        function = self.keyword()
        if function not in _AGGREGATES:
            self.expected(f"one of {', '.join(_AGGREGATES)}")
        self.next()
        self.take("(", f"'(' after {function}")
        distinct = self.keyword() == "DISTINCT"
        if distinct:
            self.next()
        argument: Expression | None = None
        if function == "COUNT" and self.at("*"):
            self.next()
        else:
            argument = self.expression()
        self.take(")", "')'")
        return Result(function, argument, distinct, self.named(f"BIND {function}(?y) AS ?n"))


def _plain(expression: Expression) -> Term | None:
    """A variable or IRI of an expression, as a term."""
    match expression:
        case Variable(name):
            return Var(name)
        case Constant(token) if token[0] == "<":
            return token
    return None
