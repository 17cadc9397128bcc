"""Modules of an ontology, each a file that imports earlier ones: a deep hierarchy of classes with all sorts of
restrictions on them, properties with inverses, domains and ranges; in the manner of FIBO.

Much of such an ontology is outside OWL 2 RL (existentials on the right, cardinalities above one, unions on the right)
and has no or partial effect; what has an effect must not be lost in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from datasets.university.dice import Dice

BASE = "http://example.org/finance/"
UPPER = "https://upper.example.org/parts"
"""An ontology that every module set of this kind imports, and that is nowhere to be had."""

_PREFIXES = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


@dataclass(frozen=True)
class Finance:
    """`modules` modules of `classes` classes (a multiple of three) and a third as many properties each, and
    `individuals` individuals of each.

    Class c is class c % classes of module c // classes. The three classes of module 0 that are no subclass of another,
    agents, agreements and things of value, are disjoint, and everything below one of them keeps to it.
    """

    modules: int
    classes: int
    individuals: int
    seed: int = 0

    @cached_property
    def parents(self) -> list[int]:
        """The parent of each class, -1 for the first three: an earlier class."""
        dice = Dice(self.seed, 1)
        total = self.modules * self.classes
        return [-1 if c < 3 else int(dice.below(c, 1)[0]) for c in range(total)]

    @cached_property
    def top(self) -> list[int]:
        """Which of the first three classes each is below."""
        found: list[int] = []
        for c, parent in enumerate(self.parents):
            found.append(c if parent < 0 else found[parent])
        return found

    def above(self, c: int) -> list[int]:
        """A class and those above it."""
        found = []
        while c >= 0:
            found.append(c)
            c = self.parents[c]
        return found

    @property
    def properties(self) -> int:
        return self.modules * (self.classes // 3)

    def domain(self, p: int) -> int:
        """The class that property p is of: the first of its three in the module."""
        per = self.classes // 3
        return (p // per) * self.classes + 3 * (p % per)

    def range(self, p: int) -> int:
        """The class of the values of property p."""
        return self.domain(p) + 1

    def class_of(self, individual: int) -> int:
        """The class of an individual: of its module."""
        dice = Dice(self.seed, 2, individual)
        return (individual // self.individuals) * self.classes + int(dice.below(self.classes, 1)[0])

    def links(self) -> Iterator[tuple[int, int, int]]:
        """(individual, property, individual) of the data: each property of a module between its individuals."""
        per = self.classes // 3
        for module in range(self.modules):
            dice = Dice(self.seed, 3, module)
            some = dice.below(self.individuals, 2 * per).tolist() if self.individuals else []
            for number in range(len(some) // 2):
                p = module * per + number
                ends = [module * self.individuals + i for i in some[2 * number : 2 * number + 2]]
                fits = [self.top[self.class_of(i)] for i in ends] == [self.top[self.domain(p)], self.top[self.range(p)]]
                if fits:
                    yield ends[0], p, ends[1]


def _class(data: Finance, c: int) -> str:
    return f"<{BASE}m{c // data.classes}/C{c}>"


def _property(data: Finance, p: int) -> str:
    return f"<{BASE}m{p // (data.classes // 3)}/p{p}>"


def module(data: Finance, number: int) -> Iterator[str]:
    """A module of the ontology, and its individuals, as Turtle."""
    yield _PREFIXES
    first, per = number * data.classes, data.classes // 3
    imported = {p // data.classes for p in data.parents[first : first + data.classes] if 0 <= p < first}
    targets = [f"<{BASE}m{m}/>" for m in sorted(imported)] or [f"<{UPPER}>"]
    yield (
        f"<{BASE}m{number}/> a owl:Ontology ; owl:versionIRI <{BASE}1.0/m{number}/> ;\n"
        f"  owl:imports {', '.join(targets)} .\n"
    )
    if number == 0:
        tops = [_class(data, c) for c in range(3)]
        yield f"[] a owl:AllDisjointClasses ; owl:members ( {' '.join(tops)} ) .\n"
    for c in range(first, first + data.classes):
        yield _described(data, c)
    for p in range(number * per, (number + 1) * per):
        kind = "owl:FunctionalProperty, owl:ObjectProperty" if p % 11 == 10 else "owl:ObjectProperty"
        yield (
            f"{_property(data, p)} a {kind} ; rdfs:label 'p{p}'@en ; rdfs:domain {_class(data, data.domain(p))} ;\n"
            f"  rdfs:range {_class(data, data.range(p))} ; rdfs:subPropertyOf <{BASE}m{number}/r{p}> .\n"
            f"<{BASE}m{number}/q{p}> a owl:ObjectProperty ; owl:inverseOf {_property(data, p)} .\n"
            f"<{BASE}m{number}/r{p}> a owl:ObjectProperty .\n"
        )
    for i in range(number * data.individuals, (number + 1) * data.individuals):
        yield f"<{BASE}i{i}> a owl:NamedIndividual, {_class(data, data.class_of(i))} ; rdfs:label 'i{i}' .\n"
    for s, p, o in data.links():
        if p // per == number:
            yield f"<{BASE}i{s}> {_property(data, p)} <{BASE}i{o}> .\n"


def _described(data: Finance, c: int) -> str:
    """A class with its definition: one of eight kinds of restriction, by its number."""
    name, p = _class(data, c), c // 3 if c // 3 < data.properties else 0
    on = f"a owl:Restriction ; owl:onProperty {_property(data, p)}"
    value = _class(data, data.range(p))
    number = '"2"^^xsd:nonNegativeInteger'
    kinds = (
        f"rdfs:subClassOf [ {on} ; owl:someValuesFrom {value} ]",
        f"rdfs:subClassOf [ {on} ; owl:allValuesFrom {value} ]",
        f"rdfs:subClassOf [ {on} ; owl:maxQualifiedCardinality {number} ; owl:onClass {value} ]",
        f"rdfs:subClassOf [ {on} ; owl:minCardinality {number} ]",
        f"owl:equivalentClass [ a owl:Class ; owl:intersectionOf ( {name} [ {on} ; owl:allValuesFrom owl:Thing ] ) ]",
        f"rdfs:subClassOf [ a owl:Class ; owl:unionOf ( {_class(data, data.top[c])} {name} ) ]",
        f"skos:definition 'a class without restriction, number {c}'@en",
        f"owl:deprecated true ; rdfs:seeAlso {_class(data, data.top[c])}",
    )
    parent = "" if data.parents[c] < 0 else f" ; rdfs:subClassOf {_class(data, data.parents[c])}"
    return f"{name} a owl:Class ; rdfs:label 'C{c}'@en{parent} ;\n  {kinds[c % 8]} .\n"


def types(data: Finance) -> int:
    """Types of the individuals in the closure that are named classes of the ontology: the class of each, the domains
    and ranges of its links, and what is above them."""
    found: dict[int, set[int]] = {i: set(data.above(data.class_of(i))) for i in range(data.modules * data.individuals)}
    for s, p, o in data.links():
        found[s] |= set(data.above(data.domain(p)))
        found[o] |= set(data.above(data.range(p)))
    return sum(map(len, found.values()))
