"""What holds of every term and is not stored: it equals itself (eq-ref), it is an rdfs:Resource (rdfs4a, rdfs4b).

These would be as many facts as there are terms, and say nothing. Queries that ask for them by name have them (whether
:x owl:sameAs :x, what ?x is a rdfs:Resource), and exports that ask. What other rules make of them is derived as if they
were there: of eq-ref by the compiler (`triplestore.compile.specialise`), of rdfs4a and rdfs4b by rdfs.dlog.

There is one case in which eq-ref is no longer virtual. Where owl:sameAs itself is equal to another term, `:p` say, then
`:x :p :x` follows for every term :x (eq-rep-p), a fact like any other of a property of the user's; and so `:x
owl:sameAs :x` is one too. They are still not stored (with equality `rewrite`), but listed wherever facts are.
"""

from __future__ import annotations

from typing import Final

from triplestore.engine.sql import minus
from triplestore.model.terms import FIRST_LITERAL, RDFS, SAME_AS, TYPE, builtin

RESOURCE: Final = builtin(RDFS + "Resource")


def resources_sql(facts: str, literals: bool) -> str:
    """`x rdf:type rdfs:Resource` of every subject and object x of the triples `facts` (after FROM), distinct, as SQL.

    literals: of literals too, for which RDF has no place as a subject.
    """
    terms = f"SELECT s AS x FROM {facts} a UNION SELECT o AS x FROM {facts} b"
    bound = "" if literals else f" WHERE x < {FIRST_LITERAL}"
    return f"SELECT x AS s, CAST({TYPE} AS BIGINT) AS p, CAST({RESOURCE} AS BIGINT) AS o FROM ({terms}) t{bound}"


def reflexive_sql(facts: str) -> str:
    """`x owl:sameAs x` of every term x of the triples `facts` (after FROM) but literals, distinct, as SQL."""
    places = " UNION ".join(f"SELECT {c} AS x FROM {facts} {c}t" for c in "spo")
    same = f"CAST({SAME_AS} AS BIGINT)"
    own = f"SELECT {same} AS x WHERE EXISTS (SELECT 1 FROM {facts} e)"
    return f"SELECT x AS s, {same} AS p, x AS o FROM ({places} UNION {own}) t WHERE x < {FIRST_LITERAL}"


def alone_sql() -> str:
    """`x owl:sameAs x` of every term x of the closure (but literals) that is in no class of `same_as`, distinct, as
    SQL: what is listed where owl:sameAs itself is in a class, under each name of it."""
    triples = "(SELECT s, p, o FROM fact UNION ALL SELECT s, p, o FROM asserted)"  # whose clashes fact lacks
    return (
        f"SELECT r.s, r.p, r.o FROM ({reflexive_sql(triples)}) r "
        "WHERE NOT EXISTS (SELECT 1 FROM same_as m WHERE m.term = r.s)"
    )


def with_virtual_sql(triples: str, reflexive: bool, resources: bool) -> str:
    """The triples of the SELECT `triples`, distinct, and those that hold of every term of them, as SQL."""
    added = [reflexive_sql(f"({triples})")] if reflexive else []
    added += [resources_sql(f"({triples})", False)] if resources else []
    if not added:
        return triples
    known = f"SELECT s, p, o FROM ({triples}) c WHERE (p = {SAME_AS} AND s = o) OR (p = {TYPE} AND o = {RESOURCE})"
    new = minus(f"({' UNION ALL '.join(added)})", f"({known})", "spo")
    return f"SELECT s, p, o FROM ({triples}) c UNION ALL {new}"
