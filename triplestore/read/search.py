"""Searching: the terms of which some literal has words (see `triplake.sparql.text_search`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from triplestore.model.report import JsonObject, Report
from triplestore.model.terms import literal_token, split_literal, to_ntriples
from triplestore.read import query
from triplestore.read.session import Session


@dataclass(frozen=True, slots=True, eq=False)
class Hit(Report):
    """A term that was found. term, property, text: tokens, of its literal that fits best; score: how well, 0 to 2."""

    term: str
    property: str
    text: str
    score: float

    def as_dict(self) -> JsonObject:
        """See `Report`; terms as N-Triples writes them."""
        terms = {name: to_ntriples(getattr(self, name)) for name in ("term", "property", "text")}
        return {**terms, "score": round(self.score, 4)}


def search(session: Session, text: str, most: int | None, properties: Sequence[str], language: str | None) -> list[Hit]:
    """See `Store.search`. properties: tokens."""
    from triplake.sparql.text_search import parsed  # when asked for: a store opens without it

    parsed(text)
    told = [*map(to_ntriples, properties), to_ntriples(literal_token(text))]
    if language is not None:
        told.append(to_ntriples(literal_token(f"lang:{language}")))
    asked = f"""
        PREFIX text: <http://jena.apache.org/text#>
        SELECT ?term ?property ?text ?score
        {{ (?term ?score ?text) text:query ({" ".join(told)}) . ?term ?property ?text }}
        ORDER BY DESC(?score) STRLEN(STR(?text)) ?text ?term ?property"""
    if len(properties) == 1:
        asked = asked.replace("?term ?property ?text }", f"BIND({to_ntriples(properties[0])} AS ?property) }}")
    found: dict[str, Hit] = {}
    result = query.query(session, asked, "canonical", True, False, (), None)
    for row in result.tokens():
        if most is not None and len(found) >= most:
            break
        term, by, literal, score = (token or "" for token in row)
        found.setdefault(term, Hit(term, by, literal, float(split_literal(score)[0])))
    return list(found.values())
