"""Property path expressions (SPARQL 1.1, section 18.1.7) as frozen data. A single predicate is a `Constant`."""

from __future__ import annotations

from dataclasses import dataclass

from triplestore.model.expression import Constant, Variable


@dataclass(frozen=True, slots=True)
class Inverse:
    """``^path``."""

    path: Path


@dataclass(frozen=True, slots=True)
class Sequence:
    """``first/second``."""

    first: Path
    second: Path


@dataclass(frozen=True, slots=True)
class Alternative:
    """``one|other``."""

    one: Path
    other: Path


@dataclass(frozen=True, slots=True)
class Repeat:
    """``path?`` (zero), ``path+`` (many) and ``path*`` (both)."""

    path: Path
    zero: bool
    many: bool


@dataclass(frozen=True, slots=True)
class Negated:
    """``!(a|b|^c)``: predicates excluded forwards and backwards; None: not in that direction at all."""

    forward: tuple[Constant, ...] | None
    backward: tuple[Constant, ...] | None


Path = Variable | Constant | Inverse | Sequence | Alternative | Repeat | Negated
"""A variable stands for any predicate, and only outside of every operator."""


def has_zero_length(path: Path) -> bool:
    """Whether a path relates every term to itself."""
    match path:
        case Inverse(inner):
            return has_zero_length(inner)
        case Sequence(first, second):
            return has_zero_length(first) and has_zero_length(second)
        case Alternative(one, other):
            return has_zero_length(one) or has_zero_length(other)
        case Repeat(inner, zero, _):
            return zero or has_zero_length(inner)
        case _:
            return False
