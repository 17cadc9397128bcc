"""What a language model may do with a store: tools whose answers are text and JSON, each within limits.

The names and docstrings of the methods are what the model reads of them (`triplestore.server.mcp`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from triplestore.materialise.limits import Limits
from triplestore.model.errors import UsageError
from triplestore.model.prefixes import Names
from triplestore.model.report import Json, JsonObject
from triplestore.model.stopping import Stop, heeding, interrupting
from triplestore.model.terms import from_rdflib, to_rdflib
from triplestore.proof.text import writer
from triplestore.read.names import token_of
from triplestore.server.readers import Readers
from triplestore.store import Store

ROWS: Final = 1_000
"""Rows of one answer at most."""

PROVED: Final = 20
"""Triples of a description that are proved at most."""

SECONDS: Final = 60.0
"""Seconds that one answer takes at most."""


class Tools:
    """The tools over the store at `path`. options: as for `Store.open`. Close it.

    seconds: for each answer; beyond them StoppedError is raised. rules: see `Store.limits`. Raises what `Store.open`
    raises.
    """

    def __init__(self, path: str | Path, seconds: float = SECONDS, rules: Limits | None = None, **options: Any) -> None:
        self.path, self._seconds, self._rules, self._options = path, seconds, rules or Limits(), options
        self._readers = Readers(path, 2, **options)

    def close(self) -> None:
        """Free the engine."""
        self._readers.close()

    def overview(self) -> JsonObject:
        """What the store holds: prefixes to use in queries, numbers, rulesets, named graphs, and the predicates and
        classes with the most facts. Call this first."""
        with self._reading() as store:
            stats = store.stats()
            names = Names(store.prefixes.known)
            return {
                "prefixes": dict(store.prefixes.known),
                "asserted": stats.asserted,
                "with_inferred": stats.expanded,
                "rulesets": [ruleset.name for ruleset in store.rulesets],
                "equality": store.equality,
                "graphs": [names.token(graph.name) for graph in islice(store.graphs(), 1, 100)],
                "predicates": _counted(store, "SELECT ?k (COUNT(*) AS ?n) { ?s ?k ?o } GROUP BY ?k", names),
                "classes": _counted(store, "SELECT ?k (COUNT(*) AS ?n) { ?s a ?k } GROUP BY ?k", names),
                "inconsistencies": dict(store.violated()),
            }

    def query(self, sparql: str, limit: int = 100, prove: int = 0) -> JsonObject:
        """Answer a SPARQL 1.1 query (SELECT, ASK, CONSTRUCT or DESCRIBE) over asserted and inferred triples; owl:sameAs
        is reasoned with. The store's prefixes need not be declared. limit: rows at most (1 to 1000). prove: for
        CONSTRUCT and DESCRIBE, of how many triples to give a proof."""
        limit = _within(limit, ROWS, "limit")
        with self._reading() as store:
            found = store.query(sparql, stream=True)
            names = found.names
            if found.kind == "ask":
                return {"kind": "ask", "answer": found.boolean}
            rows = list(islice(found.tokens(), limit + 1))
            answer: JsonObject = {
                "kind": found.kind,
                "variables": list(found.variables),
                "rows": [[None if token is None else names.token(token) for token in row] for row in rows[:limit]],
                "more": len(rows) > limit,
            }
            if found.kind != "select" and prove:
                whole = [tuple(map(str, row)) for row in rows[: _within(prove, PROVED, "prove")]]
                answer["proofs"] = [_proof(store, triple) for triple in whole]
            if found.warnings:
                answer["warnings"] = list(found.warnings)
            return answer

    def describe(self, term: str, limit: int = 100) -> JsonObject:
        """All triples about a term (an IRI, or a name with a prefix), as subject and as object, each with whether it is
        asserted; the inferred ones with their proofs, as far as they are not many; and the terms that it equals."""
        limit = _within(limit, ROWS, "limit")
        with self._reading() as store:
            write, node = writer(store.prefixes.known), to_rdflib(self._token(store, term))
            told: list[Json] = []
            proved = 0
            for what in ("asserted", "inferred"):
                of = (triple for triple in store.match(object=node, what=what) if triple[0] != node)
                found = chain(store.match(subject=node, what=what), of)
                for triple in list(islice(found, limit + 1 - len(told))):
                    tokens = tuple(map(from_rdflib, triple))
                    one: JsonObject = {"triple": " ".join(map(write, tokens)), "asserted": what == "asserted"}
                    if what == "inferred" and proved < PROVED:
                        proved += 1
                        one["proof"] = _proof(store, tokens)
                    told.append(one)
            equal = store.equality_class(node, 0) if store.equality != "off" else None
            same = [write(token) for token in islice(equal.tokens, limit)] if equal else []
            return {"triples": told[:limit], "more": len(told) > limit, "equal_terms": same}

    def explain(self, subject: str, predicate: str, object: str) -> JsonObject:
        """Why a triple holds: a proof of smallest depth down to asserted triples, as an indented text; or that it does
        not hold. Terms are IRIs, names with a prefix, `a`, or literals as in N-Triples."""
        with self._reading() as store:
            triple = tuple(self._token(store, term) for term in (subject, predicate, object))
            proof = _proof(store, triple)
            return {"holds": bool(proof), "proof": proof}

    def why_same(self, left: str, right: str, cuts: int = 0) -> JsonObject:
        """Why two terms are one: the shortest chain of equalities, each with its proof. cuts: also so many sets of
        links to remove for them to be two, those most likely wrong first."""
        from triplestore.proof.why_text import chain_text, cuts_text

        with self._reading() as store:
            write = writer(store.prefixes.known)
            ends = [to_rdflib(self._token(store, term)) for term in (left, right)]
            links = store.why_same(ends[0], ends[1])
            if links is None:
                return {"same": False}
            found: JsonObject = {"same": True, "chain": "\n".join(chain_text(links, write))}
            if cuts and links.links:
                most = _within(cuts, 20, "cuts")
                found["cuts"] = "\n".join(cuts_text(store.cuts(ends[0], ends[1], most), write))
            return found

    def suspects(self, limit: int = 10) -> list[JsonObject]:
        """The equalities that are most likely wrong, each with its reasons in bits (one bit doubles the odds) and the
        asserted triples to delete."""
        with self._reading() as store:
            return [suspect.as_dict() for suspect in store.suspects(_within(limit, 100, "limit"))]

    def search(self, text: str, limit: int = 20) -> JsonObject:
        """Find terms by the texts that they have (labels, names, titles ..), those first that fit best. Words,
        "phrases", prefixes (rembr*), AND, OR, NOT; without a word between two, either is enough."""
        with self._reading() as store:
            shown = _shown(Names(store.prefixes.known))
            found = store.search(text, _within(limit, ROWS, "limit"))
            return {
                "found": [
                    {"term": shown(hit.term), "property": shown(hit.property), "text": shown(hit.text)} for hit in found
                ]
            }

    def check(self, limit: int = 10) -> JsonObject:
        """The inconsistencies by rule, and some of each with a proof of why the data contradicts itself."""
        from triplestore.proof.text import text

        with self._reading() as store:
            write = writer(store.prefixes.known)
            counts = store.violated()
            some = {rule: range(1, min(count, _within(limit, PROVED, "limit")) + 1) for rule, count in counts.items()}
            shown = [
                {"rule": rule, "proof": "\n".join(text(store.explain_violation(rule, number), write))}
                for rule, numbers in some.items()
                for number in numbers
            ]
            return {"counts": dict(counts), "inconsistencies": shown}

    def update(self, sparql: str, dry_run: bool = True) -> JsonObject:
        """Change the store by a SPARQL 1.1 Update request. With dry_run nothing is changed: it tells what would be,
        which terms would become one or two, and which inconsistencies it would make or mend. Do that first."""
        with Store.open(self.path, **self._options) as store, heeding(self._stop()):
            store.limits = self._rules
            return store.sparql_update(sparql, dry_run=dry_run).as_dict()

    def _stop(self) -> Stop:
        return Stop(self._seconds, f"the answer took more than {self._seconds:g} seconds: ask for less at a time")

    @contextmanager
    def _reading(self) -> Iterator[Store]:
        self._readers.refresh()
        with self._readers.reading() as (store, engine), heeding(self._stop()), interrupting(engine):
            yield store

    def _token(self, store: Store, term: str) -> str:
        return token_of(term, store.prefixes.known, "`overview` lists those that are; for {} write the IRI")


def _within(number: int, most: int, name: str) -> int:
    if not 1 <= number <= most:
        raise UsageError(f"{name} is a number from 1 to {most:,}, not {number}")
    return number


def _proof(store: Store, triple: tuple[str, ...]) -> str:
    """The proof of a triple as text; nothing if it does not hold."""
    from triplestore.proof.text import text

    proof = store.explain(tuple(map(to_rdflib, triple)))
    return "" if proof is None else "\n".join(text(proof, writer(store.prefixes.known)))


def _shown(names: Names) -> Any:
    return lambda token: None if token is None else names.token(token)


def _counted(store: Store, query: str, names: Names) -> list[JsonObject]:
    rows = store.query(f"{query} ORDER BY DESC(?n) ?k LIMIT 30", same_as="canonical").tokens()
    return [{"term": names.token(str(key)), "facts": int(str(number).split('"')[1])} for key, number in rows]
