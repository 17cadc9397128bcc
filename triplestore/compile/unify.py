"""Unification of the two ends of equalities in bodies.

`x owl:sameAs x` holds of every term x that occurs and is never stored, so an atom of owl:sameAs is *read* in one of two
ways: as a stored triple, or reflexively, which makes its ends one term. Terms have no structure, so unifying them
(Robinson 1965) only ever puts one term in place of a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import product
from typing import Final, Generic, TypeVar

from triplestore.model.terms import OWL

SAME_AS_TOKEN: Final = f"<{OWL}sameAs>"

Term = TypeVar("Term", bound=Hashable)
Atom = TypeVar("Atom")

Reading = tuple[bool, ...]
"""For each atom of a body, whether it is read reflexively."""


def readings(equalities: Iterable[bool | None], stored: bool) -> Iterator[Reading]:
    """The ways to read a body. equalities: whether each atom is an equality; None: it may be, for some of its matches.
    stored: equalities of different terms are stored (equality `axioms`)."""
    ways = {True: (False, True) if stored else (True,), False: (False,), None: (False, True)}
    return product(*(ways[equality] for equality in equalities))


def parted(atoms: Sequence[Atom], reading: Reading) -> tuple[list[Atom], list[Atom]]:
    """The atoms that are read as stored triples, and those that are read reflexively."""
    parts: tuple[list[Atom], list[Atom]] = [], []
    for atom, reflexive in zip(atoms, reading, strict=True):
        parts[reflexive].append(atom)
    return parts


class Unifier(Generic[Term]):
    """A substitution. is_free: whether a term is a variable that may be replaced. outer: what the terms that are left
    stand for outside of the body."""

    def __init__(self, is_free: Callable[[Term], bool], outer: Callable[[Term], Term] = lambda term: term) -> None:
        self._is_free, self._outer = is_free, outer
        self.replaced: dict[Term, Term] = {}

    def __call__(self, term: Term) -> Term:
        """What a term stands for by now."""
        while term in self.replaced:
            term = self.replaced[term]
        return self._outer(term)

    def unify(self, left: Term, right: Term) -> bool:
        """Make two terms one; False where they differ and neither is free, so that they can only be compared."""
        left, right = self(left), self(right)
        if left == right:
            return True
        if self._is_free(left):
            self.replaced[left] = right
        elif self._is_free(right):
            self.replaced[right] = left
        else:
            return False
        return True
