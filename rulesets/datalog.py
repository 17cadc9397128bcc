"""The rule language: text -> `triplestore.rule.Rule`, and back (`render`). See rulesets/README.md.

    @rule prp-dom
    [?x, rdf:type, ?c] :- [?p, rdfs:domain, ?c], [?x, ?p, ?y] .

One regular expression cuts the text into tokens, `_Parser` is a recursive descent over them (one method per
construct), and `rulesets.safety` refuses rules without a meaning. Every error is an InputError with its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from rulesets.render import BUILTIN_PREFIXES, render
from rulesets.safety import fault, with_span_ends
from triplestore.errors import InputError
from triplestore.rule import Atom, BodyElement, Filter, ListOf, MemberOf, Rule, Ruleset, Span, Term, Var
from triplestore.terms import RDF, XSD, Kind, iri_token, kind_of_token, literal_token

__all__ = ["parse", "read", "render"]

_LATER: Final = {"NOT", "BIND", "AGGREGATE", "EXISTS", "COUNT", "SUM", "MIN", "MAX", "AVG", "OPTIONAL", "UNION"}
_OPERATORS: Final = ("=", "!=", "<", ">")
_ESCAPES: Final = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_UCHAR: Final = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_TOKEN: Final = re.compile(
    rf"""
    (?P<space>\s+|\#[^\n]*)
  | (?P<rule>@rule[ \t]+[^\s\#]\S*)
  | (?P<at>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
  | (?P<iri><(?!\?)(?:[^\x00-\x20<>"{{}}|^`\\]|{_UCHAR})*>)
  | (?P<string>"(?:[^"\\\n\r]|\\[^\n\r])*"|'(?:[^'\\\n\r]|\\[^\n\r])*')
  | (?P<span>\?[A-Za-z_]\w*[ \t]*\.\.[ \t]*\?\w+(?:-\d+)?)
  | (?P<var>\?[A-Za-z_]\w*)
  | (?P<blank>_:\S+)
  | (?P<number>[+-]?(?:\d+\.\d+|\.\d+|\d+)(?:[eE][+-]?\d+)?)
  | (?P<name>(?:[A-Za-z](?:[\w.-]*[\w-])?)?:(?!-)(?:[\w:%](?:[\w:%-]|\.(?=[\w:%-]))*)?)
  | (?P<word>[A-Za-z]\w*)
  | (?P<symbol>:-|\^\^|!=|<=|>=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_SPAN: Final = re.compile(r"\?(\w+)(1)\s*\.\.\s*\?\1n|\?(\w+)(0)\s*\.\.\s*\?\3n-1")


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # a group of _TOKEN, or "end"
    text: str
    line: int
    column: int


def parse(text: str, source: str) -> tuple[Rule, ...]:
    """The rules of a text, in its order. `source` names it in errors; unnamed rules are called `<stem>:<line>`.

    Raises InputError (file, line, column, what was expected) for anything that is not a rule with a meaning.
    """
    return _Parser(text, source).rules()


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


def _tokens(text: str) -> Iterator[_Token]:
    line, start = 1, 0
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "space":
            yield _Token(str(match.lastgroup), match.group(), line, match.start() - start + 1)
        if newlines := match.group().count("\n"):
            line, start = line + newlines, match.start() + match.group().rindex("\n") + 1
    yield _Token("end", "the end of the text", line, len(text) - start + 1)


class _Parser:
    """Reads tokens left to right; `self.token` is the one not read yet."""

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self.stem = re.sub(r"\s", "_", Path(source).stem)
        self.prefixes = dict(BUILTIN_PREFIXES)
        self.name: str | None = None
        self.stream = _tokens(text)
        self.token = next(self.stream)

    # -- reading tokens

    def fail(self, reason: str, token: _Token | None = None) -> NoReturn:
        at = token or self.token
        raise InputError(reason, self.source, at.line, at.column)

    def expected(self, what: str) -> NoReturn:
        found = self.token.text if self.token.kind == "end" else f"'{self.token.text}'"
        self.fail(f"expected {what}, found {found}")

    def next(self) -> _Token:
        read = self.token
        if read.kind != "end":
            self.token = next(self.stream)
        return read

    def at(self, *symbols: str) -> bool:
        return self.token.kind in ("symbol", "word") and self.token.text in symbols

    def take(self, symbol: str, what: str) -> None:
        if not self.at(symbol):
            self.expected(what)
        self.next()

    def keyword(self) -> str:
        """The upper-case text of the word to be read, or nothing."""
        return self.token.text.upper() if self.token.kind == "word" else ""

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
        rule = with_span_ends(Rule(name, heads, body, self.source, start.line))
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
            case word if word in _LATER:
                self.fail(f"{word} is not supported in rules yet")
        if not self.at("["):
            self.expected("an atom [s, p, o], LIST[..], MEMBER[..] or FILTER(..)")
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

    def filter(self) -> Filter:
        self.next()
        self.take("(", "'(' after FILTER")
        if self.token.kind in ("word", "name") and self.token.text not in ("true", "false"):
            function = self.next()
            if self.at("("):
                self.fail(f"FILTER with {function.text}(..) is not supported in rules yet: compare two terms", function)
            if function.kind == "word":
                self.fail(f"expected a term to compare, found '{function.text}'", function)
            left: Term = self.resolve(function)
        else:
            left = self.single("a term to compare")
        operator = self.token
        if operator.text not in _OPERATORS:
            if operator.kind == "symbol" and operator.text not in ".,)":
                self.fail(f"FILTER with '{operator.text}' is not supported in rules yet: use one of = != < >")
            self.expected("one of = != < >")
        self.next()
        right = self.single("a term to compare with")
        if self.token.kind == "symbol" and self.token.text in "&|+-*/":
            self.fail("FILTER compares two terms, no more, in rules yet: write one FILTER for each comparison")
        self.take(")", "')'")
        return Filter(operator.text, left, right)

    # -- terms

    def single(self, what: str) -> Term:
        start = self.token
        term = self.term(what)
        if isinstance(term, Span):
            self.fail(f"expected {what}: one term, not a span", start)
        return term

    def term(self, what: str) -> Term:
        token = self.token
        match token.kind:
            case "var":
                self.next()
                return Var(token.text[1:])
            case "span":
                self.next()
                if match := _SPAN.fullmatch(token.text):
                    return Span(match[1] or match[3], int(match[2] or match[4]))
                self.fail("a span is written ?x1 .. ?xn or ?x0 .. ?xn-1", token)
            case "iri":
                return self.iri()
            case "name":
                self.next()
                return self.resolve(token)
            case "string":
                return self.literal()
            case "number":
                self.next()
                kind = "double" if "e" in token.text.lower() else "decimal" if "." in token.text else "integer"
                return literal_token(token.text, XSD + kind)
            case "word" if token.text in ("true", "false"):
                self.next()
                return literal_token(token.text, XSD + "boolean")
            case "blank":
                self.fail("a blank node has no name that a rule could use: write a variable or an IRI")
        if self.at("["):
            self.fail("a blank node has no name that a rule could use: write a variable or an IRI")
        self.expected(what)

    def iri(self) -> str:
        token = self.next()
        iri = self.unescape(token.text[1:-1], token)
        if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", iri):
            self.fail(f"relative IRI {token.text}: write it in full, or declare a PREFIX", token)
        return iri_token(iri)

    def resolve(self, token: _Token) -> str:
        prefix, local = token.text.split(":", 1)
        if prefix not in self.prefixes:
            self.fail(f"unknown prefix '{prefix}:': declare it with PREFIX {prefix}: <...>", token)
        return iri_token(self.prefixes[prefix] + local)

    def literal(self) -> str:
        token = self.next()
        lexical = self.unescape(token.text[1:-1], token)
        if self.token.kind == "at":
            return literal_token(lexical, language=self.next().text[1:])
        if self.token.text != "^^":
            return literal_token(lexical)
        self.next()
        if self.token.kind == "iri":
            return literal_token(lexical, self.iri()[1:-1])
        if self.token.kind == "name":
            return literal_token(lexical, self.resolve(self.next())[1:-1])
        self.expected("a datatype after ^^")

    def unescape(self, text: str, token: _Token) -> str:
        def one(match: re.Match[str]) -> str:
            escape = match[1]
            if escape[0] in "uU" and len(escape) > 1 and int(escape[1:], 16) <= 0x10FFFF:
                return chr(int(escape[1:], 16))
            if escape not in _ESCAPES:
                self.fail(f"unknown escape \\{escape}", token)
            return _ESCAPES[escape]

        return re.sub(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", one, text)
