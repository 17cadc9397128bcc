"""Tokens of the rule language, and the terms that they write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NoReturn

from triplake.rulesets.render import BUILTIN_PREFIXES
from triplestore.model.errors import InputError
from triplestore.model.rule import Span, Term, Var
from triplestore.model.terms import XSD, iri_token, literal_token

_ESCAPES: Final = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_UCHAR: Final = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_TOKEN: Final = re.compile(
    rf"""
    (?P<space>\s+|\#[^\n]*)
  | (?P<rule>@rule[ \t]+[^\s\#]\S*)
  | (?P<at>@[A-Za-z]+(?:-[A-Za-z0-9]+)*(?:--(?:ltr|rtl))?)
  | (?P<iri><(?!\?)(?:[^\x00-\x20<>"{{}}|^`\\]|{_UCHAR})*>)
  | (?P<string>"(?:[^"\\\n\r]|\\[^\n\r])*"|'(?:[^'\\\n\r]|\\[^\n\r])*')
  | (?P<span>\?[A-Za-z_]\w*[ \t]*\.\.[ \t]*\?\w+(?:-\d+)?)
  | (?P<var>\?[A-Za-z_]\w*)
  | (?P<blank>_:\S+)
  | (?P<number>[+-]?(?:\d+\.\d+|\.\d+|\d+)(?:[eE][+-]?\d+)?)
  | (?P<name>(?:[A-Za-z](?:[\w.-]*[\w-])?)?:(?!-)(?:[\w:%](?:[\w:%-]|\.(?=[\w:%-]))*)?)
  | (?P<word>[A-Za-z]\w*)
  | (?P<symbol>:-|\^\^|!=|<=|>=|&&|\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)
_SPAN: Final = re.compile(r"\?(\w+)(1)\s*\.\.\s*\?\1n|\?(\w+)(0)\s*\.\.\s*\?\3n-1")


@dataclass(frozen=True, slots=True)
class Token:
    kind: str  # a group of _TOKEN, or "end"
    text: str
    line: int
    column: int


def _tokens(text: str) -> Iterator[Token]:
    line, start = 1, 0
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "space":
            yield Token(str(match.lastgroup), match.group(), line, match.start() - start + 1)
        if newlines := match.group().count("\n"):
            line, start = line + newlines, match.start() + match.group().rindex("\n") + 1
    yield Token("end", "the end of the text", line, len(text) - start + 1)


class Reader:
    """Reads tokens left to right; `self.token` is the one not read yet."""

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self.prefixes = dict(BUILTIN_PREFIXES)
        self.stream = _tokens(text)
        self.token = next(self.stream)

    # -- reading tokens

    def fail(self, reason: str, token: Token | None = None) -> NoReturn:
        at = token or self.token
        raise InputError(reason, self.source, at.line, at.column)

    def expected(self, what: str) -> NoReturn:
        found = self.token.text if self.token.kind == "end" else f"'{self.token.text}'"
        self.fail(f"expected {what}, found {found}")

    def next(self) -> Token:
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

    def resolve(self, token: Token) -> str:
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

    def unescape(self, text: str, token: Token) -> str:
        def one(match: re.Match[str]) -> str:
            escape = match[1]
            if escape[0] in "uU" and len(escape) > 1:
                code = int(escape[1:], 16)
                if code < 0xD800 or 0xDFFF < code <= 0x10FFFF:  # no half of a surrogate pair
                    return chr(code)
            if escape not in _ESCAPES:
                self.fail(f"unknown escape \\{escape}", token)
            return _ESCAPES[escape]

        return re.sub(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", one, text)
