"""DESCRIBE (SPARQL 1.1, section 16.4) as patterns: the triples of the resources, each once, for the engine to join.

What a description is the standard leaves open. Here it is the concise bounded description: the triples of a resource,
and those of the blank nodes that they lead to.
"""

from __future__ import annotations

from triplake.sparql.algebra import Bgp, Distinct, Extend, Filter, Join, Node, Project, Query, Union, Values
from triplake.sparql.construct import PLACES
from triplestore.model.expression import Call, Constant, Variable

_SUBJECT, _PREDICATE, _OBJECT = PLACES


def described(query: Query) -> Node | None:
    """The pattern of the triples (`PLACES`) of what a DESCRIBE asks for, distinct; None: it asks for nothing."""
    names = tuple(dict.fromkeys(target.token for target in query.targets if isinstance(target, Constant)))
    found: Node | None = None
    if query.pattern is not None:
        for target in query.targets:
            if isinstance(target, Variable):
                one = Project(Extend(query.pattern, _SUBJECT, target), (_SUBJECT,))
                found = one if found is None else Union(found, one)
    if found is None:
        return about(names)
    bound = Filter(found, Call("BOUND", (Variable(_SUBJECT),)))
    return _joined(Distinct(Union(bound, _inline(names)) if names else bound))


def about(subjects: tuple[str, ...]) -> Node | None:
    """The pattern of the triples (`PLACES`) with one of these subjects (tokens, distinct); None without any."""
    if len(subjects) != 1:
        return _joined(_inline(subjects)) if subjects else None
    subject = Constant(subjects[0])
    return Extend(Bgp(((subject, Variable(_PREDICATE), Variable(_OBJECT)),)), _SUBJECT, subject)


def _inline(subjects: tuple[str, ...]) -> Values:
    return Values((_SUBJECT,), tuple((token,) for token in subjects))


def _joined(subjects: Node) -> Node:
    return Join(subjects, Bgp(((Variable(_SUBJECT), Variable(_PREDICATE), Variable(_OBJECT)),)))
