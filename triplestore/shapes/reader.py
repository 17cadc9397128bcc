"""Shapes graph to shapes (SHACL, section 2 and 4). What is ill-formed is refused with the shape's name, and so are
shapes that refer to themselves, and what is not part of SHACL Core: nothing is passed over in silence."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Final

from triplestore.expressions.regex import read
from triplestore.model.errors import UnsupportedError, UsageError
from triplestore.model.terms import OWL, RDFS, lexical_of
from triplestore.shapes import model
from triplestore.shapes.graph import ShapesGraph, Triple, show
from triplestore.shapes.model import SH, SUBCLASS, TYPE, Constraint, Shape, Targets, sh
from triplestore.shapes.paths import read_path

_CLASSES: Final = (f"<{RDFS}Class>", f"<{OWL}Class>")
_SHAPES: Final = (sh("NodeShape"), sh("PropertyShape"))

_ABOUT: Final = frozenset(
    map(
        sh,
        (
            *("targetNode", "targetClass", "targetSubjectsOf", "targetObjectsOf", "path", "severity", "message"),
            *("deactivated", "name", "description", "order", "group", "defaultValue", "optional"),
        ),
    )
)
"""What a shape has that is no constraint, or part of one."""

_SEVERAL: Final = frozenset(
    map(
        sh,
        (
            *("class", "equals", "disjoint", "lessThan", "lessThanOrEquals", "hasValue", "node", "property"),
            *("not", "and", "or", "xone"),
        ),
    )
)
"""Parameters that a shape may have several values of, a constraint each; of others it has one."""

_RANGES: Final = {"minExclusive": ">", "minInclusive": ">=", "maxExclusive": "<", "maxInclusive": "<="}

_KINDS: Final = {
    sh("IRI"): ("IRI",),
    sh("BlankNode"): ("BLANK",),
    sh("Literal"): ("LITERAL",),
    sh("BlankNodeOrIRI"): ("BLANK", "IRI"),
    sh("BlankNodeOrLiteral"): ("BLANK", "LITERAL"),
    sh("IRIOrLiteral"): ("IRI", "LITERAL"),
}

_OF_PATHS: Final = frozenset(
    map(sh, ("minCount", "maxCount", "uniqueLang", "lessThan", "lessThanOrEquals", "qualifiedValueShape"))
)
"""Constraints that property shapes alone can have."""


def read_shapes(triples: Iterable[Triple], name: str, regimes: Container[str] = ()) -> tuple[Shape, ...]:
    """The shapes of a graph that have targets, with those that they refer to. name: what it is called in messages.
    regimes: the entailment regimes (tokens) that the graph may ask for.

    Raises InputError for what is ill-formed and for recursive shapes, UnsupportedError for what is not SHACL Core."""
    graph = ShapesGraph(triples, name)
    for subject in graph.subjects(sh("entailment")):
        for regime in graph.objects(subject, sh("entailment")):
            if graph.iri(subject, sh("entailment"), regime) not in regimes:
                raise UnsupportedError(
                    f"{name}: {graph.shown(subject)}: sh:entailment asks for {show(regime)}, which the rules of the "
                    "store are not known to give: take it out, and what they do give is validated"
                )
    reader = _Reader(graph)
    for subject, found in graph.by_subject.items():  # shapes without targets have faults, too
        if reader.is_shape(subject, found):
            reader.shape(subject)
    return tuple(shape for shape in reader.made.values() if shape.targets)


class _Reader:
    """made: the shapes that have been read, by name. around: those that are being read. parameters: each with what
    makes constraints of its value. parts: parameters that are part of another's constraint, with what checks a value.
    custom: the constraint components that are not SHACL's own."""

    def __init__(self, graph: ShapesGraph) -> None:
        self.graph = graph
        self.made: dict[str, Shape] = {}
        self.around: list[str] = []
        self.parameters: dict[str, Callable[[str, str, str], Iterable[Constraint]]] = {
            "class": lambda s, p, o: [model.Class(self.graph.iri(s, p, o))],
            "datatype": lambda s, p, o: [model.Datatype(self.graph.iri(s, p, o))],
            "nodeKind": self._node_kind,
            "minCount": lambda s, p, o: [model.Count(True, self.graph.number(s, p, o))],
            "maxCount": lambda s, p, o: [model.Count(False, self.graph.number(s, p, o))],
            **dict.fromkeys(_RANGES, self._range),
            "minLength": lambda s, p, o: [model.Length(True, self.graph.number(s, p, o))],
            "maxLength": lambda s, p, o: [model.Length(False, self.graph.number(s, p, o))],
            "pattern": self._pattern,
            "languageIn": self._language_in,
            "uniqueLang": lambda s, p, o: [model.UniqueLang()] if self.graph.flag(s, p, o) else [],
            "equals": lambda s, p, o: [model.Equals(self.graph.iri(s, p, o))],
            "disjoint": lambda s, p, o: [model.Disjoint(self.graph.iri(s, p, o))],
            "lessThan": lambda s, p, o: [model.LessThan(self.graph.iri(s, p, o), False)],
            "lessThanOrEquals": lambda s, p, o: [model.LessThan(self.graph.iri(s, p, o), True)],
            "not": lambda s, p, o: [model.Not(self.shape(o))],
            "and": lambda s, p, o: [model.And(self._shapes(s, p, o))],
            "or": lambda s, p, o: [model.Or(self._shapes(s, p, o))],
            "xone": lambda s, p, o: [model.Xone(self._shapes(s, p, o))],
            "node": self._node,
            "property": self._property,
            "qualifiedValueShape": self._qualified,
            "closed": self._closed,
            "hasValue": lambda s, p, o: [model.HasValue(o)],
            "in": lambda s, p, o: [model.In(self.graph.members(s, p, o))],
        }
        self.parts: dict[str, Callable[[str, str, str], object]] = {
            "flags": graph.string,
            "ignoredProperties": self._iris,
            "qualifiedMinCount": graph.number,
            "qualifiedMaxCount": graph.number,
            "qualifiedValueShapesDisjoint": graph.flag,
        }
        self.custom = dict(self._custom())

    def _custom(self) -> Iterable[tuple[str, set[str]]]:
        """The constraint components that the graph has beside SHACL's own, each with the parameters that a shape has to
        have that uses it (section 6.2)."""
        for name, found in self.graph.by_subject.items():
            if self._is_a(found, sh("ConstraintComponent")) and not name.startswith(f"<{SH}"):
                wanted = set[str]()
                for declared in found.get(sh("parameter"), ()):
                    optional = self.graph.value(declared, sh("optional"))
                    if not self.graph.flag(declared, sh("optional"), optional):
                        wanted.update(self.graph.objects(declared, sh("path")))
                if wanted:
                    yield name, wanted

    def is_shape(self, subject: str, found: dict[str, dict[str, None]]) -> bool:
        """Whether a subject is a shape by what it is itself (section 2.1); others are as parts of shapes."""
        return self._is_a(found, *_SHAPES) or any(p.startswith(f"<{SH}target") or self._is_parameter(p) for p in found)

    def _is_parameter(self, predicate: str) -> bool:
        local = predicate[len(SH) + 1 : -1]
        return predicate.startswith(f"<{SH}") and (local in self.parameters or local in self.parts)

    def shape(self, name: str) -> Shape:
        """A shape by its name."""
        if name in self.made:
            return self.made[name]
        if name in self.around:
            ring = " -> ".join(map(self.graph.shown, (*self.around[self.around.index(name) :], name)))
            raise self.graph.fault(
                name, f"the shape refers to itself ({ring}): what recursive shapes mean, SHACL leaves open"
            )
        if name[0] == '"':
            holder = (self.around or [name])[-1]
            raise self.graph.fault(holder, f"it refers to {show(name)} as a shape: a literal is not a shape")
        found = self.graph.predicates(name)
        if not found and name[0] == "<":
            raise self.graph.fault(
                name, "the shapes graph says nothing of it, and names it as a shape: correct the name"
            )
        for component, wanted in self.custom.items():
            if wanted <= found.keys():
                raise self._beyond(name, f"the constraint component {show(component)}")
        self.around.append(name)
        path_node = self.graph.value(name, sh("path"))
        path = None if path_node is None else read_path(self.graph, name, path_node)
        if path is None and self._is_a(found, sh("PropertyShape")):
            raise self.graph.fault(name, "it is an sh:PropertyShape without sh:path: give it one")
        if path is not None and self._is_a(found, sh("NodeShape")):
            raise self.graph.fault(name, "it is an sh:NodeShape with sh:path: make it an sh:PropertyShape")
        severity = self.graph.value(name, sh("severity"))
        self.made[name] = Shape(
            name,
            path,
            self._targets(name, found),
            tuple(c for predicate in found for c in self._constraints(name, predicate, path)),
            sh("Violation") if severity is None else self.graph.iri(name, sh("severity"), severity),
            tuple(self.graph.text(name, sh("message"), o) for o in self.graph.objects(name, sh("message"))),
            self.graph.flag(name, sh("deactivated"), self.graph.value(name, sh("deactivated"))),
        )
        self.around.pop()
        return self.made[name]

    def _targets(self, name: str, found: dict[str, dict[str, None]]) -> Targets:
        def iris(predicate: str) -> tuple[str, ...]:
            return tuple(self.graph.iri(name, sh(predicate), o) for o in found.get(sh(predicate), ()))

        implicit = self._is_a(found, *_SHAPES) and self._is_a(found, *_CLASSES)
        if implicit and name[0] == "_":
            raise self.graph.fault(name, "it is a class and a shape, and a blank node: name it by an IRI")
        nodes = tuple(found.get(sh("targetNode"), ()))
        if any(node[0] == "_" for node in nodes):
            raise self.graph.fault(name, "sh:targetNode is a blank node: it has to be an IRI or a literal")
        classes = (*iris("targetClass"), *([name] if implicit else []))
        return Targets(nodes, classes, iris("targetSubjectsOf"), iris("targetObjectsOf"))

    def _is_a(self, found: dict[str, dict[str, None]], *classes: str) -> bool:
        """Whether a subject is an instance of one of some classes, by its types and the classes above them."""
        met, left = set[str](), list(found.get(TYPE, ()))
        while left:
            above = left.pop()
            if above in classes:
                return True
            if above not in met:
                met.add(above)
                left += self.graph.objects(above, SUBCLASS)
        return False

    # -- constraints ------------------------------------------------------------------------------------------------

    def _constraints(self, name: str, predicate: str, path: object) -> Iterable[Constraint]:
        if not predicate.startswith(f"<{SH}") or predicate in _ABOUT:
            return
        if not self._is_parameter(predicate):
            raise self._beyond(name, show(predicate))
        if path is None and predicate in _OF_PATHS:
            raise self.graph.fault(name, f"{show(predicate)} is for property shapes, and this one has no sh:path")
        if predicate not in _SEVERAL:
            self.graph.value(name, predicate)
        local = predicate[len(SH) + 1 : -1]
        for value in self.graph.objects(name, predicate):
            if local in self.parts:
                self.parts[local](name, predicate, value)
            else:
                yield from self.parameters[local](name, predicate, value)

    def _beyond(self, name: str, what: str) -> UnsupportedError:
        """That a shape has what is not in SHACL Core."""
        return UnsupportedError(
            f"{self.graph.name}: {self.graph.shown(name)}: {what} is not part of SHACL Core, which is what Triplake "
            "validates: take it out"
        )

    def _node_kind(self, name: str, predicate: str, value: str) -> list[Constraint]:
        if value not in _KINDS:
            raise self.graph.fault(name, f"sh:nodeKind is {show(value)}: use one of {', '.join(map(show, _KINDS))}")
        return [model.NodeKind(_KINDS[value])]

    def _range(self, name: str, predicate: str, value: str) -> list[Constraint]:
        local = predicate[len(SH) + 1 : -1]
        component = local[0].upper() + local[1:]
        return [model.Range(component, _RANGES[local], self.graph.literal(name, predicate, value))]

    def _pattern(self, name: str, predicate: str, value: str) -> list[Constraint]:
        flags = self.graph.value(name, sh("flags"))
        pattern = self.graph.string(name, predicate, value)
        found = model.Pattern(pattern, None if flags is None else self.graph.string(name, sh("flags"), flags))
        try:
            read(lexical_of(pattern), "" if flags is None else lexical_of(flags))
        except UsageError as error:
            raise self.graph.fault(name, f"sh:pattern cannot be matched: {error}") from error
        return [found]

    def _language_in(self, name: str, predicate: str, value: str) -> list[Constraint]:
        members = self.graph.members(name, predicate, value)
        return [model.LanguageIn(tuple(self.graph.string(name, predicate, member) for member in members))]

    def _shapes(self, name: str, predicate: str, value: str) -> tuple[Shape, ...]:
        return tuple(self.shape(member) for member in self.graph.members(name, predicate, value))

    def _node(self, name: str, predicate: str, value: str) -> list[Constraint]:
        shape = self.shape(value)
        if shape.path is not None:
            raise self.graph.fault(name, "sh:node is a property shape: use sh:property")
        return [model.Node(shape)]

    def _property(self, name: str, predicate: str, value: str) -> list[Constraint]:
        shape = self.shape(value)
        if shape.path is None:
            raise self.graph.fault(name, f"{self.graph.shown(value)}, its sh:property, has no sh:path: give it one")
        return [model.Property(shape)]

    def _iris(self, name: str, predicate: str, value: str) -> list[str]:
        return [self.graph.iri(name, predicate, member) for member in self.graph.members(name, predicate, value)]

    def _closed(self, name: str, predicate: str, value: str) -> list[Constraint]:
        if not self.graph.flag(name, predicate, value):
            return []
        ignored = self.graph.value(name, sh("ignoredProperties"))
        named = [] if ignored is None else self._iris(name, sh("ignoredProperties"), ignored)
        paths = [self.graph.value(o, sh("path")) for o in self.graph.objects(name, sh("property"))]
        given = [p for p in paths if p is not None and p[0] == "<"]
        return [model.Closed(tuple(dict.fromkeys((*given, *named))))]

    def _qualified(self, name: str, predicate: str, value: str) -> Iterable[Constraint]:
        shape, siblings = self.shape(value), tuple[Shape, ...]()
        disjoint = sh("qualifiedValueShapesDisjoint")
        if self.graph.flag(name, disjoint, self.graph.value(name, disjoint)):
            siblings = tuple(self.shape(other) for other in self._siblings(name) if other != value)
        found = []
        for minimum, local in ((True, "qualifiedMinCount"), (False, "qualifiedMaxCount")):
            number = self.graph.value(name, sh(local))
            if number is not None:
                found.append(
                    model.Qualified(minimum, self.graph.number(name, sh(local), number), shape, siblings),
                )
        if not found:
            raise self.graph.fault(name, "sh:qualifiedValueShape needs sh:qualifiedMinCount or sh:qualifiedMaxCount")
        return found

    def _siblings(self, name: str) -> list[str]:
        """The qualified value shapes of the property shapes beside one (section 4.7.3)."""
        parents = [s for s in self.graph.subjects(sh("property")) if name in self.graph.objects(s, sh("property"))]
        beside = (other for parent in parents for other in self.graph.objects(parent, sh("property")))
        found = (value for other in beside for value in self.graph.objects(other, sh("qualifiedValueShape")))
        return list(dict.fromkeys(found))
