"""RDF terms as the store sees them: tokens (text) and ids (int64).

A *token* is the text of one term, unescaped, and unique for the term:

    <http://example.org/a>          an IRI
    _:f1_x                          a blank node (its label is scoped to its file)
    "chat"                          a plain literal (xsd:string is never written)
    "chat"@fr                       a language-tagged string (tag in lower case)
    "chat"@fr--ltr                  one with a base direction (RDF 1.2), which is written behind the tag
    "1"^^<http://...#integer>       any other literal
    (<http://example.org/a> <http://example.org/p> "1")
                                    a triple term (RDF 1.2): canonical N-Triples; see `triplestore.model.triple_terms`

The text between the quotes is the lexical form itself, with nothing escaped: datatypes and language tags hold no
quote, so the last quote of a token always closes it, and a token is cut by plain string functions on either engine.

An *id* is an int64 with the kind of the term in bits 60-62: built-in vocabulary < IRI < blank node < literal < triple
term. The smallest id of an equality class is its representative, hence that order; what is below `FIRST_LITERAL` may be
a subject. `owl:sameAs` is 0, the smallest of all.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from enum import IntEnum
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from triplestore.model.errors import UsageError
from triplestore.model.legal_terms import check_characters, check_legal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdflib.term import Identifier, Node


RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
OWL: Final = "http://www.w3.org/2002/07/owl#"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"


class Kind(IntEnum):
    """What sort of term an id stands for: the top bits of the id."""

    BUILTIN = 0
    IRI = 1
    BLANK = 2
    LITERAL = 3
    TRIPLE = 4


KIND_BITS: Final = 60
FIRST_IRI: Final = Kind.IRI << KIND_BITS
FIRST_BLANK: Final = Kind.BLANK << KIND_BITS
FIRST_LITERAL: Final = Kind.LITERAL << KIND_BITS
FIRST_TRIPLE: Final = Kind.TRIPLE << KIND_BITS

_BUILTIN_NAMES: Final = {
    # Order is part of the store's format: append only. owl:sameAs must stay the first.
    OWL: "sameAs differentFrom",
    RDF: """type first rest nil Property List Statement subject predicate object Bag Seq Alt value langString
        PlainLiteral XMLLiteral HTML""",
    RDFS: """subClassOf subPropertyOf domain range Class Resource Literal Datatype Container
        ContainerMembershipProperty member label comment seeAlso isDefinedBy""",
    OWL + " ": """Thing Nothing Class ObjectProperty DatatypeProperty AnnotationProperty OntologyProperty
        FunctionalProperty InverseFunctionalProperty TransitiveProperty SymmetricProperty AsymmetricProperty
        ReflexiveProperty IrreflexiveProperty NamedIndividual Ontology Restriction DataRange AllDifferent
        AllDisjointClasses AllDisjointProperties Axiom Annotation NegativePropertyAssertion DeprecatedClass
        DeprecatedProperty topObjectProperty bottomObjectProperty topDataProperty bottomDataProperty
        equivalentClass equivalentProperty disjointWith propertyDisjointWith complementOf datatypeComplementOf
        intersectionOf unionOf disjointUnionOf oneOf onProperty onProperties onClass onDataRange onDatatype
        withRestrictions someValuesFrom allValuesFrom hasValue hasSelf hasKey inverseOf propertyChainAxiom
        cardinality minCardinality maxCardinality qualifiedCardinality minQualifiedCardinality
        maxQualifiedCardinality members distinctMembers sourceIndividual assertionProperty targetIndividual
        targetValue annotatedSource annotatedProperty annotatedTarget versionInfo versionIRI imports priorVersion
        backwardCompatibleWith incompatibleWith deprecated rational real""",
    XSD: """string boolean decimal integer nonNegativeInteger nonPositiveInteger positiveInteger negativeInteger
        long int short byte unsignedLong unsignedInt unsignedShort unsignedByte float double dateTime
        dateTimeStamp date time gYear gMonth gDay gYearMonth gMonthDay duration dayTimeDuration yearMonthDuration
        normalizedString token language Name NCName NMTOKEN hexBinary base64Binary anyURI""",
}

BUILTIN_IRIS: Final[tuple[str, ...]] = tuple(
    space.strip() + name for space, names in _BUILTIN_NAMES.items() for name in names.split()
)
"""The built-in vocabulary; the id of a built-in term is its position here."""

BUILTIN_IDS: Final[dict[str, int]] = {f"<{iri}>": number for number, iri in enumerate(BUILTIN_IRIS)}
"""Token -> id of the built-in vocabulary."""


def builtin(iri: str) -> int:
    """The id of a built-in IRI, as in ``builtin(OWL + "sameAs")``. Raises KeyError for any other."""
    return BUILTIN_IDS[f"<{iri}>"]


SAME_AS: Final = builtin(OWL + "sameAs")
TYPE: Final = builtin(RDF + "type")


def iri_token(iri: str) -> str:
    """The token of an IRI."""
    return f"<{iri}>"


def literal_token(lexical: str, datatype: str | None = None, language: str | None = None) -> str:
    """The token of a literal; xsd:string (or None) gives a plain one; the language tag is put in lower case. A base
    direction is part of the tag (`fr--ltr`)."""
    if language:
        return f'"{lexical}"@{language.lower()}'
    if datatype and datatype != XSD + "string":
        return f'"{lexical}"^^<{datatype}>'
    return f'"{lexical}"'


def kind_of_token(token: str) -> Kind:
    """IRI, BLANK, LITERAL or TRIPLE, by the first character (`BUILTIN_IDS` has the built-in terms)."""
    return {"<": Kind.IRI, "_": Kind.BLANK, '"': Kind.LITERAL, "(": Kind.TRIPLE}[token[0]]


def split_literal(token: str) -> tuple[str, str, str | None]:
    """Cut a literal's token into (lexical form, datatype IRI, language tag or None); a base direction stays with the
    tag: see `split_tag`."""
    close = token.rindex('"')
    lexical, tail = token[1:close], token[close + 1 :]
    if tail.startswith("@"):
        return lexical, RDF + ("dirLangString" if "--" in tail else "langString"), tail[1:]
    return lexical, tail[3:-1] if tail else XSD + "string", None


def split_tag(tag: str) -> tuple[str, str | None]:
    """Cut a language tag of a token into (language, base direction or None)."""
    language, _, direction = tag.partition("--")
    return language, direction or None


def lexical_of(token: str) -> str:
    """A token without its marks: the IRI, the blank node's label, the literal's lexical form, or the triple of a triple
    term."""
    if token[0] == '"':
        return split_literal(token)[0]
    return token[2:] if token[0] == "_" else token[1:-1]


SPELLING: Final = "trim(TRAILING '>' FROM token)"
"""`spelling` as SQL: text, which both engines order by its bytes."""


def spelling(token: str) -> bytes:
    """That by which tokens are ordered: without the `>` at their end, by which an IRI would come after all that begin
    with it, and the pages of the dictionary would overlap in their lexical forms."""
    return token.rstrip(">").encode()


def to_rdflib(token: str) -> Node:
    """The rdflib term of a token."""
    return to_rdflib_all((token,))[0]


def to_rdflib_all(tokens: Iterable[str]) -> list[Node]:
    """The rdflib terms of many tokens: exactly these, their lexical forms as they are."""
    from rdflib.term import BNode, Literal, URIRef

    def exactly(lexical: str, language: str | None, like: Literal | None) -> Literal:
        made = str.__new__(Literal, lexical)  # as Literal() does, which would collapse the spaces of an xsd:token
        made._language, made._datatype = language, like.datatype if like is not None else None
        made._value, made._ill_typed = (like.value, like.ill_typed) if like is not None else (lexical, None)
        return made

    def literal(token: str) -> Literal:
        lexical, datatype, language = split_literal(token)
        if language or datatype == XSD + "string":
            return exactly(lexical, language, None)
        if datatype == XSD + "boolean" and lexical.lower() not in _BOOLEANS:  # rdflib would warn on stderr
            found = Literal("false", datatype=URIRef(datatype), normalize=False)
            found._ill_typed = True
        else:
            found = Literal(lexical, datatype=URIRef(datatype), normalize=False)
        return found if str(found) == lexical else exactly(lexical, None, found)

    def term(token: str) -> Node:
        if token[0] == "<":
            return str.__new__(URIRef, token[1:-1])  # as URIRef() does after looking for characters no IRI has
        if token[0] == "_":
            return BNode(token[2:])
        return literal(token) if token[0] == '"' else _triple_term()(token)

    with _quietly():
        return [term(token) for token in tokens]


def _triple_term() -> type[Identifier]:
    from triplestore.model.rdflib_terms import TripleTerm

    return TripleTerm


_BOOLEANS: Final = ("true", "false", "1", "0")


class _Quiet(logging.Filter):
    """Keeps rdflib from logging, with a traceback, that a literal is ill-typed or has a value that Python has not."""

    def __init__(self) -> None:
        super().__init__()
        self.here = threading.local()

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(self.here, "quiet", False)


_QUIET: Final = _Quiet()
logging.getLogger("rdflib.term").addFilter(_QUIET)


@contextmanager
def _quietly() -> Iterator[None]:
    """Nothing is logged by rdflib's terms in this thread."""
    before, _QUIET.here.quiet = getattr(_QUIET.here, "quiet", False), True
    try:
        yield
    finally:
        _QUIET.here.quiet = before


def from_rdflib_quads(triples: Iterable[Any], legal: bool = True) -> list[tuple[str, ...]]:
    """The tokens of many rdflib triples, and of quads: the name of a graph (a term or an rdflib Graph) comes fourth,
    where that is a named one. legal: each has to be what can be stored. Raises UsageError for what is no triple of RDF
    terms."""
    from rdflib.term import Literal, URIRef

    ends: dict[tuple[str | None, str | None], str] = {}  # what follows a literal's lexical form

    def other(term: Node) -> str:
        if not isinstance(term, Literal):
            return from_rdflib(term)
        key = term.language, term.datatype
        if key not in ends:
            ends[key] = from_rdflib(term)[len(term) + 1 :]
        return f'"{term}{ends[key]}'

    if not isinstance(triples, Iterable):
        raise UsageError(f"{triples!r} holds no triples: give an iterable of them, an rdflib Graph, or () for none")
    join = "".join  # half the time of formatting
    found = [
        (
            join(("<", s, ">")) if type(s) is URIRef else other(s),
            join(("<", p, ">")) if type(p) is URIRef else other(p),
            join(("<", o, ">")) if type(o) is URIRef else other(o),
            *graph_names(graph),
        )
        for s, p, o, *graph in map(_as_triple, triples)
    ]
    distinct = set(chain.from_iterable(found))
    check_characters(join(distinct))
    if legal:
        check_legal(
            [*(token for token in distinct if token[0] != '"'), *(f'"{end}' for end in ends.values() if end != '"')]
        )
    return found


_DEFAULT_GRAPH: Final = "urn:x-rdflib:default"
"""The name that rdflib has for the unnamed graph."""


def graph_names(given: Sequence[Any]) -> tuple[str, ...]:
    """What follows a triple of rdflib's, as the token of a graph's name, if it is one's: a name or an rdflib Graph, of
    which those named by a blank node are rdflib's own, as the unnamed one is. Raises UsageError for what names none."""
    if not given or given[0] is None:
        return ()
    name = getattr(given[0], "identifier", given[0])
    if str(name) == _DEFAULT_GRAPH or (name is not given[0] and type(name).__name__ == "BNode"):
        return ()
    token = from_rdflib(name)
    if token[0] not in "<_":
        raise UsageError(f"{name!r} names no graph: give an rdflib URIRef or BNode, or a Graph that has one for a name")
    return (token,)


def _as_triple(given: Any) -> Any:
    if type(given) is tuple and len(given) >= 3:
        return given
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) < 3:
        raise UsageError(
            f"{given!r} is not a triple: give a list of tuples (subject, predicate, object), all rdflib terms"
            " (the text of a SPARQL update is for `sparql_update`)"
        )
    return given


def from_rdflib(term: Node) -> str:
    """The token of an rdflib term. Raises UsageError for anything that is not an RDF term."""
    from rdflib.term import BNode, Literal, URIRef

    if isinstance(term, URIRef):
        token = f"<{term}>"
    elif isinstance(term, BNode):
        token = f"_:{term}"
    elif isinstance(term, Literal):
        token = literal_token(str(term), str(term.datatype) if term.datatype else None, term.language)
    elif isinstance(term, _triple_term()):
        token = str(term)
    else:
        raise UsageError(f"{term!r} is not an RDF term: give an rdflib URIRef, BNode or Literal")
    check_characters(token)
    return token


def escape(lexical: str) -> str:
    """A lexical form as N-Triples writes it between quotes (canonical: only ``\\ " LF CR`` are escaped)."""
    return lexical.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")


def to_ntriples(token: str) -> str:
    """A token as canonical N-Triples writes the term."""
    if token[0] == "(":
        return f"<<( {token[1:-1]} )>>"
    if token[0] != '"':
        return token
    close = token.rindex('"')
    return f'"{escape(token[1:close])}"{token[close + 1 :]}'


def node_to_ntriples(node: Node) -> str:
    """A term of rdflib as canonical N-Triples writes it."""
    return to_ntriples(from_rdflib(node))


ABSOLUTE: Final = r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>"{}|^`\\]*'
"""An IRI with a scheme, as a regular expression that every engine reads alike."""

_TEXT: Final = r"[A-Za-z0-9._~!$&'()*+,;=:@/?-]*"
PLAIN: Final = rf"([A-Za-z][A-Za-z0-9+.-]*://[A-Za-z0-9._~-]+(/{_TEXT})?|urn:[A-Za-z0-9]+:[A-Za-z0-9._:-]+)(#{_TEXT})?"
"""An IRI of which nothing more need be known, as a regular expression that every engine reads alike."""

_PARTS: Final = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
)


def is_absolute(iri: str) -> bool:
    """Whether the text is an IRI with a scheme."""
    return re.fullmatch(ABSOLUTE, iri) is not None


def resolve(reference: str, base: str) -> str:
    """The IRI that a reference stands for where `base` is the base IRI."""
    scheme, authority, path, query, fragment = _split(reference)
    base_scheme, base_authority, base_path, base_query, _ = _split(base)
    if scheme is not None:
        return _joined(scheme, authority, _without_dots(path), query, fragment)
    if authority is not None:
        return _joined(base_scheme, authority, _without_dots(path), query, fragment)
    if not path:
        return _joined(base_scheme, base_authority, base_path, base_query if query is None else query, fragment)
    if not path.startswith("/"):
        if base_authority is not None and not base_path:
            path = f"/{path}"
        else:
            path = base_path[: base_path.rfind("/") + 1] + path
    return _joined(base_scheme, base_authority, _without_dots(path), query, fragment)


def _split(iri: str) -> tuple[str | None, str | None, str, str | None, str | None]:
    found = _PARTS.fullmatch(iri)
    assert found is not None, iri  # every text matches
    return found[1], found[2], found[3], found[4], found[5]


def _without_dots(path: str) -> str:
    """5.2.4: `.` and `..` taken out."""
    out: list[str] = []
    parts = path.split("/")
    for place, part in enumerate(parts):
        last = place == len(parts) - 1
        if part == ".":
            out += [""] * last
        elif part == "..":
            if len(out) > 1 or (out and out[0]):
                out.pop()
            out += [""] * last
        else:
            out.append(part)
    return "/".join(out)


def _joined(scheme: str | None, authority: str | None, path: str, query: str | None, fragment: str | None) -> str:
    found = f"{scheme}:" if scheme is not None else ""
    found += f"//{authority}" if authority is not None else ""
    found += path
    found += f"?{query}" if query is not None else ""
    return found + (f"#{fragment}" if fragment is not None else "")
