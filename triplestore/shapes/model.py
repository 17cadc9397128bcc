"""Shapes as frozen data: what SHACL's shapes graphs say. Terms are tokens (`triplestore.model.terms`).

Source: W3C, Shapes Constraint Language (SHACL), 20 July 2017; a constraint has the name of its component there, and a
shape holds the shapes that it refers to, which is why none refers to itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from triplake.sparql.paths import Path
from triplestore.model.terms import RDF, RDFS

SH: Final = "http://www.w3.org/ns/shacl#"
TYPE: Final = f"<{RDF}type>"
SUBCLASS: Final = f"<{RDFS}subClassOf>"


def sh(name: str) -> str:
    """The token of a term of SHACL."""
    return f"<{SH}{name}>"


@dataclass(frozen=True, slots=True)
class Targets:
    """What a shape is validated for (section 2.1.3): nodes, the instances of classes, the subjects and the objects of
    predicates."""

    nodes: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    subjects_of: tuple[str, ...] = ()
    objects_of: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.nodes or self.classes or self.subjects_of or self.objects_of)


@dataclass(frozen=True, slots=True)
class Class:
    """sh:class."""

    cls: str


@dataclass(frozen=True, slots=True)
class Datatype:
    """sh:datatype."""

    datatype: str


@dataclass(frozen=True, slots=True)
class NodeKind:
    """sh:nodeKind. kinds: some of IRI, BlankNode and Literal."""

    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """sh:minCount, sh:maxCount: `minimum` says which."""

    minimum: bool
    number: int


@dataclass(frozen=True, slots=True)
class Range:
    """sh:minExclusive and its like. operator: what a value has to be, compared with the bound."""

    component: str
    operator: str
    bound: str


@dataclass(frozen=True, slots=True)
class Length:
    """sh:minLength, sh:maxLength."""

    minimum: bool
    number: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """sh:pattern with sh:flags; both are literals."""

    pattern: str
    flags: str | None


@dataclass(frozen=True, slots=True)
class LanguageIn:
    """sh:languageIn; literals."""

    ranges: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UniqueLang:
    """sh:uniqueLang true."""


@dataclass(frozen=True, slots=True)
class Equals:
    """sh:equals."""

    predicate: str


@dataclass(frozen=True, slots=True)
class Disjoint:
    """sh:disjoint."""

    predicate: str


@dataclass(frozen=True, slots=True)
class LessThan:
    """sh:lessThan; or_equals: sh:lessThanOrEquals."""

    predicate: str
    or_equals: bool


@dataclass(frozen=True, slots=True)
class Not:
    """sh:not."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class And:
    """sh:and."""

    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """sh:or."""

    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Xone:
    """sh:xone."""

    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """sh:node."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class Property:
    """sh:property: what it finds are results of the property shape."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class Qualified:
    """sh:qualifiedValueShape with sh:qualifiedMinCount or sh:qualifiedMaxCount, `minimum` says which. siblings: the
    shapes that a value that counts must not conform to (sh:qualifiedValueShapesDisjoint)."""

    minimum: bool
    number: int
    shape: Shape
    siblings: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Closed:
    """sh:closed true. predicates: those that a value may have."""

    predicates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HasValue:
    """sh:hasValue."""

    value: str


@dataclass(frozen=True, slots=True)
class In:
    """sh:in."""

    values: tuple[str, ...]


Constraint = (
    Class
    | Datatype
    | NodeKind
    | Count
    | Range
    | Length
    | Pattern
    | LanguageIn
    | UniqueLang
    | Equals
    | Disjoint
    | LessThan
    | Not
    | And
    | Or
    | Xone
    | Node
    | Property
    | Qualified
    | Closed
    | HasValue
    | In
)


@dataclass(frozen=True, slots=True)
class Shape:
    """A node shape, or a property shape: the one with a path.

    severity: an IRI. messages: literals.
    """

    name: str
    path: Path | None = None
    targets: Targets = field(default_factory=Targets)
    constraints: tuple[Constraint, ...] = ()
    severity: str = sh("Violation")
    messages: tuple[str, ...] = ()
    deactivated: bool = False


def component(constraint: Constraint) -> str:
    """The name of a constraint's component, without `ConstraintComponent`."""
    match constraint:
        case Count(minimum) | Length(minimum) | Qualified(minimum):
            return f"{'Qualified' * isinstance(constraint, Qualified)}{'Min' if minimum else 'Max'}" + (
                "Length" if isinstance(constraint, Length) else "Count"
            )
        case Range(name):
            return name
        case LessThan(_, or_equals):
            return "LessThanOrEquals" if or_equals else "LessThan"
        case _:
            return type(constraint).__name__
