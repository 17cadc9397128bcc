"""Prefixes: short names of namespaces, which a store keeps, and terms written by them."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from triplestore.model.errors import UsageError
from triplestore.model.legal_terms import is_iri
from triplestore.model.terms import OWL, RDF, RDFS, XSD, split_literal, to_ntriples
from triplestore.model.triple_terms import split_triple

STANDARD: Final = {"rdf": RDF, "rdfs": RDFS, "owl": OWL, "xsd": XSD}
"""The prefixes by which terms are always written."""

WELL_KNOWN: Final = {
    **STANDARD,
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "text": "http://jena.apache.org/text#",
    "sh": "http://www.w3.org/ns/shacl#",
    "dcterms": "http://purl.org/dc/terms/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "schema": "http://schema.org/",
    "prov": "http://www.w3.org/ns/prov#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "org": "http://www.w3.org/ns/org#",
    "time": "http://www.w3.org/2006/time#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "geo": "http://www.opengis.net/ont/geosparql#",
    "wgs84": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "void": "http://rdfs.org/ns/void#",
    "qb": "http://purl.org/linked-data/cube#",
    "ub": "http://swat.cse.lehigh.edu/onto/univ-bench.owl#",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "dbo": "http://dbpedia.org/ontology/",
    "dbr": "http://dbpedia.org/resource/",
}
"""The prefixes that are read without a declaration, where a store has none of the name."""

log = logging.getLogger(__name__)

MOST: Final = 1_000
"""Prefixes that a store keeps: every manifest has them."""

LONGEST: Final = 1_000
"""Characters of a name, or of an IRI, up to which it is kept."""

OWN: Final = ""
"""The source of a prefix that a user has added."""

_LETTERS: Final = (
    r"A-Za-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff"
    r"\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_REST: Final = rf"{_LETTERS}0-9_\xb7\u0300-\u036f\u203f\u2040"
_NAME: Final = re.compile(f"([{_LETTERS}]([{_REST}.-]*[{_REST}-])?)?")
"""PN_PREFIX of Turtle and SPARQL."""

_LOCAL: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
"""The local names that need no escapes, whatever the syntax."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """A declaration: a name (without its colon), the IRI that it stands for, and the file or request that has it."""

    name: str
    iri: str
    source: str = OWN

    @property
    def is_kept(self) -> bool:
        """Whether a store keeps it: Turtle can declare it, and it is no standard one."""
        try:
            check(self.name, self.iri)
        except UsageError:
            return False
        return len(self.source) <= LONGEST and STANDARD.get(self.name) != self.iri


@dataclass(frozen=True)
class Prefixes:
    """What a store knows of prefixes: declarations in the order in which they were met, those of the user first.

    Of two declarations of one name the first holds; the other is a conflict, and is kept to be listed.
    """

    declarations: tuple[Prefix, ...] = ()

    @cached_property
    def declared(self) -> dict[str, str]:
        """The prefixes that hold: name -> IRI."""
        found: dict[str, str] = {}
        for one in self.declarations:
            found.setdefault(one.name, one.iri)
        return found

    @property
    def known(self) -> dict[str, str]:
        """What can be read: name -> IRI, well-known ones too."""
        return self.declared | {name: iri for name, iri in WELL_KNOWN.items() if name not in self.declared}

    @property
    def conflicts(self) -> list[Prefix]:
        """The declarations that do not hold, since an earlier one of the name does."""
        return [found for found in self.declarations if not self.holds(found)]

    def holds(self, one: Prefix) -> bool:
        """Whether the name of one of the declarations stands for its IRI."""
        return self.declared[one.name] == one.iri

    @cached_property
    def names(self) -> Names:
        """How terms are written by the prefixes that hold."""
        return Names(self.declared)

    def met(self, found: Iterable[Prefix]) -> Prefixes:
        """With the declarations of files or requests behind what was there; one without an IRI takes away those of its
        name that are not the user's own. What is too long is not kept; one too many neither, with a warning."""
        kept = {(known.name, known.iri): known for known in self.declarations}
        left = 0
        for one in found:
            if not one.iri:
                kept = {key: known for key, known in kept.items() if known.name != one.name or known.source == OWN}
            elif one.is_kept and (one.name, one.iri) not in kept:
                if len(kept) < MOST:
                    kept[one.name, one.iri] = one
                else:
                    left += 1
        if left:
            log.warning("%d prefixes are not kept: a store keeps %d; `triplake prefixes` removes some", left, MOST)
        return Prefixes(tuple(kept.values()))

    def added(self, name: str, iri: str) -> Prefixes:
        """With a declaration of the user's before all others, in place of any that the user has made of the name.
        Raises UsageError for what no Turtle document could declare."""
        check(name, iri)
        kept = [found for found in self.declarations if (found.name, found.source) != (name, OWN)]
        kept = [found for found in kept if (found.name, found.iri) != (name, iri)]
        if len(kept) >= MOST:
            raise UsageError(f"the store has {MOST:,} prefixes, as many as it keeps: remove some")
        return Prefixes((Prefix(name, iri), *kept))

    def removed(self, name: str) -> Prefixes:
        """Without the declarations of a name. Raises UsageError where there is none."""
        if name not in self.declared:
            raise UsageError(
                f"the store has no prefix '{name}:'; `triplake prefixes STORE list` shows those that it has"
            )
        return Prefixes(tuple(found for found in self.declarations if found.name != name))

    def __bool__(self) -> bool:
        return bool(self.declarations)


def check(name: str, iri: str) -> None:
    """Raise UsageError for a prefix that no Turtle document could declare."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"'{name}' is not a prefix: use letters, digits, '.', '-' and '_', a letter first")
    if not is_iri(iri):
        raise UsageError(f"'{iri}' is not an IRI that a prefix can stand for, as http://example.org/ is")
    if max(len(name), len(iri)) > LONGEST:
        raise UsageError(f"a prefix and its IRI have {LONGEST:,} characters at most")


class Names:
    """Terms as Turtle writes them, by the standard prefixes and those given (name -> IRI). Of two prefixes of an IRI it
    is the longer, of two names of one IRI the first."""

    def __init__(self, prefixes: Mapping[str, str] = {}) -> None:
        self._spaces: dict[str, str] = {}
        standard = {name: iri for name, iri in STANDARD.items() if prefixes.get(name, iri) == iri}
        for name, iri in (*prefixes.items(), *standard.items()):
            self._spaces.setdefault(iri, name)
        self._lengths = sorted({len(iri) for iri in self._spaces}, reverse=True)

    def space(self, iri: str) -> str | None:
        """The namespace by whose prefix an IRI is written, if there is one."""
        for length in self._lengths:
            if iri[:length] in self._spaces and _LOCAL.fullmatch(iri, length):
                return iri[:length]
        return None

    def declaration(self, space: str) -> str:
        """The line that declares a namespace."""
        return f"@prefix {self._spaces[space]}: <{space}> ."

    def iri(self, iri: str) -> str:
        """An IRI, by its prefix where it has one."""
        space = self.space(iri)
        return f"<{iri}>" if space is None else f"{self._spaces[space]}:{iri[len(space) :]}"

    def token(self, token: str) -> str:
        """A term."""
        if token[0] == "<":
            return self.iri(token[1:-1])
        if token[0] == "(":
            return f"<<( {' '.join(map(self.token, split_triple(token)))} )>>"
        if token[0] == "_" or token[-1] != ">":
            return to_ntriples(token)
        lexical, datatype, _ = split_literal(token)
        text = to_ntriples(f'"{lexical}"')
        return f"{text}^^{self.iri(datatype)}"

    def spaces(self, token: str) -> Iterator[str]:
        """The namespaces by which a term is written, if any: one, but for a triple term."""
        if token[0] == "(":
            for part in split_triple(token):
                yield from self.spaces(part)
            return
        iri = (
            token[1:-1] if token[0] == "<" else split_literal(token)[1] if token[0] == '"' and token[-1] == ">" else ""
        )
        space = self.space(iri)
        if space is not None:
            yield space
