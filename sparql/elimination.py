"""Counting the solutions of a basic graph pattern without enumerating them, by variable elimination.

Source: Dechter 1999 ("Bucket elimination"), over the semiring of counts (Abo Khamis, Ngo and Rudra 2016, "FAQ"). Each
triple pattern is a factor: rows of representatives with a count. A variable that the aggregate does not read is taken
out of the sum as soon as the factors that mention it are joined: rows that differ in nothing else become one, their
counts added. ``COUNT(*)`` of a star over k properties costs the facts of the star, not the product of its arms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from triplake.sparql import joins
from triplake.sparql.algebra import Bgp, Node, Triple
from triplake.sparql.classes import only
from triplake.sparql.context import Context, Needed
from triplake.sparql.relation import Relation, Steps
from triplestore.model.expression import Constant, Variable
from triplestore.model.terms import RDF


def counted(compiler: Context, node: Node, needed: Needed) -> Relation:
    """The solutions of a pattern for an aggregate that reads the `needed` variables: as a bag of these, with counts.

    Other patterns than basic ones, those that constants make small, and those that join values of several forms, or
    quads, which factors have no column for, are left to `Compiler.node`.
    """
    triples = tuple(dict.fromkeys(node.triples)) if isinstance(node, Bgp) else ()
    objects = [o for _, _, o in triples if isinstance(o, Variable)]
    how = compiler.reading.matching
    apart = how.graphs or (how.facts != how.base and len(set(objects)) < len(objects))
    if len(triples) < 2 or apart or any(_is_selective(triple) for triple in triples):
        return compiler.node(node, needed)
    mentions = [frozenset(t.name for t in triple if isinstance(t, Variable)) for triple in triples]
    order = sorted(frozenset().union(*mentions) - needed, key=lambda v: (sum(v in m for m in mentions), v))
    factors = list(compiler.factors(triples))
    for variable in order:
        joined = _product(compiler, [f for f in factors if variable in f.columns])
        factors = [f for f in factors if variable not in f.columns]
        factors.append(_summed(compiler.steps, only(compiler.steps, joined, joined.columns.keys() - {variable})))
    return _product(compiler, factors)


def _is_selective(triple: Triple) -> bool:
    """Whether a subject or object is given: few matches, unless it is a class."""
    s, p, o = triple
    return isinstance(s, Constant) or (isinstance(o, Constant) and p != Constant(f"<{RDF}type>"))


def _product(compiler: Context, factors: Sequence[Relation]) -> Relation:
    """The join of factors, those that share a variable first."""
    left = list(factors[1:])

    def joined(a: Relation, _: object) -> Relation:
        b = max(left, key=lambda f: len(f.columns.keys() & a.columns.keys()))
        left.remove(b)
        return joins.join(compiler, a, b, frozenset((*a.columns, *b.columns)))

    return reduce(joined, range(len(left)), factors[0])


def _summed(steps: Steps, relation: Relation) -> Relation:
    """The relation with equal rows as one that counts for all."""
    names = ", ".join(steps.column(name) for name in relation.columns)
    count = f"CAST({'sum(n)' if relation.weighted else 'count(*)'} AS BIGINT) AS n"
    grouping = f"GROUP BY {names}" if names else "HAVING count(*) > 0"
    sql = f"SELECT {', '.join(filter(None, [names, count]))} FROM {relation.name} {grouping}"
    return replace(relation, name=steps.add("summed", sql), weighted=True)
