"""The equality modes of a store."""

from __future__ import annotations

from enum import StrEnum


class Equality(StrEnum):
    """What owl:sameAs means in a store; fixed for its life, and written into manifests as its value."""

    REWRITE = "rewrite"
    """Equal terms are one: facts are stored under representatives, classes in the table `same_as`."""
    AXIOMS = "axioms"
    """Equal terms are one by the congruence rules (`equality.dlog`): every fact is stored under every name."""
    OFF = "off"
    """owl:sameAs is a property like any other."""
