"""Buildings with floors, rooms, air handling and its points, some of which are known by their tags only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from datasets.building.ontology import BASE, SCHEMA, TAG, UNIT, UNITS, Vocabulary
from datasets.university.dice import Dice

_HEADER = f"""@prefix : <{SCHEMA}> .
@prefix b: <{BASE}data#> .
@prefix tag: <{TAG}> .
@prefix unit: <{UNIT}> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
<{BASE}data> a owl:Ontology ; owl:imports <{BASE}schema> .
"""


@dataclass(frozen=True)
class Point:
    """A point of a box: its class, and whether that is to be found by its tags."""

    name: str
    box: str
    kind: str
    tagged: bool


@dataclass(frozen=True)
class Buildings:
    """`count` buildings of `floors` floors of `rooms` rooms. Each floor has an air handling unit, each room a box that
    it feeds, with `points` points."""

    vocabulary: Vocabulary
    count: int
    floors: int = 3
    rooms: int = 10
    points: int = 4
    seed: int = 0

    def boxes(self) -> Iterator[tuple[str, str, str]]:
        """(box, room, floor), without prefix."""
        for building in range(self.count):
            for floor in range(self.floors):
                for room in range(self.rooms):
                    yield f"v{building}_{floor}_{room}", f"r{building}_{floor}_{room}", f"f{building}_{floor}"

    def all_points(self) -> Iterator[Point]:
        """The points of every box."""
        classes = self.vocabulary.points
        for number, (box, _, _) in enumerate(self.boxes()):
            dice = Dice(self.seed, number)
            kinds, tagged = dice.below(len(classes), self.points).tolist(), dice.uniform(self.points) < 0.3
            for place, (kind, known) in enumerate(zip(kinds, tagged.tolist(), strict=True)):
                yield Point(f"p{box[1:]}_{place}", box, classes[kind].name, known)

    def triples(self) -> Iterator[str]:
        """The data as Turtle."""
        yield _HEADER
        for building in range(self.count):
            yield f"b:b{building} a :Building .\n"
            for floor in range(self.floors):
                place = f"{building}_{floor}"
                yield f"b:f{place} a :Floor ; :isPartOf b:b{building} .\n"
                yield f"b:a{place} a :Air_Handling_Unit ; :hasLocation b:f{place} .\n"
        for box, room, floor in self.boxes():
            yield f"b:{room} a :Office ; :isPartOf b:{floor} .\n"
            yield f"b:{box} a :Variable_Air_Volume_Box_With_Reheat ; :hasLocation b:{room} .\n"
            yield f"b:a{floor[1:]} :feedsAir b:{box} .\n"
        for number, point in enumerate(self.all_points()):
            typed = "a :Point" if point.tagged else f"a :{point.kind}"
            yield f"b:{point.name} {typed} ; :isPointOf b:{point.box} ; :timeseriesId '{number:08}' .\n"
            if point.tagged:
                yield f"b:{point.name} :hasTag {' , '.join(f'tag:{tag}' for tag in point.kind.split('_'))} .\n"
            for quantity in set(point.kind.split("_")) & UNITS.keys():
                yield f"b:{point.name} :hasUnit unit:{UNITS[quantity]} .\n"


def types(data: Buildings) -> int:
    """Types of the points in the closure that are classes of points, :Point included: every class whose tags
    it has (a class above has fewer of the same)."""
    classes = [set(point.tags) for point in data.vocabulary.points]
    total = 0
    for point in data.all_points():
        tags = set(point.kind.split("_"))
        total += 1 + sum(of <= tags for of in classes)
    return total


def locations(data: Buildings) -> int:
    """`hasLocation` in the closure: boxes and points in room, floor and building, air handling in the latter two."""
    boxes = data.count * data.floors * data.rooms
    return 3 * boxes * (1 + data.points) + 2 * data.count * data.floors
