"""Proofs as users get them: trees of tokens in which equal parts are the same object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from triplestore.model.terms import to_rdflib

if TYPE_CHECKING:
    from rdflib.term import Node

ASSERTED: Final = "asserted"

Triple = tuple[str, str, str]
"""Three tokens."""


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """Why a triple holds.

    tokens: the triple (see `triplestore.model.terms`); None for an inconsistency. by: "asserted", or the id of the rule
    that derives it from the premises. depth: rule applications on the longest way down.

    conditions: what the rule asks besides its premises (NOT, FILTER, BIND, AGGREGATE), as text. graphs: of an asserted
    triple the graphs (tokens) that assert it, where the store has named ones; else nothing.

    Putting equals for equals costs no depth: eq-ref (its premise is a triple by which the term occurs, unless asserted
    triples mention it), eq-sym, eq-trans (its premises are the links of a chain, in order) and eq-rep-s, -p, -o (the
    equality, and the triple that it is used on). Nor do the two that need no premise: dt-eq,
    two literals of one value, and dt-type2, a datatype that has a literal's value.
    """

    tokens: tuple[str, str, str] | None
    by: str
    premises: tuple[Proof, ...]
    depth: int
    conditions: tuple[str, ...] = ()
    graphs: tuple[str, ...] = ()

    @property
    def triple(self) -> tuple[Node, Node, Node] | None:
        """The triple as rdflib terms; None for an inconsistency."""
        if self.tokens is None:
            return None
        s, p, o = (to_rdflib(token) for token in self.tokens)
        return s, p, o

    def steps(self) -> Iterator[Proof]:
        """All parts of the proof, each once, premises before what they prove."""
        seen: set[int] = set()
        stack: list[tuple[Proof, bool]] = [(self, False)]
        while stack:
            proof, done = stack.pop()
            if done:
                yield proof
            elif id(proof) not in seen:
                seen.add(id(proof))
                stack.append((proof, True))
                stack.extend((premise, False) for premise in reversed(proof.premises))

    def sourced(self, graphs: Mapping[Triple, tuple[str, ...]]) -> Proof:
        """The same with the graphs of its asserted triples."""
        made: dict[int, Proof] = {}
        for step in self.steps():
            premises = tuple(made[id(premise)] for premise in step.premises)
            leaf = step.by == ASSERTED and step.tokens is not None
            found = graphs.get(step.tokens, ()) if leaf and step.tokens is not None else ()
            made[id(step)] = replace(step, premises=premises, graphs=found)
        return made[id(self)]

    def asserted(self) -> list[tuple[str, str, str]]:
        """The asserted triples that the proof rests on, each once, as tokens."""
        leaves = (p.tokens for p in self.steps() if p.by == ASSERTED and p.tokens is not None)
        return list(dict.fromkeys(leaves))
