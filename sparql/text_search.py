"""Text search: `text:query` as Apache Jena has it (https://jena.apache.org/documentation/query/text-query.html).

    ?s text:query "words"        (?s ?score ?literal ?graph ?property) text:query (rdfs:label "words" 10 "lang:en")

There is no index: a search is a pattern over the literals, with a regular expression for each word, so that it sees
each change at once and is right on either engine. It becomes algebra as soon as it is read, and nothing that follows
knows of it.

A search string has words, "phrases", prefixes (`rembr*`) and wildcards (`?`, `*`), joined by AND, OR, NOT, +, - and
brackets, as Lucene's query parser reads them; without a word between two, either is enough, and what has more of them
scores higher. Letters match whatever their case and accents.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from triplake.sparql.algebra import (
    Bgp,
    Extend,
    Filter,
    GraphPattern,
    Node,
    OrderBy,
    Project,
    Slice,
    Term,
    Values,
    join,
)
from triplake.sparql.cursor import NESTED, NIL, Cursor, solutions
from triplake.sparql.paths import Path
from triplestore.expressions.numerals import INTEGER
from triplestore.model.errors import UsageError
from triplestore.model.expression import Call, Constant, Expression, Variable
from triplestore.model.terms import RDF, XSD

PREFIX: Final = "http://jena.apache.org/text#"

QUERY: Final = Constant(f"<{PREFIX}query>")

MOST_WORDS: Final = 30
"""Words of a search: each is a regular expression that every literal is held against."""

LONGEST: Final = 1_000
"""Characters of a search."""

_SHOWN: Final = 60

_FIRST, _REST = Constant(f"<{RDF}first>"), Constant(f"<{RDF}rest>")

# -- what is searched for ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Words:
    """Words that follow each other: one, or a phrase. `*` and `?` in them are wildcards."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Clauses:
    """must: all hold; should: one does, if there is none that must; must_not: none holds."""

    must: tuple[Search, ...]
    should: tuple[Search, ...]
    must_not: tuple[Search, ...]


Search = Words | Clauses

_TOKEN: Final = re.compile(
    r'\s*(?:(?P<phrase>"(?:[^"\\]++|\\.)*+")|(?P<sign>[-+!()]|&&|\|\|)|(?P<word>(?:[^\s"()\\&|]++|\\.|&(?!&)|\|(?!\|))++))'
)
_FOREIGN: Final = re.compile(r"(?<!\\)[~^:\[\]{}]|^/")


def parsed(text: str) -> Search:
    """A search string. Raises UsageError."""
    tokens: list[tuple[str, str]] = []
    place = open_ = 0
    text = text.rstrip()
    if len(text) > LONGEST:
        raise UsageError(f"a search has up to {LONGEST:,} characters, not {len(text):,}")
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise UsageError(
                f"the search cannot be read at {text[place:].strip()!r}: is there a quotation mark too many?"
            )
        tokens.append((str(found.lastgroup), found.group(str(found.lastgroup))))
        place = found.end()
        open_ += {"(": 1, ")": -1}.get(tokens[-1][1], 0)
        if open_ > NESTED:
            raise UsageError(f"a search has up to {NESTED} brackets open at a time")
    if not tokens:
        raise UsageError("the search needs a word or more to look for")
    search, rest = _clauses(tokens)
    if rest:
        raise UsageError("the search has a ')' without its '('")
    if (count := _size(search)) > MOST_WORDS:
        raise UsageError(f"a search has up to {MOST_WORDS} words, not {count}")
    return search


def _clauses(tokens: list[tuple[str, str]]) -> tuple[Search, list[tuple[str, str]]]:
    """Clauses up to a closing bracket, and what follows it, the bracket first."""
    found: list[tuple[str, Search]] = []  # whether it must, should or must not hold
    sign, both = "", False
    while tokens and tokens[0] != ("sign", ")"):
        kind, text = tokens.pop(0)
        if kind == "word" and text in ("AND", "OR", "NOT"):
            kind, text = "sign", {"AND": "&&", "OR": "||", "NOT": "!"}[text]
        if kind == "sign" and text == "&&":
            both = True
            if found and found[-1][0] == "should":
                found[-1] = ("must", found[-1][1])
            continue
        if kind == "sign" and text == "||":
            continue
        if kind == "sign" and text != "(":
            sign = text
            continue
        if kind == "sign":
            part, tokens = _clauses(tokens)
            if not tokens:
                raise UsageError("the search has a '(' without its ')'")
            tokens.pop(0)
        else:
            if kind == "word" and text[0] in "+-!" and len(text) > 1:
                sign, text = text[0], text[1:]
            part = _words(kind, text)
        how = "must_not" if sign in ("-", "!") else "must" if sign == "+" or both else "should"
        found.append((how, part))
        sign, both = "", False
    by = {how: tuple(part for h, part in found if h == how) for how in ("must", "should", "must_not")}
    if not by["must"] and not by["should"]:
        raise UsageError("the search needs a word to look for, besides those that must not be there")
    return Clauses(**by), tokens


def _words(kind: str, text: str) -> Words:
    if kind == "phrase":
        text = text[1:-1]
    elif foreign := _FOREIGN.search(text):
        raise UsageError(
            f'{foreign.group()!r} in {text!r} means nothing in a search: use words, "phrases", *, ?, AND, OR, NOT, + '
            f"and -; write \\{foreign.group()} for the sign itself"
        )
    text = re.sub(r"\\(.)", lambda m: " " if not m[1].isalnum() else m[1], text)
    words = (_LETTERS if kind == "phrase" else _WILD).findall(unicodedata.normalize("NFC", text))
    words = [word for word in words if word.strip("*?")]
    if not words:
        raise UsageError(f"the search has no letter or digit in {text!r}")
    return Words(tuple(words))


_LETTERS: Final = re.compile(r"[^\W_]+")
_WILD: Final = re.compile(r"(?:[^\W_]|[*?])++")


def _size(search: Search) -> int:
    if isinstance(search, Words):
        return len(search.words)
    return sum(map(_size, (*search.must, *search.should, *search.must_not)))


# -- what it means ----------------------------------------------------------------------------------------------------

_INNER: Final = r"[\p{L}\p{N}\p{M}]"
_OUTER: Final = r"[^\p{L}\p{N}\p{M}]"


@cache
def _accented() -> dict[str, str]:
    """Each letter without accents, and all letters that are one with them."""
    found: dict[str, str] = {}
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)):
        base = folded(chr(code))
        if len(base) == 1 and base != chr(code):
            found[base] = found.get(base, "") + chr(code)
    return found


def folded(text: str) -> str:
    """A text in lower case and without accents."""
    parts = unicodedata.normalize("NFD", text.lower())
    return "".join(part for part in parts if not unicodedata.combining(part))


def pattern(search: Words) -> str:
    """The regular expression of words, of XPath, with the flag i."""

    def letter(char: str) -> str:
        if char == "*":
            return f"{_INNER}*"
        if char == "?":
            return _INNER
        others = _accented().get(char, "")
        return f"[{char}{others}]\\p{{M}}*" if others else char

    words = ("".join(map(letter, folded(word))) for word in search.words)
    return f"(^|{_OUTER}){f'{_OUTER}+'.join(words)}($|{_OUTER})"


def matches(search: Search, text: Expression) -> Expression:
    """Whether a text is found."""
    if isinstance(search, Words):
        return Call("REGEX", (text, Constant(_string(pattern(search))), Constant('"i"')))
    must = [matches(part, text) for part in search.must or ()]
    if not must:
        should = [matches(part, text) for part in search.should]
        must = [should[0] if len(should) == 1 else Call("||", tuple(should))]
    must += [Call("!", (matches(part, text),)) for part in search.must_not]
    return must[0] if len(must) == 1 else Call("&&", tuple(must))


def _string(text: str) -> str:
    """The token of a string."""
    return f'"{text}"'


def _wanted(search: Search) -> list[Words]:
    if isinstance(search, Words):
        return [search]
    return [words for part in (*search.must, *search.should) for words in _wanted(part)]


def score(search: Search, text: Expression) -> Expression:
    """How well a text that is found fits, of 0 to 2, as xsd:double: the share of the words that are in it, and how much
    of it they are."""
    wanted = _wanted(search)
    length = sum(len(word) for words in wanted for word in words.words)
    one, none = Constant(f'"1"^^<{XSD}double>'), Constant(f'"0"^^<{XSD}double>')
    found: Expression = none
    for words in wanted:
        found = Call("+", (found, Call("IF", (matches(words, text), one, none))))
    share = Call("/", (found, Constant(f'"{len(wanted)}"^^<{XSD}double>')))
    size = Constant(f'"{length}"^^<{XSD}double>')
    return Call("+", (share, Call("/", (size, Call("+", (size, Call("STRLEN", (text,))))))))


# -- in a query -------------------------------------------------------------------------------------------------------

_Found = list[tuple[Term, Path, Term]]


def searches(at: Cursor, found: _Found, offset: int) -> Node | None:
    """Take `text:query` out of the triples of a pattern, with its lists; the pattern that they mean.
    offset: where the triples begin, for messages."""
    asked = [triple for triple in found if triple[1] == QUERY]
    if not asked:
        return None
    node: Node | None = None
    for triple in asked:
        found.remove(triple)
        try:
            subject = _list(found, triple[0])
            meant = _pattern(at, subject or [triple[0]], _list(found, triple[2]) or [triple[2]])
        except UsageError as error:
            at.illegal(str(error), offset)
        node = meant if node is None else join(node, meant)
    return node


def _list(found: _Found, head: Term) -> list[Term] | None:
    """The members of a collection in the text, which is taken out; None for what is none."""
    items: list[Term] = []
    cell = head
    while cell != NIL:
        first = next((t for t in found if t[0] == cell and t[1] == _FIRST), None)
        rest = next((t for t in found if t[0] == cell and t[1] == _REST), None)
        if first is None or rest is None or not isinstance(cell, Variable):
            return None
        found.remove(first)
        found.remove(rest)
        items.append(first[2])
        cell = rest[2]
    return items


def _pattern(at: Cursor, subject: Sequence[Term], told: Sequence[Term]) -> Node:
    """The pattern of one search. Raises UsageError."""
    if not 1 <= len(subject) <= 5:
        raise UsageError("text:query has (?s ?score ?literal ?graph ?property) before it, or the first of these")
    names = [*subject, *(None for _ in range(5 - len(subject)))]
    if any(name is not None and not isinstance(name, Variable) for name in names[1:]):
        raise UsageError("before text:query all but the first are variables")
    what, scored, literal, graph, predicate = names
    assert what is not None
    properties, text, most, language = _arguments(told)
    search = parsed(text)
    literal = literal if isinstance(literal, Variable) else at.fresh()
    by: Term = predicate if isinstance(predicate, Variable) else at.fresh()
    node: Node
    if len(properties) == 1 and not isinstance(predicate, Variable):
        node = Bgp(((what, Constant(properties[0]), literal),))
    else:
        node = Bgp(((what, by, literal),))
        if properties:
            assert isinstance(by, Variable)
            node = join(Values((by.name,), tuple((name,) for name in properties)), node)
    plain = Call("STR", (literal,))
    conditions = [Call("ISLITERAL", (literal,)), matches(search, plain)]
    if language is not None:
        conditions.insert(1, Call("LANGMATCHES", (Call("LANG", (literal,)), Constant(_string(language)))))
    node = Filter(node, Call("&&", tuple(conditions)))
    if isinstance(graph, Variable):
        node = GraphPattern(graph, node)
    counted = scored if isinstance(scored, Variable) else at.fresh()
    if isinstance(scored, Variable) or most is not None:
        node = Extend(node, counted.name, score(search, plain))
    if most is not None:
        node = Slice(OrderBy(node, ((counted, True), (literal, False))), 0, most)
    variables = [term.name for term in subject if isinstance(term, Variable)]
    return Project(node, tuple(dict.fromkeys(variables)))


def _arguments(told: Sequence[Term]) -> tuple[list[str], str, int | None, str | None]:
    """What follows text:query: the tokens of properties, the search string, how many are wanted, their language."""
    properties: list[str] = []
    texts: list[str] = []
    most: int | None = None
    for term in told:
        if not isinstance(term, Constant):
            raise UsageError("text:query takes no variables after it: (property .. 'words' limit 'lang:en')")
        token = term.token
        if token.startswith("<"):
            properties.append(token)
        elif token.endswith(f"^^<{XSD}integer>"):
            number = token[1 : token.rindex('"')]
            if not re.fullmatch(INTEGER, number):
                raise UsageError(f"text:query finds a whole number of literals at most, not {number[:_SHOWN]!r}")
            most = None if number.startswith("-") else solutions(number.removeprefix("+"))  # as in Jena
        elif token.startswith('"'):
            texts.append(token[1 : token.rindex('"')])
    languages = [text.removeprefix("lang:") for text in texts[1:] if text.startswith("lang:")]
    if not texts or len(texts) - len(languages) > 1:
        raise UsageError("text:query takes one search string after it: (property .. 'words' limit 'lang:en')")
    return properties, texts[0], most, languages[-1] if languages else None
