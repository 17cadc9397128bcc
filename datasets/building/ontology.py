"""The ontology of building parts: a tree of classes, each point class defined by its tags too; in the manner of Brick.

As in Brick 1.1 and 1.2, a class of points is an intersection of `hasValue` restrictions on `hasTag`, so that an
instance of the class gets the tags, and an instance of a more general class that has the tags gets the class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

BASE = "http://example.org/building/"
SCHEMA, TAG, UNIT = f"{BASE}schema#", f"{BASE}tag#", f"{BASE}unit#"

_PREFIXES = f"""@prefix : <{SCHEMA}> .
@prefix tag: <{TAG}> .
@prefix unit: <{UNIT}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
"""

KINDS = ("Sensor", "Setpoint", "Command", "Status", "Alarm", "Parameter")
SUBSTANCES = ("Air", "Water", "Steam", "Gas", "Power", "Light", "Occupancy")
QUANTITIES = ("Temperature", "Flow", "Pressure", "Humidity", "Level", "Speed", "Energy")
PLACES = ("Supply", "Return", "Discharge", "Zone", "Outside", "Mixed", "Exhaust")
EQUIPMENT = {
    "Equipment": "Entity",
    "HVAC_Equipment": "Equipment",
    "Air_Handling_Unit": "HVAC_Equipment",
    "Terminal_Unit": "HVAC_Equipment",
    "Variable_Air_Volume_Box": "Terminal_Unit",
    "Variable_Air_Volume_Box_With_Reheat": "Variable_Air_Volume_Box",
    "Meter": "Equipment",
}
LOCATIONS = {
    "Location": "Entity",
    "Building": "Location",
    "Floor": "Location",
    "Space": "Location",
    "Room": "Space",
    "Office": "Room",
    "HVAC_Zone": "Location",
}
UNITS = {"Temperature": "DEG_C", "Flow": "L_PER_SEC", "Pressure": "PA", "Humidity": "PERCENT", "Energy": "KILOW_HR"}

_PROPERTIES = """
:hasPoint a owl:ObjectProperty ; owl:inverseOf :isPointOf ; rdfs:range :Point .
:isPointOf a owl:ObjectProperty ; rdfs:domain :Point .
:hasPart a owl:ObjectProperty , owl:TransitiveProperty , owl:IrreflexiveProperty ; owl:inverseOf :isPartOf .
:isPartOf a owl:ObjectProperty , owl:TransitiveProperty .
:feeds a owl:ObjectProperty , owl:AsymmetricProperty ; owl:inverseOf :isFedBy .
:isFedBy a owl:ObjectProperty .
:feedsAir a owl:ObjectProperty ; rdfs:subPropertyOf :feeds ; rdfs:domain :Equipment .
:hasLocation a owl:ObjectProperty ; owl:inverseOf :isLocationOf ; rdfs:range :Location ;
    owl:propertyChainAxiom ( :hasLocation :isPartOf ) , ( :isPointOf :hasLocation ) .
:isLocationOf a owl:ObjectProperty .
:measures a owl:ObjectProperty ; rdfs:domain :Sensor ; rdfs:range :Quantity .
:hasTag a owl:ObjectProperty ; owl:inverseOf :isTagOf ; rdfs:range :Tag .
:isTagOf a owl:ObjectProperty .
:hasUnit a owl:ObjectProperty ; rdfs:range unit:Unit .
:timeseriesId a owl:DatatypeProperty , owl:FunctionalProperty ; rdfs:domain :Point .
:Equipment owl:disjointWith :Location , :Point .
:Location owl:disjointWith :Point .
"""


@dataclass(frozen=True)
class PointClass:
    """A class of points: its tags make it, those of its parent are among them."""

    tags: tuple[str, ...]
    parent: str

    @property
    def name(self) -> str:
        return "_".join(self.tags)


@dataclass(frozen=True)
class Vocabulary:
    """How many kinds of points, substances, quantities and places there are tags for (6, 7, 7, 7 at most)."""

    kinds: int = 4
    substances: int = 3
    quantities: int = 3
    places: int = 1

    @cached_property
    def points(self) -> list[PointClass]:
        """Classes of points: each kind, each substance of it, each quantity of that, each place of that."""
        found = [PointClass((kind,), "Point") for kind in KINDS[: self.kinds]]
        for kind, substance in product(KINDS[: self.kinds], SUBSTANCES[: self.substances]):
            found.append(PointClass((substance, kind), kind))
            for quantity in QUANTITIES[: self.quantities]:
                general = (substance, quantity, kind)
                found.append(PointClass(general, f"{substance}_{kind}"))
                found += (PointClass((place, *general), "_".join(general)) for place in PLACES[: self.places])
        return found


def schema(vocabulary: Vocabulary) -> Iterator[str]:
    """The ontology as Turtle, which imports those of `tags` and `units`."""
    yield _PREFIXES
    yield f"<{BASE}schema> a owl:Ontology ; owl:imports <{BASE}tag> , <{BASE}unit> ; owl:versionInfo '1' .\n"
    yield _PROPERTIES
    yield ":Entity a owl:Class . :Tag a owl:Class . :Quantity a owl:Class ; rdfs:subClassOf :Entity .\n"
    yield ":Point a owl:Class ; rdfs:subClassOf :Entity .\n"
    for name, parent in (EQUIPMENT | LOCATIONS).items():
        yield f":{name} a owl:Class ; rdfs:subClassOf :{parent} ; rdfs:label '{name.replace('_', ' ')}'@en .\n"
    for quantity in QUANTITIES:
        yield f":{quantity} a :Quantity ; skos:prefLabel '{quantity}'@en .\n"
    for point in vocabulary.points:
        restrictions = "".join(
            f"\n    [ a owl:Restriction ; owl:onProperty :hasTag ; owl:hasValue tag:{tag} ]" for tag in point.tags
        )
        yield (
            f":{point.name} a owl:Class ; rdfs:subClassOf :{point.parent} ; rdfs:label '{' '.join(point.tags)}'@en ;\n"
            f"  owl:equivalentClass [ a owl:Class ; owl:intersectionOf ( :Point{restrictions} ) ] .\n"
        )


def tags() -> Iterator[str]:
    """The ontology of tags as Turtle."""
    yield _PREFIXES
    yield f"<{BASE}tag> a owl:Ontology .\n"
    for tag in (*KINDS, *SUBSTANCES, *QUANTITIES, *PLACES):
        yield f"tag:{tag} a :Tag ; rdfs:label '{tag}'@en .\n"


def units() -> Iterator[str]:
    """The ontology of units as Turtle, which imports one that is nowhere, as ontologies of units do."""
    yield _PREFIXES
    yield f"<{BASE}unit> a owl:Ontology ; owl:imports <{BASE}dimension> .\nunit:Unit a owl:Class .\n"
    for quantity, name in UNITS.items():
        yield f"unit:{name} a unit:Unit ; unit:hasQuantityKind :{quantity} ; rdfs:label '{name}' .\n"
